"""Reactions: which commands an event of one session causes in others. Holds no state.

The writer carries these out in the transaction of the event itself: everything is stored, or nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from domain.channel import ContinueWanted, MessageStarted, ResetWanted, SessionNoted, channel_id
from domain.channel.commands import NoteSession
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
from domain.session.children import ChildRequested, CloseChild
from domain.values.base import Command, DomainEvent


class Reaction(NamedTuple):
    """A command for a session; `starts` if it creates the session.

    `actor`: on whose behalf, if not that of the actor of the causing event.
    """

    session_id: str
    command: Command
    starts: bool = False
    actor: str = ""


def react(session_id: str, event: DomainEvent) -> tuple[Reaction, ...]:
    """The commands that an event of this session causes, in order."""
    follow = _follows(type(event))
    return follow(session_id, event) if follow else ()


@cache
def _follows(kind: type[DomainEvent]) -> Callable[[str, Any], tuple[Reaction, ...]] | None:
    return next((REACTIONS[base] for base in kind.__mro__ if base in REACTIONS), None)


def _message_started(_: str, event: MessageStarted) -> tuple[Reaction, ...]:
    command = StartOrchestration(opening=event.opening)
    return (Reaction(event.session_id, command, starts=True, actor=event.sender),)


def _session_noted(_: str, event: SessionNoted) -> tuple[Reaction, ...]:
    return tuple(Reaction(name, ClearAgentSessions()) for name in event.clears)


def _continue_wanted(_: str, event: ContinueWanted) -> tuple[Reaction, ...]:
    return (Reaction(event.session_id, ContinueOrchestration()),)


def _reset_wanted(_: str, event: ResetWanted) -> tuple[Reaction, ...]:
    return (Reaction(event.session_id, ResetOrchestration(reason=event.reason)),)


def _orchestration_started(session_id: str, event: orchestration.OrchestrationStarted) -> tuple[Reaction, ...]:
    origin = event.opening.origin
    direct = event.mode == "direct"
    return (_note(session_id, origin, "active", claims=bool(origin), opens=True, direct=direct),)


def _continued(session_id: str, event: orchestration.Continued) -> tuple[Reaction, ...]:
    return (_note(session_id, event.origin, "active", claims=bool(event.origin)),)


def _revision_begun(session_id: str, event: orchestration.RunRevisionBegun) -> tuple[Reaction, ...]:
    return (_note(session_id, event.origin, "active", claims=bool(event.origin)),)


def _orchestration_done(session_id: str, event: orchestration.OrchestrateDone) -> tuple[Reaction, ...]:
    return (_note(session_id, event.origin, event.status),)


def _child_requested(_: str, event: ChildRequested) -> tuple[Reaction, ...]:
    return (Reaction(event.child_id, StartDiscussion(topic=event.topic), starts=True),)


def _discussion_ended(session_id: str, event: Decided | Expired | Cancelled) -> tuple[Reaction, ...]:
    return (_close(session_id, event),) if event.parent else ()


def _parent_ended(_: str, event: orchestration.WasReset | delivery.SessionFinished) -> tuple[Reaction, ...]:
    return tuple(Reaction(child, CancelDiscussion(reason="the parent has ended")) for child in event.children)


def _close(child_id: str, event: Decided | Expired | Cancelled) -> Reaction:
    assert event.parent is not None, "only a child reports"
    command = CloseChild(
        child_id=child_id,
        choice=event.choice,
        by="policy" if isinstance(event, Expired) else "cancelled" if isinstance(event, Cancelled) else "person",
        synthesis=event.synthesis,
        feedback=event.feedback,
        rounds=event.round,
        waited=event.waited,
        spent=event.spent,
        scripted=event.scripted,
    )
    return Reaction(event.parent.session_id, command)


def _note(
    session_id: str, origin: str, status: str, *, claims: bool = False, opens: bool = False, direct: bool = False
) -> Reaction:
    command = NoteSession(
        session_id=session_id, origin=origin, status=status, claims=claims, opens=opens, direct=direct
    )
    return Reaction(channel_id(origin), command, starts=True)


REACTIONS: Final[dict[type[DomainEvent], Callable[[str, Any], tuple[Reaction, ...]]]] = {
    MessageStarted: _message_started,
    SessionNoted: _session_noted,
    ContinueWanted: _continue_wanted,
    ResetWanted: _reset_wanted,
    orchestration.OrchestrationStarted: _orchestration_started,
    orchestration.Continued: _continued,
    orchestration.RunRevisionBegun: _revision_begun,
    orchestration.OrchestrateDone: _orchestration_done,
    orchestration.WasReset: _parent_ended,
    delivery.SessionFinished: _parent_ended,
    ChildRequested: _child_requested,
    Decided: _discussion_ended,
    Expired: _discussion_ended,
    Cancelled: _discussion_ended,
}
"""Keyed by event type: most events cause nothing, and this is called for every event."""

__all__ = ["Reaction", "react"]
