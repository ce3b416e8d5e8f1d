"""What follows from what: an event of one session, and the commands it means for others. Holds nothing.

The writer carries these out in the transaction of the event itself: all of it is stored, or nothing.
"""

from typing import NamedTuple

from domain.base import Command, DomainEvent
from domain.channel import ContinueWanted, MessageStarted, NoteSession, ResetWanted, SessionNoted, channel_id
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
    """A command for a session; `starts` when the session begins with it.

    `actor`: on whose behalf, where that is not whoever did what it follows from.
    """

    session_id: str
    command: Command
    starts: bool = False
    actor: str = ""


def react(session_id: str, event: DomainEvent) -> tuple[Reaction, ...]:
    """The commands that an event of this session leads to, in order."""
    match event:
        case MessageStarted():
            command = StartOrchestration(opening=event.opening)
            return (Reaction(event.session_id, command, starts=True, actor=event.sender),)
        case SessionNoted():
            return tuple(Reaction(name, ClearAgentSessions()) for name in event.clears)
        case ContinueWanted():
            return (Reaction(event.session_id, ContinueOrchestration()),)
        case ResetWanted():
            return (Reaction(event.session_id, ResetOrchestration(reason=event.reason)),)
        case orchestration.SessionStarted():
            origin = event.opening.origin
            return (_note(session_id, origin, "active", claims=bool(origin), opens=True),)
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
        waited=event.waited,
        spent=event.spent,
    )
    return Reaction(event.parent.session_id, command)


def _note(session_id: str, origin: str, status: str, *, claims: bool = False, opens: bool = False) -> Reaction:
    command = NoteSession(session_id=session_id, origin=origin, status=status, claims=claims, opens=opens)
    return Reaction(channel_id(origin), command, starts=True)


__all__ = ["Reaction", "react"]
