"""What the doors answer, as models: the tests hold the real answers against them (contract §2 and §3)."""

from typing import Any, Literal

from pydantic import Field

from api.openapi.session_shapes import SessionItem
from domain.convergence import Metrics
from domain.discussion.events import StopReason
from domain.values.base import Value


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
    reason: str | None = Field(
        default=None,
        exclude_if=_absent,
        description="409 of a claimed turn: settled, cancelled, waiting, elsewhere, deadline or timeout",
    )


class Receipt(Value):
    """The answer to every command: where it left the session, and where the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")


class MessageAnswer(Value):
    """What became of a message."""

    action: Literal["started", "queued", "rejected"]
    kind: str
    position: int
    session_id: str | None = Field(default=None, exclude_if=_absent)
    version: int = Field(description="of the session that it began or moved on; 0: none, or it has to wait")
    reason: str | None = Field(default=None, exclude_if=_absent)
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)
    queued: bool | None = Field(default=None, exclude_if=_absent)
    pending: int | None = Field(default=None, exclude_if=_absent, description="how many messages wait, with this one")


class WaitingMessage(Value):
    """A message that waits; the session of that id begins when it is its turn."""

    session_id: str
    prompt: str
    title: str
    sender: str
    queued_at: str


class ChannelView(Value):
    """What an origin is busy with (a session, or null), which session was its latest, and what waits, in order."""

    origin: str
    busy: str | None
    latest: str | None
    queue: tuple[WaitingMessage, ...]


class Done(Receipt):
    """What a word to continue or to reset has led to."""

    ok: Literal[True]
    action: Literal["started"]
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)


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


class FeedbackSummary(Value):
    """The feedback in short: `points` counts its issues or concerns."""

    verdict: str | None
    summary: str
    points: int
    error: str | None


class WaitingItem(Value):
    """Something that waits for a person since `since`; what a checkpoint or a decision does not have is null."""

    session_id: str
    kind: Literal["orchestration", "review", "debate"]
    reason: Literal["decision", "checkpoint"]
    title: str
    parent: str | None
    about: str | None = Field(description="of a parent: plan, agent:<place> or delivery")
    since: str
    version: int
    choices: tuple[str, ...]
    stop_reason: StopReason | None
    convergence: Metrics | None
    feedback: FeedbackSummary | None
    synthesis: str | None = Field(description="its first characters")
    summary: str | None = Field(description="of the orchestration's work so far, its first characters")
    expires_at: str | None


class DecisionPage(Page):
    items: tuple[WaitingItem, ...]


class BudgetEntry(Value):
    """The budget as it stood at one event; what the session's kind does not have is null."""

    version: int
    at: str
    type: str
    phase: str | None
    iteration: int | None
    elapsed_ms: int
    remaining_iterations: int | None
    reason: str | None
    round: int | None
    remaining_rounds: int | None
    max_iterations: int | None
    max_minutes: int | None
    max_rounds: int | None
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
    views: dict[str, int] | None = Field(
        default=None, exclude_if=_absent, description="how many positions each view is behind the log"
    )
    waiting_commands: int | None = Field(default=None, exclude_if=_absent)
    example_team: bool | None = Field(default=None, exclude_if=_absent)
