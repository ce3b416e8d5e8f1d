"""An event as the log holds it: the fact in its envelope."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from domain.session.state import EventMetadata
from domain.values.base import DomainEvent, Text
from domain.values.time import iso


class Causation(NamedTuple):
    """Who did it, by which command, as part of what, because of what."""

    actor: str
    command_id: str
    correlation_id: str
    causation_id: str


class Recorded(NamedTuple):
    """One event of the log. `position` orders the whole log, `version` counts 1, 2, 3 … within the session."""

    position: int
    session_id: str
    version: int
    at: int
    causation: Causation
    event: DomainEvent

    @property
    def kind(self) -> str:
        return kind_of(self.session_id)

    @property
    def event_id(self) -> str:
        return f"{self.session_id}:{self.version}"

    @property
    def metadata(self) -> EventMetadata:
        return EventMetadata(self.session_id, self.at)

    def wire(self) -> dict[str, Any]:
        """The event as the outside sees it (contract §2)."""
        return {
            "position": self.position,
            "eventId": self.event_id,
            "sessionId": self.session_id,
            "kind": self.kind,
            "version": self.version,
            "type": self.event.TOPIC,
            "timestamp": iso(self.at),
            "actor": self.causation.actor,
            "correlationId": self.causation.correlation_id,
            "causationId": self.causation.causation_id,
            "commandId": self.causation.command_id,
            "data": self.event.model_dump(mode="json", by_alias=True),
        }


def kind_of(session_id: str) -> str:
    """A session's id begins with its kind: `delivery-…`."""
    return session_id.partition("-")[0]


Whole = Callable[[Text], str]
"""Finds the whole of a long text."""


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """The recorded events of one command, in order."""

    recorded: tuple[Recorded, ...]

    @property
    def events(self) -> tuple[DomainEvent, ...]:
        return tuple(recorded.event for recorded in self.recorded)


def commands_in(history: Sequence[Recorded]) -> Iterator[RecordedCommand]:
    """A session's history, command by command."""
    for _, group in groupby(history, key=mark):
        yield RecordedCommand(tuple(group))


def mark(recorded: Recorded) -> tuple[str, str, int]:
    """What the events of one command have in common; a command elsewhere may have used the same id before."""
    return recorded.causation.command_id, recorded.causation.causation_id, recorded.at
