"""What follows from what: an event of one session, and the commands it means for others. Holds nothing.

The writer carries these out in the transaction of the event itself: all of it is stored, or nothing.
"""

from typing import NamedTuple

from domain.base import Command, DomainEvent
from domain.channel import ContinueWanted, MessageStarted, NoteSession, ResetWanted, channel_id
from domain.children import ChildRequested, CloseChild
from domain.delivery import events as delivery
from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.events import Cancelled, Decided, Expired
from domain.orchestration import events as orchestration
from domain.orchestration.commands import (
    ClearAgentSessions,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)


class Reaction(NamedTuple):
    """A command for a session; `starts` when the session begins with it."""

    session_id: str
    command: Command
    starts: bool = False


def react(session_id: str, event: DomainEvent) -> tuple[Reaction, ...]:
    """The commands that an event of this session leads to, in order."""
    match event:
        case MessageStarted():
            clearing = (Reaction(event.clears, ClearAgentSessions()),) if event.clears else ()
            return (*clearing, Reaction(event.session_id, StartOrchestration(opening=event.opening), starts=True))
        case ContinueWanted():
            return (Reaction(event.session_id, ContinueOrchestration()),)
        case ResetWanted():
            return (Reaction(event.session_id, ResetOrchestration(reason=event.message)),)
        case orchestration.SessionStarted():
            return (_note(session_id, event.opening.origin, "active", claims=bool(event.opening.origin)),)
        case orchestration.Continued():
            return (_note(session_id, event.origin, "active", claims=bool(event.origin)),)
        case orchestration.OrchestrateDone():
            return (_note(session_id, event.origin, event.status),)
        case ChildRequested():
            return (Reaction(event.child_id, StartDiscussion(topic=event.topic), starts=True),)
        case Decided() | Expired() if event.parent:
            return (_close(session_id, event, by="policy" if isinstance(event, Expired) else "person"),)
        case Cancelled() if event.parent:
            return (_close(session_id, event, by="cancelled"),)
        case orchestration.WasReset() | delivery.SessionFinished():
            return tuple(Reaction(child, CancelDiscussion(reason="the parent has ended")) for child in event.children)
        case _:
            return ()


def _close(child_id: str, event: Decided | Expired | Cancelled, *, by: str) -> Reaction:
    assert event.parent is not None, "only a child reports"
    command = CloseChild(
        child_id=child_id,
        choice=event.choice,
        by=by,
        synthesis=event.synthesis,
        feedback=event.feedback,
        rounds=event.round,
    )
    return Reaction(event.parent.session_id, command)


def _note(session_id: str, origin: str, status: str, *, claims: bool = False) -> Reaction:
    command = NoteSession(session_id=session_id, origin=origin, status=status, claims=claims)
    return Reaction(channel_id(origin), command, starts=True)


__all__ = ["Reaction", "react"]
