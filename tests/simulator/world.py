"""A simulated world: one log, one disk, a server that is killed and started, a machine that sleeps, and a person.

The log, the rules, the writer, the worker and the inbox are the real ones. Time, agents and folders are simulated, so
that the same seed always writes the same log.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

from adapters.agents.scripted import Scenario
from adapters.agents.team import Member, Role, Team
from adapters.store.sqlite.views import SqliteViews
from adapters.turns.folder import checkout
from adapters.turns.job import Job
from adapters.turns.lease.worker import Worker
from adapters.turns.live import Live
from adapters.turns.merged_check import MergedCheck
from adapters.turns.runner import TurnRunner
from adapters.turns.settings import WorkerSettings
from adapters.writer.writer import CommandEnvelope, Writer
from domain.delivery.commands import ExtendBudget, RecordBaseline, RecordValidation, StartDelivery
from domain.delivery.validation import Baseline
from domain.kinds import allowed_actions
from domain.orchestration.commands import AddRounds, ContinueOrchestration, StartOrchestration
from domain.orchestration.events import Employee, OrchestrationRequest
from domain.session.attempts import Failure, RetryPolicy
from domain.session.landing import RecordLanding
from domain.session.state import Session
from domain.session.turns import RetryTurn
from domain.session.validation import ValidationStep
from domain.values.base import Command, Refused, Text
from domain.values.budget import BudgetLimits
from projections.follow import Follower
from projections.sessions import inbox
from projections.views.inbox import WaitingItem
from tests.kit.memory_store import MemoryLog, MemoryStore
from tests.simulator import virtual
from tests.simulator.agents import BUG, Asked, Performer
from tests.simulator.folders import MemoryWorkspaces
from tests.simulator.weather import HOUR, Weather

EPOCH_MS: Final = 1_800_000_000_000
DAYS: Final = 60
"""After so many days without an end, the simulation gives up."""
ROLES: Final[tuple[Role, ...]] = (
    *("planner", "architect", "designer", "dev", "reviewer", "judge", "synthesizer", "assistant"),
)
EMPLOYEES: Final[tuple[tuple[str, Role], ...]] = (("Backend", "backend"), ("Frontend", "frontend"))
TEAM: Final = Team(
    agents=tuple(
        Member(name=name, roles=(role,), adapter="scripted", settings=Scenario())
        for name, role in (*((role.title(), role) for role in ROLES), *EMPLOYEES)
    )
)
STEP: Final = ValidationStep(stage="test", command="check", argv=("check",))


class Breakage(logging.Handler):
    """Ends the simulation at the first turn that breaks: the twin lacks something, and its sessions would be retried
    for as long as there are days."""

    found = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.found = self.format(record)


class SimulatedClock:
    """Wall time: that of the loop, and what the machine has slept."""

    def __init__(self) -> None:
        self.slept = 0

    def __call__(self) -> int:
        return EPOCH_MS + self.slept + round(asyncio.get_running_loop().time() * 1_000)


@dataclass(slots=True)
class SimulatedPeers:
    """The servers of this machine; only the newest is alive."""

    name: str
    earlier: tuple[str, ...]

    def others(self) -> tuple[str, ...]:
        return self.earlier

    def gone(self, name: str) -> bool:
        return name in self.earlier

    def forget(self, name: str) -> None:
        self.earlier = tuple(other for other in self.earlier if other != name)

    def leave(self) -> None:
        """It ends with the simulation."""


@dataclass(frozen=True, slots=True)
class SimulatedCommands:
    """The validation: it fails while there is a bug in the work."""

    workspaces: MemoryWorkspaces

    async def prepare(self, job: Job) -> RecordBaseline:
        await asyncio.sleep(5)
        return RecordBaseline(turn_id=job.lease.turn_id, attempt=job.lease.attempt, baseline=Baseline())

    async def land(self, job: Job) -> RecordLanding:
        return RecordLanding(turn_id=job.lease.turn_id, attempt=job.lease.attempt, commit="0" * 40)

    async def check_merged(self, job: Job, tree: str) -> MergedCheck:
        """Nobody commits to a branch of a simulation."""
        return MergedCheck()

    @asynccontextmanager
    async def ready(self, job: Job, *, services: bool = False) -> AsyncIterator[tuple[Failure | None, Job]]:
        """Nothing has to be set up."""
        yield None, job

    async def validate(self, job: Job) -> RecordValidation:
        folder = checkout(job, self.workspaces)
        await asyncio.sleep(30)
        passed = BUG not in self.workspaces.holding(folder).folders[folder].get("work.txt", b"")
        return RecordValidation(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            passed=passed,
            classification=None if passed else "test",
            summary="check passed" if passed else "check failed: BUG",
            report=Text.of("{}")[0],
            seconds=30.0,
        )


@dataclass(slots=True)
class Outcome:
    """How one session ended, and with which files."""

    kind: str
    status: str
    waits: bool
    actions: tuple[str, ...]
    turn_failed: bool
    files: dict[str, bytes]


@dataclass(slots=True)
class World:
    """`person`: whether a person answers the inbox. `trouble`: whether servers are killed and the machine sleeps."""

    weather: Weather
    deliveries: int = 0
    orchestrations: int = 0
    person: bool = True
    trouble: bool = True
    log: MemoryLog = field(default_factory=MemoryLog)
    workspaces: MemoryWorkspaces = field(default_factory=MemoryWorkspaces)
    asked: Asked = field(default_factory=Asked)
    clock: SimulatedClock = field(default_factory=SimulatedClock)
    servers: list[str] = field(default_factory=list)
    days: float = 0.0
    killed: int = 0
    answered: int = 0
    """How many items of the inbox the person has answered."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    store: MemoryStore = field(init=False)
    follower: Follower = field(init=False)
    views: SqliteViews = field(init=False)
    breakage: Breakage = field(default_factory=lambda: Breakage(logging.ERROR))
    _writer: Writer = field(init=False)

    def run(self) -> "World":
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hansard-simulation-")))
            self.store = MemoryStore(self.log)
            self.views = SqliteViews(folder / "views.db")
            stack.callback(self.views.close)
            self.follower = Follower(self.store, self.views)
            turns = logging.getLogger("adapters.turns.runner")
            turns.addHandler(self.breakage)
            stack.callback(turns.removeHandler, self.breakage)
            virtual.run(self._story)
        return self

    def digest(self) -> str:
        """Of every event in the log, in order."""
        output = sha256()
        for row in self.log.rows:
            output.update(repr(row).encode())
        return output.hexdigest()

    # -- the story -------------------------------------------------------------------------------------------------

    async def _story(self) -> None:
        loop, drawn = asyncio.get_running_loop(), Random(f"world:{self.weather.seed}")  # noqa: S311 - no secret
        server = self._serve()
        for session_id, command in self._starts():
            await self._do(session_id, command, starts=True)
        person = asyncio.create_task(self._person()) if self.person else None
        while not self._finished() and loop.time() < DAYS * 24 * HOUR:
            assert not self.breakage.found, self.breakage.found
            await asyncio.sleep(drawn.uniform(0.5, 1.5) * HOUR)
            if self.trouble and drawn.random() < 0.5:
                await self._kill(server)
                server = self._serve()
            if self.trouble and drawn.random() < 0.1:
                self.clock.slept += round(drawn.uniform(1, 6) * HOUR * 1_000)
        if person is not None:
            person.cancel()
        await self._kill(server)
        self.days = loop.time() / 24 / HOUR
        self._look()

    def _starts(self) -> Iterator[tuple[str, Command]]:
        retry = RetryPolicy()
        for number in range(self.deliveries):
            yield (
                f"delivery-{number:04}",
                StartDelivery(
                    task="Write the work",
                    steps=(STEP,),
                    limits=BudgetLimits(),
                    retry=retry,
                    baseline=True,
                    no_progress_limit=3,
                ),
            )
        employees = tuple(Employee(name=name, role=role) for name, role in EMPLOYEES)
        for number in range(self.orchestrations):
            opening = OrchestrationRequest(
                prompt="Build the shop", employees=employees, triage="orchestrate", retry=retry
            )
            yield f"orchestration-{number:04}", StartOrchestration(opening=opening)

    # -- servers ---------------------------------------------------------------------------------------------------

    def _serve(self) -> "asyncio.Task[None]":
        name = f"server-{len(self.servers) + 1}"
        writer, live = Writer(self.store, self.clock), Live(self.clock)
        settings = WorkerSettings(slots=64, lease=600, heartbeat=200, poll=HOUR, sandbox="off")
        runner = TurnRunner(
            store=self.store,
            team=TEAM,
            workspaces=self.workspaces,
            data_dir=Path("/simulated"),
            settings=settings,
            live=live,
            build=lambda member, _: self._performer(member),
            commands=SimulatedCommands(self.workspaces),
        )
        worker = Worker(
            store=self.store,
            writer=writer,
            clock=self.clock,
            team=TEAM,
            data_dir=Path("/simulated"),
            settings=settings,
            live=live,
            runner=runner,
            peers=SimulatedPeers(name, tuple(self.servers[-1:])),
        )
        self.servers.append(name)
        seen = self.store.head()

        def follow() -> None:
            nonlocal seen
            page = self.store.log(after=seen, limit=10_000)
            if page:
                seen = page[-1].position
                worker.seen(page)

        writer.listeners.append(follow)
        self._writer = writer
        return asyncio.create_task(worker.run())

    def _performer(self, member: Member) -> Performer:
        return Performer(member, self.weather, self.workspaces, self.asked)

    async def _kill(self, server: "asyncio.Task[None]") -> None:
        """kill -9: every task of the server ends where it is, and nothing is released or recorded."""
        ours = {asyncio.current_task(), server}
        turns = [task for task in asyncio.all_tasks() if task not in ours and task.get_name() != "person"]
        self._writer.listeners.clear()
        for task in (server, *turns):
            task.cancel()
        await asyncio.gather(server, *turns, return_exceptions=True)
        self.killed += 1

    async def _do(self, session_id: str, command: Command, *, starts: bool = False) -> None:
        key = f"{session_id}:{len(self.log.rows)}"
        await self._writer.do(CommandEnvelope(session_id, command, actor="person:ann", command_id=key, starts=starts))

    # -- the person ------------------------------------------------------------------------------------------------

    async def _person(self) -> None:
        """Answers everything in the inbox, once an hour."""
        task = asyncio.current_task()
        assert task is not None
        task.set_name("person")
        while True:
            await asyncio.sleep(HOUR)
            for item in self._inbox():
                with suppress(Refused):
                    await self._do(item.session_id, _answer(item))
                    self.answered += 1

    def _inbox(self) -> list[WaitingItem]:
        self.follower.catch_up()
        items: list[WaitingItem] = []
        cursor = None
        with self.views.reading() as db:
            while True:
                page = inbox.page(db, limit=inbox.MOST, cursor=cursor)
                items += page.items
                cursor = page.next_cursor
                if cursor is None:
                    return items

    # -- the end ---------------------------------------------------------------------------------------------------

    def _finished(self) -> bool:
        """Everything has ended, and nothing waits for a person who is there."""
        waiting = {item.session_id for item in self._inbox()}
        if self.person and waiting:
            return False
        return all(session.ended or session.id in waiting for session in self._sessions())

    def _sessions(self) -> Iterator[Session]:
        for session_id, _ in self._starts():
            session = self._writer.load(session_id)
            assert session is not None
            yield session

    def _look(self) -> None:
        waiting = {item.session_id for item in self._inbox()}
        for session in self._sessions():
            made = self.workspaces.made.get(session.id)
            files = made.states[session.tree or made.start] if made else {}
            self.outcomes[session.id] = Outcome(
                kind=session.kind,
                status=session.status,
                waits=session.id in waiting,
                actions=allowed_actions(session),
                turn_failed=session.failed_turn is not None,
                files=files,
            )


def _answer(item: WaitingItem) -> Command:
    """What a person would do to continue the session."""
    if "retry" in item.choices:
        return RetryTurn(reason="once more")
    if item.kind == "delivery":
        more = {"minutes": "add_minutes", "iterations": "add_iterations"}.get(item.cause or "", "add_iterations")
        return ExtendBudget(reason="go on", **{more: 120 if more == "add_minutes" else 3})
    if "continue" in item.choices:
        return ContinueOrchestration()
    return AddRounds(add_rounds=3, reason="go on")
