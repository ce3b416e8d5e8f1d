"""An event as the log holds it, and the way back from recorded events to the commands that led to them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from domain.session.approvals import (
    DecidePermission,
    PermissionDecided,
    PermissionRequested,
    PermissionWithdrawn,
    RequestPermission,
    WithdrawPermissions,
)
from domain.session.children import ChildClosed, CloseChild
from domain.session.history import (
    Diverge,
    ForkSession,
    RedactText,
    Release,
    SessionDiverged,
    SessionForked,
    SessionReleased,
    TextRedacted,
)
from domain.session.state import EventMetadata, Session
from domain.session.turns import (
    ActivityRecorded,
    ExpireTurn,
    RecordReply,
    RetryTurn,
    TurnAnswered,
    TurnAttemptFailed,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
    TurnRetried,
)
from domain.values.base import Blob, Command, DomainEvent, Text, iso


class Causation(NamedTuple):
    """Who did it, with which command, as part of what, because of what."""

    actor: str
    command_id: str
    correlation_id: str
    causation_id: str
    trace: str = ""
    """The caller's `traceparent` (W3C Trace Context), if there was one."""


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


def kind_of(session_id: str) -> str:
    """A session's id begins with its kind: `delivery-…`."""
    return session_id.partition("-")[0]


Whole = Callable[[Text], str]
"""Finds the whole text for a digest."""


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """The recorded events of one command, in order."""

    recorded: tuple[Recorded, ...]

    @property
    def events(self) -> tuple[DomainEvent, ...]:
        return tuple(recorded.event for recorded in self.recorded)

    @property
    def activity(self) -> ActivityRecorded | None:
        """What the attempt that this command ends had done; it is recorded first."""
        first = self.recorded[0].event
        return first if isinstance(first, ActivityRecorded) else None

    @property
    def tail(self) -> "RecordedCommand | None":
        """The part after the first event, if any."""
        return RecordedCommand(self.recorded[1:]) if len(self.recorded) > 1 else None


def commands_in(history: Sequence[Recorded]) -> Iterator[RecordedCommand]:
    """A session's history, split into commands."""
    for _, group in groupby(history, key=mark):
        yield RecordedCommand(tuple(group))


def mark(recorded: Recorded) -> tuple[str, str, int]:
    """What the events of one command have in common; another session may have had a command with the same id before."""
    return recorded.causation.command_id, recorded.causation.causation_id, recorded.at


def fork_command(events: Sequence[DomainEvent], then: Command | None) -> Command | None:
    """The command about the fork itself that led to these events; `then` is what was decided together with it."""
    match events[0]:
        case SessionForked() as event:
            return ForkSession(
                source=event.source,
                at_version=event.source_version,
                mode=event.mode,
                substitute=event.substitute,
                profile=event.profile,
                author=event.author,
                restarts_wait=event.wait is not None,
                then=then,
            )
        case SessionDiverged() as event:
            return Diverge(turn_id=event.turn_id)
        case SessionReleased():
            return Release(requests=tuple(event for event in events if isinstance(event, TurnRequested)))
        case _:
            return None


def shared_command(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    """The command that led to these events, if it is one that every kind of session takes."""
    match events[0]:
        case TurnRetried() as event:
            return RetryTurn(reason=event.reason)
        case TextRedacted() as event:
            return RedactText(digest=event.digest, reason=event.reason, events=event.events)
        case (TurnAnswered() | TurnFailed() | TurnAttemptFailed()) as event if (
            session and session.turn(event.turn_id).work == "ask"
        ):
            return _reply(event, session)
        case TurnCancelled(reason="deadline" | "expired") as event:
            return ExpireTurn(turn_id=event.turn_id)
        case PermissionRequested() as event:
            names = RequestPermission.model_fields.keys() - {"blobs"}
            return RequestPermission(**{name: getattr(event, name) for name in names})
        case PermissionDecided() as event:
            names = DecidePermission.model_fields.keys() - {"blobs"}
            return DecidePermission(**{name: getattr(event, name) for name in names})
        case PermissionWithdrawn() as event:
            return WithdrawPermissions(turn_id=event.turn_id)
        case ChildClosed() as event:
            names = CloseChild.model_fields.keys() - {"blobs"}
            return CloseChild(**{name: getattr(event, name) for name in names})
        case _:
            return None


def _reply(event: TurnAnswered | TurnFailed | TurnAttemptFailed, session: Session) -> RecordReply:
    fields: dict[str, Any] = {
        "turn_id": event.turn_id,
        "attempt": event.attempt,
        "reply": event.reply,
        "prompt": event.prompt,
        "usage": event.usage,
        "model": event.model,
        "seconds": event.seconds,
        "fence": event.fence,
        "fence_gaps": event.fence_gaps,
    }
    if isinstance(event, TurnAttemptFailed):
        return RecordReply(failure=event.failure, agent_session=event.agent_session, **fields)
    if isinstance(event, TurnFailed):
        return RecordReply(failure=event.failure, **fields)
    return RecordReply(
        agent_session=event.agent_session,
        resumed=event.resumed,
        new_conversation=event.new_conversation,
        files=event.files,
        patch=event.patch,
        base=session.tree,
        tree=event.tree,
        changes=event.changes,
        reviewed=event.reviewed,
        slot=event.slot,
        **fields,
    )


def reply_blobs(events: Sequence[DomainEvent], whole: Whole) -> Iterator[Blob]:
    """The long texts that came with an answer and that deciding needs in full."""
    for event in events:
        if isinstance(event, TurnAnswered | TurnFailed | TurnAttemptFailed) and event.reply.digest is not None:
            yield Blob(digest=event.reply.digest, content=whole(event.reply))
