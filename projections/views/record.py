"""Views of a session's record: its budget over time, its artifacts and its events."""

from typing import Any, Self

from pydantic import Field, SerializeAsAny

from domain.session.record import Recorded
from domain.values.base import absent
from projections.views.base import Page, View
from projections.views.session import SessionView


class BudgetEntry(View):
    """The budget at one event; what the session's kind does not have is null."""

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


class ArtifactItem(View):
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


# Events on the wire, and the session with its newest ones.


class Envelope(View):
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
    traceparent: str | None = Field(default=None, exclude_if=absent, description="as the caller sent it")
    data: dict[str, Any]

    @classmethod
    def of(cls, recorded: Recorded) -> Self:
        return cls.model_validate(recorded.wire())


class EventPage(Page):
    items: tuple[Envelope, ...]


class SessionAnswer(View):
    """A session, and what a person may do now."""

    session: SerializeAsAny[SessionView]
    available_commands: tuple[str, ...]
    events: tuple[Envelope, ...] | None = Field(default=None, exclude_if=absent, description="with `include=events`")
