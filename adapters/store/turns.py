"""The port of the lease table: waiting turns, who works on which, and the fence around settling one.

Claims and heartbeats leave no event. A turn is asked at least once and recorded exactly once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol


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


class UsedSoFar(NamedTuple):
    """The usage of the attempt that holds a turn, as it keeps it."""

    attempt: int
    used: str


class Turns(Protocol):
    """The turns of a store. Times are milliseconds."""

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        """Lease this turn; None if another worker was faster, or it no longer waits."""

    def take_all(self, turn_ids: Sequence[str], worker: str, *, now: int, lease_ms: int) -> list[Lease]:
        """Lease those of these turns that still wait, in their order. Nothing is flushed, so a power cut may undo the
        leases: enough where the worker ends with the log's machine."""

    def waiting(self, now: int) -> bool:
        """True if any turn may be claimed; cheap, and takes no lock."""

    def open(self, now: int, *, limit: int, after: TurnPlace = ..., upto: TurnPlace = ...) -> TurnPage:
        """The turns between two places that wait or whose lease ran out. Reads at most `limit` rows, free or not."""

    def unsettled(self) -> list[OpenTurn]:
        """Return every turn that waits or runs, except those that wait for a person, in their order."""

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        """Keep a turn; False if it is lost: settled, cancelled, or leased to another attempt."""

    def give_back(self, lease: Lease) -> bool:
        """Return the turn to the queue at once; False if the lease is lost."""

    def keep_usage(self, turn_id: str, attempt: int, used: str) -> None:
        """Keep with the lease what the attempt has used; nothing if it does not hold the turn. Nothing is flushed, as
        for `take_all`."""

    def usage(self, turn_id: str) -> UsedSoFar | None:
        """Returns what the attempt that holds the turn has kept; None if nothing, or if none holds it."""

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

    def imported(self, turn_ids: Sequence[str]) -> frozenset[str]:
        """Those of these turns that were open in a log that was imported: nothing here runs them."""

    def status(self, turn_id: str) -> TurnStatus | None:
        """The state of a turn; None if it was never requested."""

    def count(self) -> dict[str, int]:
        """The numbers of turns that wait and that run."""
