"""Leases of external workers: who holds a turn, for how long, and why it was lost."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from adapters.store.port import Store
from adapters.store.texts import whole
from adapters.store.turns import Lease, TurnStatus
from adapters.turns.conversation import ancestors
from adapters.turns.job import Job, of_record, requested
from adapters.turns.lease.record import deadline_of
from adapters.writer.writer import Writer
from domain.session.record import Recorded
from domain.session.turns import TurnRequested
from domain.values.base import Refused, Unknown
from domain.values.sentences import Sentence

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

    def status_of(self, turn_id: str) -> TurnStatus:
        """The turn's state. Raises Unknown for an unknown turn."""
        status = self._turns.status(turn_id)
        if status is None:
            raise Unknown(Sentence("no_such_turn", id=turn_id))
        return status

    def held(self, worker: str, turn_id: str, attempt: int | None) -> Lease:
        """The worker's own lease. Raises Unknown for an unknown turn, LeaseLost for one that it does not hold."""
        status = self.status_of(turn_id)
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
        """Returns why the lease is lost."""
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
        sources = ancestors(self._store, session)
        return Job(lease, request.event, job_session, self._writer.load, sources, partial(whole, self._store))


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
