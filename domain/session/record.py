"""An event as the log holds it."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from domain.session.redaction import TextRedacted
from domain.session.state import EventMetadata
from domain.values.base import DomainEvent, iso


class Causation(NamedTuple):
    """The cause of a change: who made it, with which command, as part of what, because of what."""

    actor: str
    command_id: str
    correlation_id: str
    causation_id: str
    trace: str = ""
    """The caller's `traceparent` (W3C Trace Context), if there was one."""


class Sight(NamedTuple):
    """The end of a log. `epoch` counts how often the log has gone back, as after a restore or a failover. Each mark
    identifies an event with everything before it in its session; None where there is no event."""

    head: int
    epoch: int
    marks: tuple[str | None, ...]


class Fingerprint(NamedTuple):
    """The identity of an event: its place, the hash (hex) that covers it and its session up to it, and its time."""

    position: int
    session_id: str
    version: int
    hash: str
    at: int


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
        """The event as the API shows it (contract §2)."""
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
            **({"traceparent": self.causation.trace} if self.causation.trace else {}),
            "data": self.event.model_dump(mode="json", by_alias=True),
        }


Omitted = Mapping[type[DomainEvent], frozenset[str] | None]
"""The fields of events that a reader does not use; None: it uses none of them."""


def redacted_sessions(events: Iterable[Recorded]) -> set[str]:
    """Returns the sessions from which these events took a text out: what was folded of them before may quote it."""
    return {recorded.session_id for recorded in events if isinstance(recorded.event, TextRedacted)}


def kind_of(session_id: str) -> str:
    """A session's id begins with its kind: `delivery-…`."""
    return session_id.partition("-")[0]
