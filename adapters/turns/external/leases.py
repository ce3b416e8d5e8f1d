"""External workers: those that wait for a turn, and the leases of those that hold one.

One query serves all waiting workers, and none runs if no worker waits. A lease says who holds a turn, for how long, and
why it was lost.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from adapters.store.port import Store
from adapters.store.turn_scan import TurnScan
from adapters.store.turns import Lease, OpenTurn, Turns, TurnStatus
from adapters.turns.conversation import ancestors
from adapters.turns.job import Job, of_record, requested
from adapters.turns.lease.record import deadline_of
from adapters.turns.lease.routing import Routing
from adapters.writer.writer import Writer
from domain.session.record import Recorded
from domain.session.turns import TurnRequested
from domain.values.base import Refused, Unknown
from domain.values.sentences import Sentence

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


# -- leases ------------------------------------------------------------------------------------------------------------


Loss = Literal["settled", "cancelled", "waiting", "elsewhere", "deadline", "timeout"]


class LeaseLost(Refused):
    """The worker does not hold the turn, or not any more; `reason` says why in one word."""

    def __init__(self, sentence: str, reason: Loss) -> None:
        super().__init__(sentence)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ExternalTurnSettings:
    """Times in seconds. `turn` is the longest that an attempt may hold a turn."""

    lease: float = 60.0
    turn: float = 1_800.0


class ExternalLeases:
    """The turns that external workers hold. Only the process that leased a turn knows when the attempt began; after a
    restart its time starts again."""

    def __init__(
        self, *, store: Store, writer: Writer, clock: Callable[[], int], settings: ExternalTurnSettings
    ) -> None:
        self._store, self._writer, self._clock, self._settings = store, writer, clock, settings
        self._turns = store.turns
        self._since: dict[tuple[str, int], int] = {}

    @property
    def lease_ms(self) -> int:
        return round(self._settings.lease * 1000)

    def begins(self, lease: Lease) -> None:
        """Note that an attempt begins now. Attempts without a heartbeat for a long time are forgotten."""
        oldest = self._clock() - 2_000 * self._settings.turn
        self._since = {each: since for each, since in self._since.items() if since > oldest}
        self._since[lease.turn_id, lease.attempt] = self._clock()

    def ends(self, lease: Lease) -> None:
        self._since.pop((lease.turn_id, lease.attempt), None)

    def seconds(self, job: Job) -> float:
        """The duration of the attempt; since the request if its beginning is unknown."""
        since = self._since.get((job.lease.turn_id, job.lease.attempt))
        began = self._request(job.lease).at if since is None else since
        return max(0, self._clock() - began) / 1000

    def _request(self, lease: Lease) -> Recorded:
        return requested(self._store, lease)

    def held(self, worker: str, turn_id: str, attempt: int | None) -> Lease:
        """The worker's own lease. Raises Unknown for an unknown turn, LeaseLost for one that it does not hold."""
        status = self._turns.status(turn_id)
        if status is None:
            raise Unknown(Sentence("no_such_turn", id=turn_id))
        lease = self._turns.held(turn_id)
        if lease is None or lease.worker != worker or attempt not in (None, lease.attempt):
            raise _lost(turn_id, status)
        return lease

    async def heartbeat(self, worker: str, turn_id: str, attempt: int | None) -> Lease:
        """The extended lease. Raises what `held` raises, and LeaseLost when the deadline has passed."""
        lease = await asyncio.to_thread(self.held, worker, turn_id, attempt)
        await self.check_deadline(lease)
        self._since.setdefault((turn_id, lease.attempt), self._clock())
        until = self._clock() + self.lease_ms
        if not await asyncio.to_thread(self._turns.heartbeat, lease, until=until):
            raise await asyncio.to_thread(self.loss, lease)
        return replace(lease, until=max(lease.until, until))

    def overstays(self, lease: Lease) -> bool:
        """True if the attempt has taken longer than any turn may."""
        since = self._since.get((lease.turn_id, lease.attempt))
        return since is not None and self._clock() - since > self._settings.turn * 1000

    async def check_deadline(self, lease: Lease) -> None:
        """Raises LeaseLost if the session's deadline has passed; that ends the turn."""
        if lease.deadline is None or self._clock() <= lease.deadline:
            return
        try:
            await self._writer.do(deadline_of(lease.session_id, lease.turn_id))
        except (Refused, Unknown):  # it was extended, or stopped by others: then the lease is lost, too
            return
        raise LeaseLost(Sentence("turn_deadline_passed", turn=lease.turn_id), "deadline")

    def loss(self, lease: Lease) -> LeaseLost:
        """Why the lease is lost."""
        status = self._turns.status(lease.turn_id)
        assert status is not None, "turns are never deleted"
        return _lost(lease.turn_id, status)

    def job(self, lease: Lease) -> Job:
        """The turn, on the state of the workspace at its request: the working folder, and the base of its changes, are
        then the same at the claim and at the result, whatever others record meanwhile."""
        session = before = self._writer.load(lease.session_id)
        request = self._request(lease)
        if session is not None and session.version != request.version:  # others have recorded something meanwhile
            before = self._writer.load(lease.session_id, upto=request.version)
        assert session is not None and before is not None, "each lease has a request"
        assert isinstance(request.event, TurnRequested), "each lease has a request"
        lease = of_record(lease, request, session)
        job_session = replace(session, tree=before.tree, slot=before.slot)
        return Job(lease, request.event, job_session, self._writer.load, ancestors(self._store, session))


def _lost(turn_id: str, status: TurnStatus) -> LeaseLost:
    match status.state:
        case "done":
            return LeaseLost(Sentence("turn_lost_settled", turn=turn_id), "settled")
        case "cancelled":
            return LeaseLost(Sentence("turn_lost_cancelled", turn=turn_id), "cancelled")
        case "running":
            return LeaseLost(Sentence("turn_lost_elsewhere", turn=turn_id), "elsewhere")
        case _:
            return LeaseLost(Sentence("turn_lost_waiting", turn=turn_id), "waiting")
