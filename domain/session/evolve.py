"""What a session becomes by the events that every kind of session has."""

from typing import TypeVar

from domain.session.children import Child, ChildClosed, ChildRequested
from domain.session.forks import Reuse, SessionDiverged, SessionForked, SessionReleased
from domain.session.state import Outstanding, Session
from domain.session.turns import AgentSessionsCleared, TurnAnswered, TurnCancelled, TurnFailed, TurnRequested
from domain.values.base import DomainEvent

S = TypeVar("S", bound=Session)
K = TypeVar("K")
V = TypeVar("V")


def evolve_turn(session: S, event: DomainEvent, at: int) -> S:
    """What the events change that every kind of session has; one that says nothing to it only counts."""
    match event:
        case TurnRequested():
            return session.stamped(
                at,
                turns=session.turns + 1,
                asked=_count(session.asked, event.agent),
                asked_roles=_count(session.asked_roles, event.role),
                outstanding=session.outstanding | {event.turn_id: _outstanding(event, at)},
            )
        case TurnAnswered():
            handles = {event.agent: event.agent_session} if event.agent_session else {}
            return session.stamped(
                at,
                outstanding=without(session.outstanding, event.turn_id),
                agent_sessions=session.agent_sessions | handles,
                tree=event.tree or session.tree,
                slot=event.slot,
                spent=session.spent.after(event.usage, asked=bool(event.prompt.length)),
            )
        case TurnFailed():
            return session.stamped(
                at,
                outstanding=without(session.outstanding, event.turn_id),
                last_error=f"{event.agent}: {event.failure.code}: {event.failure.detail}".rstrip(": "),
                spent=session.spent.after(event.usage, asked=bool(event.prompt.length)),
            )
        case TurnCancelled():
            return session.stamped(at, outstanding=without(session.outstanding, event.turn_id))
        case AgentSessionsCleared():
            return session.stamped(at, agent_sessions={})
        case SessionForked():
            reuse = Reuse(source=event.source, version=event.source_version, mode=event.mode)
            return session.stamped(at, forked_from=event.source, reuse=reuse, parent=None)
        case SessionDiverged():
            return session.stamped(at, reuse=None, held=event.held)
        case SessionReleased():
            return session.stamped(at, held=False)
        case ChildRequested():
            child = Child(kind=event.child_kind, about=event.about, requested_at=at)
            opened = session.open_children | {event.child_id: child}
            return session.stamped(at, children=(*session.children, event.child_id), open_children=opened)
        case ChildClosed():
            left = without(session.open_children, event.child_id)
            spent = session.spent + event.spent
            return session.stamped(at, open_children=left, spent=spent, last_choice=event.choice)
        case _:
            return session.stamped(at)


def _outstanding(event: TurnRequested, at: int) -> Outstanding:
    return Outstanding(
        turn_id=event.turn_id,
        work=event.work,
        agent=event.agent,
        role=event.role,
        phase=event.phase,
        round=event.round,
        lane=event.lane,
        requested_at=at,
    )


def _count(counts: dict[str, int], key: str) -> dict[str, int]:
    return counts | {key: counts.get(key, 0) + 1}


def without(known: dict[K, V], gone: K) -> dict[K, V]:
    """The same without one key, whether or not it is there."""
    return {key: value for key, value in known.items() if key != gone}
