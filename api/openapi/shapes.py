"""What the doors answer, as models: the tests hold the real answers against them (contract §2 and §3)."""

from typing import Any, Literal

from pydantic import Field

from api.policies.answers import PlannedCommand
from domain.base import Value
from domain.budget import Reason
from domain.delivery.chart import Phase, PhaseStatus
from domain.delivery.chart import Status as DeliveryStatus
from domain.turns import Work


def _absent(given: object) -> bool:
    return given is None


class Fault(Value):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="JSON Pointer into the body, or / and the name of a query parameter")
    detail: str


class ProblemDetails(Value):
    """RFC 9457. What was sent is never repeated here."""

    type: str = Field(description="where this kind of problem is explained")
    title: str
    status: int
    detail: str
    errors: tuple[Fault, ...] | None = Field(default=None, exclude_if=_absent)
    allowed: tuple[str, ...] | None = Field(default=None, exclude_if=_absent, description="409: what may be done now")
    current_version: int | None = Field(default=None, exclude_if=_absent, description="412: where the session is")


class Receipt(Value):
    """The answer to every command: where it left the session, and where the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")


class Turn(Value):
    """A turn that is waited for."""

    turn_id: str
    work: Work
    agent: str
    role: str
    phase: str | None
    round: int | None
    requested_at: str


class Listed(Value):
    """What a list says of a session."""

    id: str
    kind: str
    status: str
    title: str
    version: int
    created_at: str
    updated_at: str
    origin: str
    labels: tuple[str, ...]
    parent: str | None
    children: tuple[str, ...]
    forked_from: str | None
    outstanding_turns: tuple[Turn, ...]
    last_error: str | None


class SessionItem(Listed):
    current_phase: str | None
    iteration: int | None
    max_iterations: int | None
    waiting: str | None = Field(description="what it waits for a person to do")


class SessionView(Listed):
    """What every kind of session says of itself. A subclass says what its kind adds; its `kind` is a literal."""

    workspace: str | None


class BudgetView(Value):
    """What has no limit or was never reported is left out."""

    max_iterations: int
    max_minutes: int
    started_at: str
    deadline_at: str
    elapsed_ms: int
    remaining_iterations: int
    reason: Reason | None
    tokens: int | None = Field(default=None, exclude_if=_absent)
    cost_micros: int | None = Field(default=None, exclude_if=_absent)
    max_tokens: int | None = Field(default=None, exclude_if=_absent)
    max_cost_micros: int | None = Field(default=None, exclude_if=_absent)
    unknown_turns: int | None = Field(default=None, exclude_if=_absent)


class DeliveryView(SessionView):
    kind: Literal["delivery"]
    status: DeliveryStatus
    task: str
    file_paths: tuple[str, ...]
    validation_commands: tuple[PlannedCommand, ...]
    max_attempts: int | None
    current_phase: Phase
    phase_statuses: dict[Phase, PhaseStatus]
    iteration: int
    attempt: int
    budget: BudgetView
    artifact_refs: dict[Phase, str]
    feedback: str | None
    final_summary: str | None


class Envelope(Value):
    """An event as the log holds it; `type` says what `data` is. Types are added, and never change their meaning."""

    position: int = Field(description="orders the whole log")
    event_id: str
    session_id: str
    kind: str
    version: int = Field(description="counts 1, 2, 3 … within the session")
    type: str
    timestamp: str
    actor: str
    correlation_id: str
    causation_id: str
    command_id: str
    data: dict[str, Any]


class Page(Value):
    next_cursor: str | None


class SessionPage(Page):
    items: tuple[SessionItem, ...]


class BudgetEntry(Value):
    """The budget as it stood at one event."""

    version: int
    at: str
    type: str
    phase: str | None
    iteration: int
    elapsed_ms: int
    remaining_iterations: int
    reason: str | None
    max_iterations: int
    max_minutes: int
    tokens: int | None
    cost_micros: int | None
    unknown_turns: int


class BudgetPage(Page):
    items: tuple[BudgetEntry, ...]


class ArtifactItem(Value):
    artifact_id: str
    version: int
    phase: str | None
    iteration: int
    created_at: str
    media_type: str
    length: int = Field(description="UTF-8 bytes of the whole text")
    digest: str | None
    patch_length: int | None
    patch_digest: str | None


class ArtifactPage(Page):
    items: tuple[ArtifactItem, ...]


class ArtifactView(ArtifactItem):
    content: str
    patch: str | None


class Alive(Value):
    status: Literal["ok"]


class Readiness(Value):
    """With the figures; of a store that does not answer only the problem."""

    status: Literal["ready", "not ready"]
    problems: tuple[Any, ...]
    head: int | None = Field(default=None, exclude_if=_absent)
    position: int | None = Field(default=None, exclude_if=_absent)
    lag: int | None = Field(default=None, exclude_if=_absent)
    lag_limit: int | None = Field(default=None, exclude_if=_absent)
    waiting_commands: int | None = Field(default=None, exclude_if=_absent)
    example_team: bool | None = Field(default=None, exclude_if=_absent)
