"""Time in which nobody was there to work on a session. It uses up no budget (contract-3 §23)."""

from typing import ClassVar, Literal

from pydantic import Field

from domain.values.base import Command, DomainEvent, iso, milliseconds

Absence = Literal["no_worker", "asleep"]
"""No process that could work on it was running; or all of them slept, as on a laptop that was closed."""


class SessionUnattended(DomainEvent):
    """For some time nobody was there to work on the session. That time uses up no budget: the deadline has moved by
    it."""

    TOPIC: ClassVar[str] = "session.unattended"
    since: str = Field(alias="from", description="ISO instant")
    until: str = Field(alias="to", description="ISO instant")
    why: Absence

    @property
    def lost(self) -> int:
        """Returns its milliseconds."""
        return milliseconds(self.until) - milliseconds(self.since)


EVENTS: tuple[type[DomainEvent], ...] = (SessionUnattended,)


class RecordUnattended(Command):
    """Nobody was there between these instants (milliseconds)."""

    since: int
    until: int
    why: Absence


def absence(since: int, until: int, why: Absence) -> SessionUnattended:
    """Returns the event for that time."""
    return SessionUnattended(since=iso(since), until=iso(until), why=why)


def absence_command(event: SessionUnattended) -> RecordUnattended:
    """Returns the command that led to the event."""
    return RecordUnattended(since=milliseconds(event.since), until=milliseconds(event.until), why=event.why)
