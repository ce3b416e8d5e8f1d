"""Stops the clock of a delivery's budget while a validation does what does not count: it sets up a fresh checkout, or
runs a command again (contract-3 §17).

What it took is recorded with the outcome. Only where the deadline is near, it is also recorded that the clock stands
still, before the deadline would end the turn.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

from adapters.store.errors import Fenced, StoreError
from adapters.turns.job import Job
from adapters.writer.unit_of_work import CommandEnvelope
from adapters.writer.writer import Busy, Writer
from domain.delivery.commands import HoldBudget, ResumeBudget
from domain.delivery.events import Hold
from domain.delivery.state import Delivery
from domain.values.base import Command, Refused, Unknown

log = logging.getLogger(__name__)

NEAR: Final = 2
"""Minutes of the budget before a deadline from which on it is recorded that the clock stands still."""
_WITHIN_REACH: Final = 15
_MUCH: Final = 10.0
"""If a stop took so many seconds, and the deadline is within reach of the commands that come, it moves at once."""


class BudgetClock:
    """The clocks of the deliveries whose turns run here. Belongs to one event loop. Without a writer, nothing is
    recorded before the outcome."""

    def __init__(self, writer: Writer | None, now: Callable[[], int]) -> None:
        self._writer, self._now, self._numbers = writer, now, count(1)
        self._stopped: set[str] = set()
        """The turns whose clocks stand still because of this process."""
        self._apart: Counter[str] = Counter()

    async def resume(self, job: Job) -> None:
        """Let the clock run again that an earlier attempt stopped, as its process is gone."""
        self._apart.pop(job.lease.turn_id, None)
        if isinstance(job.session, Delivery) and job.session.held_since is not None:
            await self._record(job, ResumeBudget(turn_id=job.lease.turn_id))

    def taken(self, job: Job) -> int:
        """The milliseconds that do not count and are not recorded yet; from now on they are the caller's."""
        return self._apart.pop(job.lease.turn_id, 0)

    async def give_back(self, job: Job) -> None:
        """Record the milliseconds that do not count, where no outcome does."""
        if apart := self.taken(job):
            await self._record(job, ResumeBudget(turn_id=job.lease.turn_id, apart_ms=apart))

    @asynccontextmanager
    async def stopped(self, job: Job, why: Hold) -> AsyncIterator[None]:
        """Stop the clock meanwhile, if the turn has one. If that cannot be recorded, the clock goes on."""
        turn_id, deadline = job.lease.turn_id, job.deadline
        if turn_id in self._stopped or deadline is None or not isinstance(job.session, Delivery):
            yield
            return
        self._stopped.add(turn_id)
        began, minute = time.monotonic(), job.session.budget.limits.minute / 1000
        held: list[float] = []

        async def hold() -> None:
            command = HoldBudget(turn_id=turn_id, attempt=job.lease.attempt, why=why)
            if await self._record(job, command):
                held.append(time.monotonic())

        holding: list[asyncio.Task[None]] = []
        left = (deadline - self._now()) / 1000 - NEAR * minute
        later = asyncio.get_running_loop().call_later(left, lambda: holding.append(asyncio.create_task(hold())))
        if left <= 0:
            later.cancel()
            await hold()
        try:
            yield
        finally:
            later.cancel()
            await asyncio.gather(*holding)
            self._stopped.discard(turn_id)
            until = held[0] if held else time.monotonic()
            self._apart[turn_id] += round((until - began) * 1000)
            if held:
                await self._record(job, ResumeBudget(turn_id=turn_id))
            left = (deadline - self._now()) / 1000
            if left < _WITHIN_REACH * minute and self._apart[turn_id] >= _MUCH * 1000:
                await self.give_back(job)

    async def _record(self, job: Job, command: Command) -> bool:
        """True if it was recorded."""
        if self._writer is None or not isinstance(job.session, Delivery):
            return False
        lease = job.lease
        command_id = f"{lease.turn_id}#{lease.attempt}/clock-{next(self._numbers)}"
        cause = f"{lease.session_id}:{lease.version}"
        envelope = CommandEnvelope(lease.session_id, command, actor="clock", command_id=command_id, causation_id=cause)
        try:
            await self._writer.do(envelope)
        except (Refused, Unknown, Fenced, StoreError, Busy) as error:
            log.warning("the budget's clock of %s goes on: %s", lease.turn_id, error)
            return False
        return True
