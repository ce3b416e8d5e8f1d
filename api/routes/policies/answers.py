"""What the policies answer, with exactly the keys of contract §5."""

from typing import Any

from pydantic import Field

from domain.triage import Intent
from domain.values.base import Value
from domain.values.budget import Reason
from projections.views.session import PlannedAgent, PlannedCommand


def _absent(value: object) -> bool:
    return value is None


class IntentAnswer(Value):
    intent: Intent | None


class PhasesAnswer(Value):
    agents: tuple[PlannedAgent, ...]
    warnings: tuple[str, ...]


class MatchAnswer(Value):
    employee: str | None


class ParallelAnswer(Value):
    parallel: tuple[bool, ...]


class AgreementAnswer(Value):
    ratio: float = Field(ge=0, le=1)


class SimilarityAnswer(Value):
    jaccard: float = Field(ge=0, le=1)


class BudgetSnapshot(Value):
    """Instants in the format of `startedAt`; `reason` only if the budget is exhausted."""

    max_iterations: int
    max_minutes: int
    started_at: str | int
    deadline_at: str | int
    elapsed_ms: int
    remaining_iterations: int
    reason: Reason | None = Field(default=None, exclude_if=_absent)


class BudgetAnswer(Value):
    ok: bool
    reason: Reason | None
    snapshot: BudgetSnapshot


class ValidationAnswer(Value):
    commands: tuple[PlannedCommand, ...]


class ParseAnswer(Value):
    """`problem` only where the text cannot be read; `value` is then null."""

    value: Any
    problem: str | None = Field(default=None, exclude_if=_absent)


class PromptAnswer(Value):
    text: str
    version: int
