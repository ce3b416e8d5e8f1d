"""Events on the wire, and the session with its newest ones."""

from typing import Any, Self

from pydantic import Field, SerializeAsAny

from domain.session.record import Recorded
from projections.views.base import Page, View, absent
from projections.views.session import SessionView


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
