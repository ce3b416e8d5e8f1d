"""The turn worker: takes waiting turns, runs them, records the outcomes.

A turn is leased, and only the attempt that holds the lease may answer: a crashed or frozen worker loses its turn to the
next one and cannot answer it any more. If a person or a deadline decides otherwise, the work stops at once.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from adapters.agents.announcement import announcement_of, line_of
from adapters.agents.team import Team
from adapters.processes.disk import keep_free
from adapters.processes.environment import own
from adapters.store.errors import DamagedEvent
from adapters.store.port import Attendances, Store
from adapters.store.turns import Lease
from adapters.turns.job import Job
from adapters.turns.lease.attendance import Attendance
from adapters.turns.lease.claims import TurnClaims, asks, news
from adapters.turns.lease.jobs import Jobs
from adapters.turns.lease.presence import Peers, Presence
from adapters.turns.lease.record import deadline_of, record
from adapters.turns.lease.routing import Routing, place_of
from adapters.turns.live import Live
from adapters.turns.question.permissions import Questions
from adapters.turns.result.shared_workspaces import Sharing, near
from adapters.turns.runner import TurnRunner
from adapters.turns.settings import WorkerSettings
from adapters.workspace import Workspaces
from adapters.workspace.shown_form import shower
from adapters.writer.writer import Busy, Writer
from domain.session.forks import Diverge
from domain.session.record import Recorded
from domain.session.turns import AgentSessionsCleared, Settled, TurnAttemptFailed
from domain.values.base import Command, Refused, Unknown, milliseconds

log = logging.getLogger(__name__)
AT_ONCE: Final = 32
"""How many turns are claimed at once, before the first of them begins."""
LOOK_AFTER: Final = 1.0
"""Seconds after which dead workers and passed deadlines are checked, however often the worker is woken."""


class Worker:
    """Runs turns until it is stopped. All its methods except `wake` and `seen` belong to one event loop."""

    def __init__(
        self,
        *,
        store: Store,
        writer: Writer,
        clock: Callable[[], int],
        team: Team,
        data_dir: Path,
        settings: WorkerSettings,
        live: Live | None = None,
        runner: TurnRunner | None = None,
        peers: Peers | None = None,
        sharing: Sharing | None = None,
        attendances: Attendances | None = None,
    ) -> None:
        """Without `attendances`, nobody's absence is noticed."""
        self._store, self._writer, self._clock, self._settings = store, writer, clock, settings
        self._team = team
        self._presence = peers or Presence(data_dir / "workers", agents=line_of(announcement_of(team)))
        self._attendance: Attendance | None = None
        if attendances is not None:
            self._attendance = Attendance(
                attendances=attendances,
                team=team,
                turns=store.turns,
                peers=self._presence,
                load=writer.load,
                clock=clock,
                lease_ms=round(settings.lease * 1000),
            )
        self._claims = TurnClaims(
            turns=store.turns,
            routing=Routing(team, writer.load, near(sharing, writer.load, clock), writer.cached),
            presence=self._presence,
            clock=clock,
            lease_ms=round(settings.lease * 1000),
            sharing=sharing,
        )
        self._jobs = Jobs(store, writer)
        self._questions = Questions(team.permissions, writer)
        self.runner = runner or TurnRunner(
            store=store,
            team=team,
            workspaces=Workspaces(data_dir / "workspaces", settings.room, settings.log, shower(settings.sandbox)),
            data_dir=data_dir,
            settings=settings,
            live=live or Live(clock),
            questions=self._questions,
            sharing=sharing,
            writer=writer,
        )
        self._running: dict[str, asyncio.Task[None]] = {}
        self._leases: dict[asyncio.Task[None], Lease] = {}
        """Of the turns that run."""
        self._woken = asyncio.Event()
        self._woken_for = 0
        """The position up to which commits of this process have woken it."""
        self._full = False
        self._looked_after = -math.inf
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self._forgetting: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self._presence.name

    # -- the loop --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until `stop`: take over dead workers' turns, then waiting ones. Afterwards no turn is held."""
        self._loop = asyncio.get_running_loop()
        own(self.name)
        keep_free(self._settings.disk_reserve)
        self._writer.on_commit.append(self._committed)
        beating = [asyncio.create_task(self._beat())]
        if self._attendance is not None:
            self._writer.preludes.append(self._attendance)
            beating.append(asyncio.create_task(self._attend(self._attendance)))
        while not self._stopping:
            self._woken.clear()
            try:
                await self._round()
            except Exception:  # outermost handler: otherwise no turn would ever run again
                log.exception("the worker could not take turns; trying again")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), timeout=self._settings.poll)
        await self._leave(beating)

    def stop(self) -> None:
        """Let `run` finish: it stops the agents and gives the turns back. In the worker's own loop."""
        self._stopping = self._claims.stopped = True
        self._woken.set()

    async def _leave(self, beating: "Sequence[asyncio.Task[None]]") -> None:
        self._writer.on_commit.remove(self._committed)
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in beating:
            task.cancel()
        await asyncio.gather(*beating, return_exceptions=True)
        if self._attendance is not None:
            self._writer.preludes.remove(self._attendance)
            await asyncio.to_thread(self._attendance.leave)
        await asyncio.to_thread(self._claims.leave)

    def wake(self) -> None:
        """There may be something to do. From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)

    def _committed(self, page: Sequence[Recorded]) -> None:
        """New events of this process: new turns are taken at once. In the writer's thread."""
        if page and asks(page):
            self._woken_for = max(self._woken_for, page[-1].position)
            self.wake()

    def seen(self, page: Sequence[Recorded]) -> None:
        """New events of the log: new turns to take, settled ones to stop. From any thread."""
        heard = news(page)
        if (heard or self._questions.turns) and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hear, heard, page)

    def rewound(self, _: int) -> None:
        """The log has gone back: turns that are gone, or that others have now, are dropped. From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._check_leases)

    def _check_leases(self) -> None:
        self._woken_for = 0
        self._claims.restart()
        task = asyncio.create_task(self._renew())
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)
        self._woken.set()

    def _hear(self, heard: Sequence[Recorded], page: Sequence[Recorded]) -> None:
        if self._questions.turns:
            self._questions.seen(page)
        if asks(recorded for recorded in heard if recorded.position > self._woken_for):
            self._woken.set()
        for recorded in heard:
            match recorded.event:
                case AgentSessionsCleared() as event if event.agent_sessions:
                    self._forget(event)
                case Settled(turn_id=turn_id):
                    self._let_go([turn_id])
                case TurnAttemptFailed(retry_at=str(instant)):
                    self._wake_at(milliseconds(instant))

    def _wake_at(self, instant: int) -> None:
        """Check again when a wait between attempts ends; otherwise only the next poll would find it."""
        assert self._loop is not None, "only what runs is woken"
        self._loop.call_later(max(0, instant - self._clock()) / 1000 + 0.001, self._woken.set)

    def _forget(self, event: AgentSessionsCleared) -> None:
        task = asyncio.create_task(self.runner.forget(event))
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    def _let_go(self, turn_ids: Sequence[str]) -> None:
        for turn_id in turn_ids:
            task = self._running.get(turn_id)
            if task is not None:
                task.cancel()

    async def _round(self) -> None:
        if asyncio.get_running_loop().time() - self._looked_after >= min(self._settings.poll, LOOK_AFTER):
            self._looked_after = asyncio.get_running_loop().time()
            await asyncio.to_thread(self._claims.take_back)
            await self._expire()
        while (free := self._settings.slots - len(self._running) + self._questions.turns) > 0 and not self._stopping:
            most = min(free, AT_ONCE)
            claimed = await asyncio.to_thread(self._claim, most)
            for lease, job in claimed:
                self._begin(lease, job)
            if len(claimed) < most:
                break
        self._full = free <= 0

    def _claim(self, most: int) -> list[tuple[Lease, Job | Exception]]:
        """Turns to run, each with its job, or why it cannot be run. Blocks."""
        claimed: list[tuple[Lease, Job | Exception]] = []
        try:
            for lease in self._claims.take(most):
                try:
                    claimed.append((lease, self.runner.with_question(self._jobs.first(lease))))
                except Exception as error:  # its own task raises it: one damaged session does not stop others
                    claimed.append((lease, error))
        except Exception:
            if not claimed:
                raise
            log.exception("the worker could not take more turns; trying again")
        return claimed

    def _begin(self, lease: Lease, job: Job | Exception) -> None:
        self._let_go([lease.turn_id])  # it was lost to another attempt of ours: its heartbeat was late
        task = asyncio.create_task(self._work(lease, job), name=lease.turn_id)
        self._running[lease.turn_id], self._leases[task] = task, lease
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        del self._leases[task]
        if self._running.get(task.get_name()) is task:
            del self._running[task.get_name()]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("turn %s was left to its lease", task.get_name(), exc_info=error)
        if self._full:
            self._woken.set()

    async def _beat(self) -> None:
        """Renew the leases from time to time. A turn whose lease is lost is stopped."""
        while True:
            await asyncio.sleep(self._settings.heartbeat)
            await self._renew()

    async def _attend(self, attendance: Attendance) -> None:
        """Note from time to time that this process is there. After a sleep, what was missed is recorded first."""
        while True:
            await asyncio.to_thread(self._writer.look if attendance.has_slept() else attendance.note)
            await asyncio.sleep(attendance.every)

    async def _renew(self) -> None:
        """Renew the leases now; the turns of those that are lost are stopped."""
        held = {lease: task for task, lease in self._leases.items()}
        for lease in await asyncio.to_thread(self._claims.lost, held):
            held[lease].cancel()

    async def _expire(self) -> None:
        """Deadlines apply whether the turn waits, runs, or the service was down when they passed."""
        for session_id, turn_id in await asyncio.to_thread(self._store.turns.overdue, self._clock()):
            if await self._expired(session_id, turn_id):
                self._let_go([turn_id])

    async def _expired(self, session_id: str, turn_id: str) -> bool:
        """True if the turn is over because of its deadline; False if that was extended meanwhile."""
        with contextlib.suppress(Refused, Unknown, Busy, DamagedEvent):  # one damaged session does not stop others
            await self._writer.do(deadline_of(session_id, turn_id))
            return True
        return False

    # -- one turn --------------------------------------------------------------------------------------------------

    async def _work(self, lease: Lease, job: Job | Exception) -> None:
        while True:
            if isinstance(job, Exception):
                raise job
            if lease.turn_id not in job.session.outstanding:
                return
            await self._questions.withdraw(job)
            if self._is_theirs(job):
                await asyncio.to_thread(self._store.turns.give_back, lease)
                return
            command = await self._bounded(job)
            if command is not None:
                await self._record(job, command)
            if not isinstance(command, Diverge):
                return
            job = await asyncio.to_thread(self._jobs.now, lease)

    def _is_theirs(self, job: Job) -> bool:
        """True if others have to ask the question, for example because a fork has no more answers to reuse."""
        lease = job.lease
        return lease.work == "ask" and place_of(job.session, lease.agent, lease.role, self._team) != "here"

    async def _bounded(self, job: Job) -> Command | None:
        """The job's outcome; None if the deadline ended it, which is then recorded instead."""
        lease, deadline = job.lease, job.deadline
        if deadline is None:
            return await self.runner.do(job)
        doing = asyncio.create_task(self.runner.do(job))
        try:
            while True:
                done, _ = await asyncio.wait({doing}, timeout=self._until(deadline))
                if done:
                    return doing.result()
                if deadline is None or self._clock() <= deadline:
                    continue
                if await self._expired(lease.session_id, lease.turn_id):
                    return None
                deadline = (await asyncio.to_thread(self._jobs.now, lease)).deadline
                if deadline is not None:  # the deadline has not moved yet while a person is asked
                    deadline = max(deadline, self._clock() + round(self._settings.poll * 1000))
        finally:
            doing.cancel()
            await asyncio.gather(doing, return_exceptions=True)

    def _until(self, deadline: int | None) -> float | None:
        """Seconds until the deadline, after which the clock is checked again. Work exactly at the deadline is still
        allowed."""
        if deadline is None:
            return None
        return min(self._settings.poll, max(0.001, (deadline + 1 - self._clock()) / 1000))

    async def _record(self, job: Job, command: Command) -> None:
        merge, settings = self.runner.merge, self._settings
        await record(job, command, writer=self._writer, merge=merge, settings=settings, by=self.name)
