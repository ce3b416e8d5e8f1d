"""What the policies answer, with exactly the keys of contract §5."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from pydantic import Field

from domain.triage import Intent
from domain.values.base import Value
from domain.values.budget import Reason
from domain.values.sentences import Sentence
from domain.values.time import milliseconds
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


# Instants of callers: ISO text or milliseconds, and answered in the form in which they came.

EARLIEST, LATEST = -62_135_510_400_000, 253_370_764_800_000
"""From the second day of the year 1 to the first of 9999: whatever is added within a budget still has a date."""

LONGEST = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Instant:
    """Milliseconds since 1970; `zone` is None for one that came as a number. `fine`: with fractions, `zulu`: with Z."""

    at: int
    zone: tzinfo | None = None
    fine: bool = False
    zulu: bool = False

    def shown(self, at: int) -> str | int:
        """Another instant in the form of this one."""
        if self.zone is None:
            return at
        when = (_EPOCH + timedelta(milliseconds=at)).astimezone(self.zone)
        text = when.isoformat(timespec="milliseconds" if self.fine or at % 1_000 else "seconds")
        return text.removesuffix("+00:00") + "Z" if self.zulu else text


def instant(value: object) -> Instant:
    """Raises ValueError: neither an ISO text nor whole milliseconds, or without a date in four digits."""
    if isinstance(value, str):
        return _inside(_read(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _inside(Instant(at=value))
    raise ValueError(Sentence("not_an_instant"))


def _read(text: str) -> Instant:
    if len(text) > LONGEST:
        raise ValueError(Sentence("not_iso_8601"))
    try:
        at, zone = milliseconds(text), datetime.fromisoformat(text).tzinfo
    except (ValueError, OverflowError):
        raise ValueError(Sentence("not_iso_8601")) from None
    return Instant(at=at, zone=zone or UTC, fine="." in text, zulu=zone is None or text.endswith("Z"))


def _inside(value: Instant) -> Instant:
    if not EARLIEST <= value.at <= LATEST:
        raise ValueError(Sentence("year_out_of_range"))
    return value
