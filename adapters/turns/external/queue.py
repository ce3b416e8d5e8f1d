"""The queue of external workers that wait for a turn.

One query serves all waiting workers, and none runs if no worker waits.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.store.turn_scan import TurnScan
from adapters.store.turns import Lease, OpenTurn, Turns
from adapters.turns.lease.routing import Routing

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Notifications may get lost, and leases expire without one; regular checks of the table find both."""


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """The turns that a worker wants: of these agents or roles, or any if none is named. Case is ignored."""

    agents: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def fits(self, turn: OpenTurn) -> bool:
        if not self.agents and not self.roles:
            return True
        return turn.agent.casefold() in self.agents or turn.role.casefold() in self.roles


@dataclass(eq=False, slots=True)
class Waiter:
    """A waiting worker: for a while if `patient`, otherwise until every open turn was checked."""

    worker: str
    wanted: TurnFilter
    patient: bool
    answer: "asyncio.Future[Lease | None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class TurnQueue:
    """The workers that wait for turns, first come, first served. Belongs to one event loop, except for `wake`."""

    def __init__(
        self, turns: Turns, routing: Routing, clock: Callable[[], int], lease_ms: int, poll: float = POLL_SECONDS
    ) -> None:
        self._turns, self._routing, self._clock, self._lease_ms = turns, routing, clock, lease_ms
        self._poll = poll
        self._walks: dict[TurnFilter, TurnScan] = {}
        self._loop = asyncio.get_running_loop()
        self._waiters: list[Waiter] = []
        self._woken = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def length(self) -> int:
        return len(self._waiters)

    def wake(self) -> None:
        """There may be a turn. From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)

    def restart(self) -> None:
        """Look for turns from the oldest on. From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._walks.clear)
        self.wake()

    def close(self) -> None:
        """Release all waiting workers without a turn."""
        self._closed = True
        for waiter in self._waiters:
            _tell(waiter, None)
        self._woken.set()

    async def next(self, worker: str, wanted: TurnFilter, seconds: float) -> Lease | None:
        """A lease on the first turn that fits, as soon as there is one; None after this many seconds."""
        if self._closed:
            return None
        waiter = Waiter(worker, wanted, patient=seconds > 0)
        self._waiters.append(waiter)
        self._woken.set()
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())
        try:
            async with asyncio.timeout(seconds if waiter.patient else None):
                return await asyncio.shield(waiter.answer)
        except TimeoutError:
            return waiter.answer.result() if waiter.answer.done() else None
        except asyncio.CancelledError:
            if waiter.answer.done() and (lease := waiter.answer.result()) is not None:
                await self.give_back(lease)
            raise
        finally:
            self._part(waiter)

    def _part(self, waiter: Waiter) -> None:
        with suppress(ValueError):  # parted before
            self._waiters.remove(waiter)

    async def give_back(self, lease: Lease) -> None:
        """Return the turn of a worker that has left to the queue."""
        await asyncio.to_thread(self._turns.give_back, lease)
        self._woken.set()

    # -- serving ---------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        """Lease turns to waiting workers, for as long as one waits."""
        try:
            while self._waiters:
                self._woken.clear()
                await self._look(list(self._waiters))
                if self._waiters:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._woken.wait(), self._poll)
        finally:
            self._serving = None

    async def _look(self, waiters: Sequence[Waiter]) -> None:
        try:
            leases = await asyncio.to_thread(self._taken, waiters)
        except Exception as error:  # outermost handler: waiting workers get the error, later ones are served again
            log.exception("no turns could be given out")
            for waiter in waiters:
                if waiter in self._waiters and not waiter.answer.done():
                    waiter.answer.set_exception(error)
            return
        for waiter in waiters:
            lease = leases.get(waiter)
            if lease is not None and (waiter.answer.done() or waiter not in self._waiters):
                await self.give_back(lease)
            elif lease is not None or (waiter in leases and not waiter.patient):
                _tell(waiter, lease)
                self._part(waiter)  # it is not to be given another
        if len(leases) < len(waiters):
            self._woken.set()

    def _taken(self, waiters: Sequence[Waiter]) -> dict[Waiter, Lease | None]:
        """A lease for each waiting worker with a turn, None for those without one; only another check can tell about
        the others. Runs in a thread."""
        now = self._clock()
        if not self._turns.waiting(now):
            return dict.fromkeys(waiters)
        self._walks = {waiter.wanted: self._walks.get(waiter.wanted) or TurnScan(self._turns) for waiter in waiters}
        fitting = {wanted: self._fitting(wanted, walk, now) for wanted, walk in self._walks.items()}
        leases: dict[Waiter, Lease | None] = {}
        for waiter in waiters:
            lease = self._take(fitting[waiter.wanted], waiter.worker, now)
            if lease is not None or self._walks[waiter.wanted].ended:
                leases[waiter] = lease
        return leases

    def _fitting(self, wanted: TurnFilter, walk: TurnScan, now: int) -> Iterator[OpenTurn]:
        """The turns that match a filter; all workers with the same filter share them."""
        return (turn for turn in walk.look(now) if wanted.fits(turn) and self._routing.place(turn) == "outside")

    def _take(self, turns: Iterator[OpenTurn], worker: str, now: int) -> Lease | None:
        """A lease on the first of these turns that is still available."""
        taken = (self._turns.take(turn.turn_id, worker, now=now, lease_ms=self._lease_ms) for turn in turns)
        return next((lease for lease in taken if lease is not None), None)


def _tell(waiter: Waiter, lease: Lease | None) -> None:
    if not waiter.answer.done():
        waiter.answer.set_result(lease)
