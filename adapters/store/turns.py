"""The port of the lease table: waiting turns, who works on which, and the fence around settling one.

Claims and heartbeats leave no event. A turn is asked at least once and recorded exactly once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from domain.session.history import ForkedWait, SessionForked
from domain.session.turns import Settled, TurnAttemptFailed, TurnCancelled, TurnRequested, TurnRetried
from domain.values.base import DomainEvent, milliseconds

TurnState = Literal["queued", "running", "held", "done", "cancelled"]
"""A held turn was imported: it is not run, but can be cancelled."""
TurnSource = Literal["live", "adopted", "imported"]
"""The turns of a history that a fork copied, or that was imported, were settled elsewhere."""

# -- what events mean for the table ----------------------------------------------------------------------------------


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
"""How far a turn moves back in the queue, in milliseconds: for each open turn of its owner, for each open turn of its
session, and for being long. An owner with many turns waits for those with few, but not forever: a new turn of another
owner never comes before one whose rank has passed."""
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
    """What an event changes in the table, if anything."""
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
                long=event.access == "write" if event.work == "ask" else event.work in _LONG,
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


# -- what the table answers ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lease:
    """A turn that a worker holds until `until` (milliseconds); `version` is that of its request."""

    turn_id: str
    session_id: str
    version: int
    work: str
    agent: str
    role: str
    attempt: int
    worker: str
    until: int
    deadline: int | None


class TurnPlace(NamedTuple):
    """The place of a turn in the queue. Its rank is the time of its request, plus `STEP` for each other open turn of
    its owner."""

    rank: int
    turn_id: str


FIRST: Final = TurnPlace(-(2**63), "")
LAST: Final = TurnPlace(2**63 - 1, "")


class OpenTurn(NamedTuple):
    """A turn that may be claimed."""

    turn_id: str
    session_id: str
    work: str
    agent: str
    role: str
    requested_at: int
    rank: int = 0

    @property
    def place(self) -> TurnPlace:
        return TurnPlace(self.rank, self.turn_id)


class TurnPage(NamedTuple):
    """Open turns in their order, and the place up to which the table was read; `end` is None at its end."""

    turns: list[OpenTurn]
    end: TurnPlace | None


class TurnStatus(NamedTuple):
    """The state of a turn; `worker` had it last."""

    session_id: str
    state: str
    attempt: int
    worker: str | None


class Turns(Protocol):
    """The turns of a store. Times are milliseconds."""

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        """Lease this turn; None if another worker was faster, or it no longer waits."""

    def take_all(self, turn_ids: Sequence[str], worker: str, *, now: int, lease_ms: int) -> list[Lease]:
        """Lease those of these turns that still wait, in their order. Nothing is flushed, so a power cut may undo the
        leases: enough where the worker ends with the log's machine."""

    def waiting(self, now: int) -> bool:
        """Whether any turn may be claimed; cheap, and takes no lock."""

    def open(self, now: int, *, limit: int, after: TurnPlace = ..., upto: TurnPlace = ...) -> TurnPage:
        """The turns between two places that wait or whose lease ran out. Reads at most `limit` rows, free or not."""

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        """Keep a turn; False if it is lost: settled, cancelled, or leased to another attempt."""

    def give_back(self, lease: Lease) -> bool:
        """Return the turn to the queue at once; False if the lease is lost."""

    def release(self, worker: str) -> int:
        """Give back every turn of a worker that is dead or stops. Returns how many."""

    def recover(self) -> int:
        """Put turns with a state that does not exist back into the queue: their rows are damaged. Returns how many."""

    def workers(self) -> tuple[str, ...]:
        """The workers that hold turns now."""

    def overdue(self, now: int) -> list[tuple[str, str]]:
        """(session, turn) of the unsettled turns whose deadline has passed."""

    def held(self, turn_id: str) -> Lease | None:
        """The lease on a running turn."""

    def attempts(self, turn_ids: Sequence[str]) -> dict[str, int | None]:
        """The attempt that holds each of these turns, None if none does."""

    def status(self, turn_id: str) -> TurnStatus | None:
        """The state of a turn; None if it was never requested."""

    def count(self) -> dict[str, int]:
        """How many turns wait and run."""


# -- reading along ---------------------------------------------------------------------------------------------------

LIMIT: Final = 500
"""Rows of one read. While no more turns are open, every look sees all of them, the oldest first."""


class TurnScan:
    """Shows every open turn to one reader in the end; belongs to one thread at a time.

    A skipped turn is not for this reader, so the next look begins after it and soon reaches the end, where
    new turns appear. But such a turn may become claimable later (its lease runs out, its holder gives it back), and an
    import may add one with an early date. So each look also reads one step of the part already seen, round and round.
    """

    def __init__(self, turns: Turns, *, limit: int = LIMIT) -> None:
        self._turns, self._limit = turns, limit
        self._reached = self._again = FIRST
        self.ended = self.complete = False
        """Whether the last look, if it was followed to its end, reached the newest turn, and whether it saw all."""

    def look(self, now: int) -> Iterator[OpenTurn]:
        """Open turns to take or pass over, the oldest first. Reads at most twice `limit` rows."""
        yield from self._seen(now)
        yield from self._ahead(now)

    def restart(self) -> None:
        """Begin the next look at the oldest turn."""
        self._reached = self._again = FIRST

    def _seen(self, now: int) -> Iterator[OpenTurn]:
        from_the_oldest = self._again == FIRST
        page = self._turns.open(now, after=self._again, upto=self._reached, limit=self._limit)
        for turn in page.turns:
            self._again = turn.place
            yield turn
        self._again = page.end or FIRST
        self.complete = from_the_oldest and page.end is None

    def _ahead(self, now: int) -> Iterator[OpenTurn]:
        page = self._turns.open(now, after=self._reached, limit=self._limit)
        for turn in page.turns:
            self._reached = turn.place
            yield turn
        self._reached = page.end or self._reached
        self.ended = page.end is None
        self.complete = self.complete and self.ended
