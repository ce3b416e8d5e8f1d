"""Claiming turns for this worker, and taking back what dead workers of this machine held."""

import logging
from collections.abc import Callable

from adapters import processes
from adapters.store import Lease, Turns
from adapters.store.turns import TurnScan
from adapters.turns.presence import Peers
from adapters.turns.routing import Routing

log = logging.getLogger(__name__)

LOOK = 100
"""So many waiting turns are read at once, of which one is taken."""


class Claiming:
    """The turns that a worker may take. Blocks: call it from a thread, one at a time."""

    def __init__(
        self, *, turns: Turns, routing: Routing, presence: Peers, clock: Callable[[], int], lease_ms: int
    ) -> None:
        self._turns, self._routing, self._presence = turns, routing, presence
        self._clock, self._lease_ms = clock, lease_ms
        self._scan = TurnScan(turns, limit=LOOK)
        self.stopped = False
        """Whether no more turns are wanted."""

    def next(self) -> Lease | None:
        """A lease on the oldest turn that is ours to do."""
        now = self._clock()
        if not self._turns.waiting(now):
            return None
        lease, looks = None, 0
        while lease is None and not self.stopped:
            ours = (turn.turn_id for turn in self._scan.look(now) if self._routing.place(turn) == "here")
            name, lease_ms = self._presence.name, self._lease_ms
            taken = (self._turns.take(turn_id, name, now=now, lease_ms=lease_ms) for turn_id in ours)
            lease = next((lease for lease in taken if lease is not None), None)
            looks += 1
            # A turn that waits for its next attempt lies in the part already seen: the second look begins there.
            if self._scan.ended and looks > 1:
                break
        return lease

    def take_back(self) -> None:
        """Release what workers held that no longer live on this machine (an earlier life of ours, say), once everything
        that they had started is ended."""
        for worker in {*self._turns.workers(), *self._presence.others()} - {self._presence.name}:
            if self._presence.gone(worker):
                if ended := processes.end_orphans(worker):
                    log.warning("ended %d processes that %s had left behind", ended, worker)
                if self._turns.release(worker):
                    self._scan.restart()
                self._presence.forget(worker)
