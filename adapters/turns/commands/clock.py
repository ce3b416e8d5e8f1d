"""Stops the clock of a delivery's budget while a validation does what does not count: it sets up a fresh checkout, or
runs a command again (contract-3 §17)."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from adapters.store.errors import Fenced, StoreError
from adapters.turns.job import Job
from adapters.writer.unit_of_work import CommandEnvelope
from adapters.writer.writer import Busy, Writer
from domain.delivery.commands import HoldBudget, ResumeBudget
from domain.delivery.events import Hold
from domain.delivery.state import Delivery
from domain.values.base import Command, Refused, Unknown

log = logging.getLogger(__name__)


class BudgetClock:
    """The clocks of the deliveries whose turns run here. Without a writer they are never stopped."""

    def __init__(self, writer: Writer | None) -> None:
        self._writer, self._numbers = writer, count(1)
        self._stopped: set[str] = set()
        """The turns whose clocks stand still because of this process."""

    async def resume(self, job: Job) -> None:
        """Let the clock run again that an earlier attempt stopped, as its process is gone."""
        if isinstance(job.session, Delivery) and job.session.held_since is not None:
            await self._record(job, ResumeBudget(turn_id=job.lease.turn_id))

    @asynccontextmanager
    async def stopped(self, job: Job, why: Hold) -> AsyncIterator[None]:
        """Stop the clock meanwhile, if the turn has one. If that cannot be recorded, the clock goes on."""
        turn_id = job.lease.turn_id
        if turn_id in self._stopped:
            yield
            return
        held = job.deadline is not None and await self._record(
            job, HoldBudget(turn_id=turn_id, attempt=job.lease.attempt, why=why)
        )
        if held:
            self._stopped.add(turn_id)
        try:
            yield
        finally:
            self._stopped.discard(turn_id)
            if held:
                await self._record(job, ResumeBudget(turn_id=turn_id))

    async def _record(self, job: Job, command: Command) -> bool:
        """Whether it was recorded."""
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
