"""What follows from what: an event of one session, and the commands it means for others. Holds nothing.

The writer carries these out in the transaction of the event itself: all of it is stored, or nothing.
"""

from typing import NamedTuple

from domain.base import Command, DomainEvent
from domain.channel import ContinueWanted, MessageStarted, NoteSession, ResetWanted, channel_id
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
        case _:
            return ()


def _note(session_id: str, origin: str, status: str, *, claims: bool = False) -> Reaction:
    command = NoteSession(session_id=session_id, origin=origin, status=status, claims=claims)
    return Reaction(channel_id(origin), command, starts=True)


__all__ = ["Reaction", "react"]
