"""TurnClaims turns for this worker, holds them, and takes back what dead workers of this machine held."""

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from adapters.processes.sweep import end_orphans
from adapters.services.claims import end_abandoned
from adapters.store.errors import StoreError
from adapters.store.turn_scan import TurnScan
from adapters.store.turns import Lease, Turns
from adapters.turns.lease.presence import Peers
from adapters.turns.lease.routing import Routing
from adapters.turns.result.shared_workspaces import Sharing
from domain.session.record import Recorded
from domain.session.turns import AgentSessionsCleared, Settled, TurnWaits

log = logging.getLogger(__name__)
_NEWS: Final = TurnWaits | Settled | AgentSessionsCleared
LOOK = 100
"""How many waiting turns are read at once to take one of them."""


class TurnClaims:
    """The turns that a worker may take. All of it blocks: call it from a thread; take turns in one at a time."""

    def __init__(
        self,
        *,
        turns: Turns,
        routing: Routing,
        presence: Peers,
        clock: Callable[[], int],
        lease_ms: int,
        sharing: Sharing | None = None,
    ) -> None:
        self._turns, self._routing, self._presence = turns, routing, presence
        self._clock, self._lease_ms, self._sharing = clock, lease_ms, sharing
        self._scan = TurnScan(turns, limit=LOOK)
        self._recovered = False
        self.stopped = False
        """Whether no more turns are wanted."""

    def next(self) -> Lease | None:
        """A lease on the first turn in the queue that this worker can do."""
        return next(self.take(1), None)

    def take(self, most: int) -> Iterator[Lease]:
        """Leases on the turns that this worker can do, in the order of the queue. If the machine fails, the worker
        ends, too, so these leases need not survive a power cut."""
        now = self._clock()
        if not self._turns.waiting(now):
            return
        looks = 0
        while most > 0 and not self.stopped:
            fitting = (turn.turn_id for turn in self._scan.look(now) if self._routing.place(turn) == "here")
            wanted = list(islice(fitting, most))
            taken = self._turns.take_all(wanted, self._presence.name, now=now, lease_ms=self._lease_ms)
            yield from taken
            looks += 1
            seen_all, most = len(wanted) < most, most - len(taken)
            # A turn that waits for its next attempt is in the part already read: the second look begins there.
            if seen_all and (self._scan.complete or (self._scan.ended and looks > 1 and not taken)):
                return

    def restart(self) -> None:
        """Look for turns from the oldest on."""
        self._scan.restart()

    def lost(self, leases: Iterable[Lease]) -> list[Lease]:
        """Renew these leases; those that are lost."""
        return [lease for lease in leases if not self._renewed(lease)]

    def _renewed(self, lease: Lease) -> bool:
        try:
            return self._turns.heartbeat(lease, until=self._clock() + self._lease_ms)
        except StoreError:
            log.exception("no heartbeat for %s", lease.turn_id)
            return True

    def take_back(self) -> None:
        """Release the turns of workers that are no longer alive on this machine (such as our previous process), after
        ending everything that they had started."""
        if self._sharing is not None:
            self._sharing.attend()
        if not self._recovered and (count := self._turns.recover()):
            log.warning("the lease table had %d turns in an unknown state: they are in the queue again", count)
        self._recovered = True
        for worker in {*self._turns.workers(), *self._presence.others()} - {self._presence.name}:
            if self._presence.gone(worker):
                if ended := end_orphans(worker):
                    log.warning("ended %d processes that %s had left behind", ended, worker)
                end_abandoned()
                if self._turns.release(worker):
                    self._scan.restart()
                self._presence.forget(worker)

    def leave(self) -> None:
        """Give everything back. No more turns are taken here."""
        with contextlib.suppress(StoreError):
            self._turns.release(self._presence.name)
        if self._sharing is not None:
            self._sharing.leave()
        self._presence.leave()


def news(page: Iterable[Recorded]) -> list[Recorded]:
    """Follows what a worker has to know: turns that begin to wait or have ended, and conversations that are over."""
    return [recorded for recorded in page if isinstance(recorded.event, _NEWS)]


def asks(page: Iterable[Recorded]) -> bool:
    """True if turns have started to wait."""
    return any(isinstance(recorded.event, TurnWaits) for recorded in page)
