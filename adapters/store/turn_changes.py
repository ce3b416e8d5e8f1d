"""Says what events mean for the lease table."""

from typing import Final, Literal, NamedTuple

from domain.session.forks import ForkedWait, SessionForked
from domain.session.turns import Settled, TurnAttemptFailed, TurnCancelled, TurnRequested, TurnRetried
from domain.values.base import DomainEvent, milliseconds

TurnState = Literal["queued", "running", "held", "done", "cancelled"]
"""A held turn was imported: it is not run, but can be cancelled."""
TurnSource = Literal["live", "adopted", "imported"]
"""The turns of a history that a fork copied, or that was imported, were settled elsewhere."""


class NewTurn(NamedTuple):
    """A turn that enters the table."""

    turn_id: str
    session_id: str
    version: int
    work: str
    agent: str
    role: str
    state: TurnState
    deadline: int | None
    requested_at: int
    long: bool = True
    """Short turns come first: questions to agents that change nothing, and publishing."""
    asked_by: str = ""
    """The actor of the command. The session's owner is the one of its first turn, or its parent's."""
    root: str = ""
    """The session that this one is part of."""


class TurnEnd(NamedTuple):
    """A turn that leaves it: from one of these states, if any are named, and held by this attempt, if it is named.

    Where `fenced` is set, anything else raises Fenced.
    """

    turn_id: str
    state: TurnState
    before: tuple[TurnState, ...]
    attempt: int | None
    said_by: int
    fenced: bool = True


class TurnAgain(NamedTuple):
    """A turn that is asked again: by `agent` (None: the same one), not before `not_before`, until `deadline`.

    After a failed attempt (`attempt` says which), only the holder of the lease may do this; a person's retry also
    brings back a failed turn.
    """

    turn_id: str
    agent: str | None
    not_before: int | None
    deadline: int | None
    attempt: int | None
    state: TurnState = "queued"


TurnChange = NewTurn | TurnEnd | TurnAgain
_LONG: Final = ("prepare", "validate", "land")
STEP: Final = 600_000
"""The distance by which a turn moves back in the queue, in milliseconds: for each open turn of its owner, for each open
turn of its session, and for being long. An owner with many turns waits for those with few, but not forever: a new turn
of another owner never comes before one whose rank has passed."""
COUNTED: Final = 1_000
"""More open turns of one owner make no difference."""
TURN_EVENTS: Final = (TurnRequested, TurnAttemptFailed, TurnRetried, Settled, SessionForked)
"""Only these change anything in the table."""


def change_of(
    event: DomainEvent,
    *,
    session_id: str,
    version: int,
    at: int,
    source: TurnSource = "live",
    asked_by: str = "",
    root: str = "",
) -> TurnChange | None:
    """The change that an event makes in the table, or None."""
    match event:
        case TurnRequested():
            held = source == "imported"
            return NewTurn(
                turn_id=event.turn_id,
                session_id=session_id,
                version=version,
                work=event.work,
                agent=event.agent,
                role=event.role,
                state="held" if held else "queued",
                deadline=None if held else _instant(event.deadline),
                requested_at=at,
                long=_is_long(event),
                asked_by=asked_by,
                root=root or session_id,
            )
        case TurnAttemptFailed() | SessionForked() if source == "imported":
            return None
        case TurnRetried() if source == "imported":
            return TurnAgain(event.turn_id, event.agent, None, None, None, "held")
        case TurnAttemptFailed():
            agent, attempt = event.fallback_agent or event.agent, event.attempt if source == "live" else None
            return TurnAgain(event.turn_id, agent, _instant(event.retry_at), _instant(event.deadline), attempt)
        case TurnRetried():
            return TurnAgain(event.turn_id, event.agent, None, _instant(event.deadline), None)
        case SessionForked(wait=ForkedWait(turn_id=str() as turn_id, deadline=deadline)):
            return TurnAgain(turn_id, None, None, _instant(deadline), None)
        case Settled():
            return _end_of(event, source)
        case _:
            return None


def _is_long(event: TurnRequested) -> bool:
    """True if a turn comes after short ones."""
    return event.access == "write" if event.work == "ask" else event.work in _LONG


def _instant(text: str | None) -> int | None:
    return None if text is None else milliseconds(text)


def _end_of(event: Settled, source: TurnSource) -> TurnEnd:
    state: TurnState = "cancelled" if isinstance(event, TurnCancelled) else "done"
    match source:
        case "imported":
            return TurnEnd(event.turn_id, state, ("held",), None, event.attempt, fenced=False)
        case "adopted":
            return TurnEnd(event.turn_id, "done", ("queued",), None, event.attempt)
        case "live" if state == "cancelled":
            return TurnEnd(event.turn_id, state, (), None, event.attempt, fenced=False)  # the log alone decides
        case "live":
            return TurnEnd(event.turn_id, state, ("running",), event.attempt, event.attempt)
