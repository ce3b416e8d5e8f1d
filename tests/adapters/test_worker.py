"""Turns in the hands of workers: crashes, zombies, cancellations and deadlines, with real programs as agents."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.agents.team import Team, example, load
from adapters.clock import Clock
from adapters.store.location import open_store
from adapters.store.turns import Lease
from adapters.turns.lease.worker import Worker
from adapters.turns.settings import WorkerSettings
from adapters.writer.writer import CommandEnvelope, Writer
from domain.delivery.commands import CancelDelivery, ExtendBudget, StartDelivery
from domain.delivery.state import Delivery
from domain.session.turns import RecordReply, TurnAnswered
from domain.session.validation import ValidationStep
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from tests.api.server import (
    PATIENCE,
    Server,
    delivery,
    ended,
    events,
    inside,
    only,
    running,
    serving,
    session,
    start,
    until,
)
from tests.kit.claiming import claim
from tests.kit.stories import START

PROGRAM = """
import os, pathlib, signal, subprocess, sys, time
prompt = sys.stdin.read()
desk = pathlib.Path(sys.argv[1])
desk.mkdir(parents=True, exist_ok=True)
if "BE STUBBORN" in prompt:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
note = desk / f"{os.getpid()}.note"
note.write_text(f"{os.getpid()} {os.getppid()} {child.pid}")
note.rename(note.with_suffix(".asked"))
while not (desk / "go").exists() and not note.with_suffix(".go").exists():
    time.sleep(0.01)
child.kill()
child.wait()
print(f"done by {os.getpid()}")
"""
FAILING = """
import os, sys, time
prompt = sys.stdin.read()
orders = prompt[prompt.index("<<") + 2 : prompt.index(">>")]
exec(orders)
"""


@dataclass(frozen=True)
class Run:
    """The program, asked once: its process, whose child that is, and the child that it has itself."""

    pid: int
    parent: int
    child: int

    def left(self) -> list[int]:
        return [pid for pid in (self.pid, self.child) if running(pid)]


class Desks:
    """Where the developer, a program, says in which session it was asked, and waits until it may answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "desks"
        self.folder.mkdir()
        program = folder / "developer.py"
        program.write_text(PROGRAM)
        self.team = team(folder, argv=[sys.executable, str(program), f"{self.folder}/{{session}}"])

    def runs(self, session_id: str) -> list[Run]:
        """The runs for a session so far, oldest first."""
        notes = sorted((self.folder / session_id).glob("*.asked"), key=lambda note: note.stat().st_mtime_ns)
        return [Run(*map(int, note.read_text().split())) for note in notes]

    def asked(self, session_id: str, count: int) -> list[Run]:
        """Those runs, once there are so many."""

        def there() -> list[Run] | None:
            result = self.runs(session_id)
            return result if len(result) >= count else None

        return until(there, what=f"{count} runs of the program")

    def may_answer(self, session_id: str, run: Run | None = None) -> None:
        """This run may, or every run for the session."""
        (self.folder / session_id / (f"{run.pid}.go" if run else "go")).touch()

    def left(self, session_id: str) -> list[int]:
        return [pid for run in self.runs(session_id) for pid in run.left()]

    def clear(self) -> None:
        """End the leftovers of a killed server."""
        for desk in self.folder.iterdir():
            for pid in self.left(desk.name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def team(folder: Path, *, argv: list[str], **settings: object) -> Path:
    """A team file: the developer is a program, all others are scripted and harmless. Without a fence, so that tests
    see the program's processes and it sees their files."""
    result = "".join(f"{name} = {value!r}\n" for name, value in {"argv": argv, **settings}.items())
    path = folder / "team.toml"
    path.write_text(
        'sandbox = "off"\n'
        '[[agents]]\nname = "Team"\nroles = ["planner", "architect", "designer", "reviewer"]\nadapter = "scripted"\n'
        f'[[agents]]\nname = "Dev"\nroles = ["dev"]\nadapter = "command"\n[agents.settings]\n{result}'
    )
    return path


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    result = Desks(tmp_path_factory.mktemp("desks"))
    yield result
    result.clear()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, desks: Desks) -> Iterator[Server]:
    """Its budget minute has 1.6 seconds."""
    with serving(tmp_path_factory.mktemp("worker"), team=desks.team, budget_minute=1.6) as result:
        yield result


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, desks: Desks) -> Iterator[tuple[Server, Server]]:
    """Two servers on one log; who is silent for a second loses its turns."""
    folder = tmp_path_factory.mktemp("pair")
    settings: dict[str, Any] = {"team": desks.team, "worker_slots": 2, "lease_seconds": 1, "poll_seconds": 0.1}
    with serving(folder, **settings) as first, serving(folder, **settings) as second:
        yield first, second


def begin(client: httpx.Client, **fields: Any) -> str:
    """Start a delivery by the team of the file, with all the time in the world."""
    body = delivery(maxMinutes=180, **fields)
    del body["scenario"]
    return start(client, body)


def cancel(server: Server, session_id: str) -> None:
    assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200


def answers(server: Server, session_id: str) -> list[tuple[int, str]]:
    """Attempt and words of the developer's answers in the log."""
    result = only(events(server.client, session_id), "turn.answered")
    return [(answer["attempt"], answer["reply"]["head"]) for answer in result if answer["role"] == "dev"]


# -- crashes -------------------------------------------------------------------------------------------------------


def test_a_turn_interrupted_by_crashes_is_asked_again_at_once_and_recorded_once(server: Server, desks: Desks) -> None:
    """The lease has a minute: the next life does not wait for it, its own earlier life is known to be dead."""
    session_id = begin(server.client)
    for life in (1, 2):
        assert desks.asked(session_id, life)[-1].parent == server.pid
        server.kill()
        began = time.monotonic()
        server.start()
        desks.asked(session_id, life + 1)
        assert time.monotonic() - began < 20
    newest = desks.asked(session_id, 3)[-1]
    desks.may_answer(session_id)
    assert ended(server.client, session_id)["status"] == "success"
    assert answers(server, session_id) == [(3, f"done by {newest.pid}")]
    requests = only(events(server.client, session_id), "turn.requested")
    assert [turn["role"] for turn in requests].count("dev") == 1


@pytest.mark.alone
def test_a_worker_that_stops_gives_its_turn_back_and_leaves_no_process(server: Server, desks: Desks) -> None:
    session_id = begin(server.client)
    desks.asked(session_id, 1)
    assert server.stop() < 4
    assert desks.left(session_id) == []
    server.start()
    second = desks.asked(session_id, 2)[-1]
    desks.may_answer(session_id)
    assert ended(server.client, session_id)["status"] == "success"
    assert answers(server, session_id) == [(2, f"done by {second.pid}")]


# -- several workers -----------------------------------------------------------------------------------------------


def frozen_and_other(pair: tuple[Server, Server], run: Run) -> tuple[Server, Server]:
    """The server whose program this is, stopped in its tracks, and the other one."""
    frozen, other = pair if run.parent == pair[0].pid else (pair[1], pair[0])
    os.kill(frozen.pid, signal.SIGSTOP)
    return frozen, other


def thaw(frozen: Server) -> None:
    """Once it answers again its loop has run, and with it whatever was due."""
    os.kill(frozen.pid, signal.SIGCONT)
    for _ in range(3):
        assert frozen.client.get("/readyz").status_code == 200


def test_a_zombie_cannot_answer_the_turn_it_has_lost(pair: tuple[Server, Server], desks: Desks) -> None:
    """A frozen process loses its lease; thawed, with an answer at hand, it changes nothing for the one that has the
    turn now."""
    session_id = begin(pair[0].client)
    [first] = desks.asked(session_id, 1)
    frozen, other = frozen_and_other(pair, first)
    _, second = desks.asked(session_id, 2)
    assert second.parent == other.pid
    desks.may_answer(session_id, first)
    until(lambda: not running(first.pid), what="the end of the first run")
    thaw(frozen)
    assert answers(other, session_id) == []
    assert second.left() == [second.pid, second.child]
    desks.may_answer(session_id, second)
    assert ended(other.client, session_id)["status"] == "success"
    assert answers(other, session_id) == [(2, f"done by {second.pid}")]


def test_an_answer_after_the_end_of_the_session_changes_nothing(pair: tuple[Server, Server], desks: Desks) -> None:
    session_id = begin(pair[0].client)
    [first] = desks.asked(session_id, 1)
    frozen, other = frozen_and_other(pair, first)
    _, second = desks.asked(session_id, 2)
    desks.may_answer(session_id)
    last = ended(other.client, session_id)
    assert last["status"] == "success"
    thaw(frozen)
    assert session(frozen.client, session_id) == session(other.client, session_id) == last
    assert answers(other, session_id) == [(2, f"done by {second.pid}")]


def test_two_workers_share_the_turns_of_one_log(pair: tuple[Server, Server], desks: Desks) -> None:
    """Each takes as many as it has slots for, and every turn is asked and recorded once."""
    ids = [begin(pair[0].client) for _ in range(6)]

    def at_work() -> list[int] | None:
        runs = [run for session_id in ids for run in desks.runs(session_id)]
        return sorted(run.parent for run in runs) if len(runs) == 4 else None

    assert until(at_work, what="four runs") == sorted([pair[0].pid, pair[1].pid] * 2)
    for session_id in ids:
        (desks.folder / session_id).mkdir(exist_ok=True)
        desks.may_answer(session_id)
    for session_id in ids:
        assert ended(pair[1].client, session_id)["status"] == "success"
        [run] = desks.asked(session_id, 1)
        assert answers(pair[0], session_id) == [(1, f"done by {run.pid}")]


def test_a_cancellation_by_another_process_stops_the_agent_too(pair: tuple[Server, Server], desks: Desks) -> None:
    session_id = begin(pair[0].client)
    [run] = desks.asked(session_id, 1)
    cancel(pair[1] if run.parent == pair[0].pid else pair[0], session_id)
    until(lambda: not run.left(), what="the end of the program and its child", seconds=2)


# -- cancelling ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("manner", "seconds"), [("BE POLITE", 1.5), ("BE STUBBORN", 4.0)])
def test_a_cancelled_session_stops_its_agent_at_once(server: Server, desks: Desks, manner: str, seconds: float) -> None:
    """With its child; a program that ignores SIGTERM is killed after two seconds."""
    session_id = begin(server.client, task=manner)
    [run] = desks.asked(session_id, 1)
    cancel(server, session_id)
    assert session(server.client, session_id)["outstandingTurns"] == []
    until(lambda: not run.left(), what="the end of the program and its child", seconds=seconds)
    assert answers(server, session_id) == []


def test_a_cancelled_session_stops_its_validation_at_once(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "pid"
    script = f"import os, time; open({str(output)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    session_id = start(server.client, delivery(validationCommands=[[sys.executable, "-c", script]], maxMinutes=180))
    pid = int(until(lambda: output.read_text() if output.exists() else "", what="its pid"))
    cancel(server, session_id)
    until(lambda: not running(pid), what="the end of the validation", seconds=1.5)


# -- failures are outcomes -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The developer does what the task orders, and has narrow limits."""
    folder = tmp_path_factory.mktemp("failing")
    program = folder / "developer.py"
    program.write_text(FAILING)
    limits = {"timeout_seconds": 1.0, "idle_seconds": 0.4, "output_bytes": 1_000}
    with inside(folder, team=team(folder, argv=[sys.executable, str(program)], **limits)) as result:
        yield result


@pytest.mark.parametrize(
    ("orders", "code"),
    [
        ("sys.exit(3)", "crash"),
        ("os.kill(os.getpid(), 9)", "crash"),
        ("pass", "unreadable"),
        ("[(time.sleep(0.1), print(end='x', flush=True)) for _ in range(100)]", "timeout"),
        ("print('x', flush=True), time.sleep(60)", "idle"),
        ("print('x' * 100_000)", "limit"),
        ("os.symlink('/etc', 'etc'), print('done')", None),
    ],
    ids=["exit code", "signal", "silence", "too long", "idle", "too much", "odd files"],
)
def test_every_failure_of_an_agent_is_in_the_session(failing: TestClient, orders: str, code: str | None) -> None:
    session_id = begin(failing, task=f"<<{orders}>>")
    last = ended(failing, session_id)
    output = events(failing, session_id)
    assert last["status"] == ("failed" if code else "success")
    assert [failed["errorType"] for failed in only(output, "delivery.phase_failed")] == ([code] if code else [])
    assert [failed["failure"]["code"] for failed in only(output, "turn.failed")] == ([code] if code else [])
    skipped = ["validation", "review", "packaging"] if code else []
    assert [phase["phase"] for phase in only(output, "delivery.phase_skipped")] == skipped


def test_a_missing_program_is_a_failure_with_its_name(tmp_path: Path) -> None:
    with inside(tmp_path, team=team(tmp_path, argv=["no-such-program-anywhere"])) as client:
        body = delivery() | {"anyway": True}
        del body["scenario"]
        session_id = start(client, body)
        assert "no-such-program-anywhere" in ended(client, session_id)["lastError"]
        [failed] = only(events(client, session_id), "delivery.phase_failed")
        assert failed["errorType"] == "refused"


# -- the worker alone ----------------------------------------------------------------------------------------------


CREW = {"planner": "Team", "architect": "Team", "designer": "Team", "dev": "Dev"}


@dataclass
class Shop:
    """A worker with its store and writer, in this process."""

    worker: Worker
    writer: Writer

    def begin(self, session_id: str, **fields: Any) -> None:
        step = ValidationStep(stage="custom", command="true", argv=("true",))
        command = StartDelivery(task="t", file_paths=("a",), steps=(step,), **{"limits": BudgetLimits(), **fields})
        self.writer.do_now(CommandEnvelope(session_id, command, actor="test", command_id=session_id, starts=True))

    def counted(self) -> dict[str, int]:
        return self.writer.store.turns.count()


@contextlib.contextmanager
def shop(
    folder: Path, found: Team | None = None, *, clock: Callable[[], int] | None = None, **settings: Any
) -> Iterator[Shop]:
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    clock = clock or Clock()
    writer = Writer(store, clock)
    worker = Worker(
        store=store,
        writer=writer,
        clock=clock,
        team=found or example(),
        data_dir=folder / "data",
        settings=WorkerSettings(sandbox="off", **settings),
    )
    try:
        yield Shop(worker, writer)
    finally:
        store.close()


def test_a_turn_that_is_claimed_while_the_worker_stops_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lease remains on a turn that no worker runs."""
    with shop(tmp_path) as result:
        scenario, _ = Text.of('{"replies": {"planner": [{"text": "late", "delayMs": 86400000}]}}')
        result.begin("delivery-1", scenario=scenario)
        claiming, go_on = threading.Event(), threading.Event()
        claim = result.worker._store.turns.take_all

        def slow_claim(*args: Any, **named: Any) -> list[Lease]:
            claiming.set()
            assert go_on.wait(PATIENCE)
            return claim(*args, **named)

        monkeypatch.setattr(result.worker._store.turns, "take_all", slow_claim)

        async def stop_meanwhile() -> None:
            running_worker = asyncio.create_task(result.worker.run())
            assert await asyncio.to_thread(claiming.wait, PATIENCE)
            result.worker.stop()
            go_on.set()
            await asyncio.wait_for(running_worker, PATIENCE)
            assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

        asyncio.run(stop_meanwhile())
        assert result.counted() == {"queued": 1, "running": 0}


def test_the_attempt_that_lost_its_lease_cannot_answer(
    tmp_path: Path, desks: Desks, caplog: pytest.LogCaptureFixture
) -> None:
    """Even when it answers first, unaware: the fence is in the transaction of the answer."""
    caplog.set_level("INFO")
    unaware: dict[str, Any] = {"slots": 1, "lease": 0.2, "heartbeat": 3600.0}
    result = load(desks.team)
    with shop(tmp_path, result, **unaware) as first, shop(tmp_path, result) as second:

        async def lose_and_answer() -> None:
            first.begin("delivery-fenced", crew=CREW)
            losing = asyncio.create_task(first.worker.run())
            [early] = await asyncio.to_thread(desks.asked, "delivery-fenced", 1)
            taking = asyncio.create_task(second.worker.run())
            await asyncio.to_thread(desks.asked, "delivery-fenced", 2)
            desks.may_answer("delivery-fenced", early)
            await asyncio.to_thread(until, lambda: "came too late" in caplog.text, what="the refusal")
            assert _replies(first, "dev") == []
            desks.may_answer("delivery-fenced")
            await asyncio.to_thread(until, lambda: _replies(second, "dev"), what="the answer")
            for one in (first, second):
                one.worker.stop()
            await asyncio.gather(losing, taking)

        asyncio.run(lose_and_answer())
        [answer] = _replies(second, "dev")
        late = desks.asked("delivery-fenced", 2)[1]
        assert (answer.attempt, answer.reply.head) == (2, f"done by {late.pid}")


def test_a_refusal_without_a_waiting_caller_is_not_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A cancellation that comes while the answer is being recorded, which is then refused."""
    with shop(tmp_path) as result:
        result.begin("delivery-1", scenario=Text.of('{"replies": {}}')[0])
        lease = claim(result.writer.store, "w", now=0, lease_ms=60_000)
        assert lease is not None
        job = result.worker._jobs.now(lease)
        result.writer.do_now(CommandEnvelope("delivery-1", CancelDelivery(), actor="test", command_id="cancel"))
        result.writer.start()
        command = RecordReply(turn_id=lease.turn_id, attempt=1, reply=Text(), prompt=Text())

        async def let_go() -> None:
            recording = asyncio.create_task(result.worker._record(job, command))
            await asyncio.sleep(0)
            recording.cancel()
            await asyncio.gather(recording, return_exceptions=True)
            assert recording.cancelled()
            await asyncio.to_thread(result.writer.stop)
            await asyncio.sleep(0)  # the refusal arrives

        asyncio.run(let_go())
        result.worker._presence.leave()
        gc.collect()
        assert "never retrieved" not in caplog.text


def _replies(found: Shop, role: str) -> list[TurnAnswered]:
    events = (recorded.event for recorded in found.writer.store.log())
    return [event for event in events if isinstance(event, TurnAnswered) and event.role == role]


def test_a_worker_that_lost_a_turn_to_itself_drops_the_first_attempt(tmp_path: Path, desks: Desks) -> None:
    """Its heart did not beat in time (a store that hung, say): the turn is claimed again, the old run is stopped, and a
    cancellation still finds the new one."""
    with shop(tmp_path, load(desks.team), lease=0.2, heartbeat=3600.0) as result:

        async def lose_and_cancel() -> None:
            result.begin(
                "delivery-lost", crew={"dev": "Dev", "planner": "Team", "architect": "Team", "designer": "Team"}
            )
            working = asyncio.create_task(result.worker.run())
            result.worker.wake()
            await asyncio.to_thread(desks.asked, "delivery-lost", 2)
            order = CommandEnvelope("delivery-lost", CancelDelivery(), actor="test", command_id="cancel")
            await result.writer.do(order)
            result.worker.seen(result.writer.store.log())
            await asyncio.to_thread(until, lambda: not desks.left("delivery-lost"), what="the end of all runs")
            result.worker.stop()
            await working

        asyncio.run(lose_and_cancel())


def test_a_worker_survives_whatever_goes_wrong_when_it_looks_for_work(
    tmp_path: Path, desks: Desks, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(tmp_path, load(desks.team)) as result:
        claim, broken = result.worker._store.turns.take_all, [ZeroDivisionError("broken"), OSError("broken too")]

        def claim_at_last(*args: Any, **named: Any) -> list[Lease]:
            if broken:
                raise broken.pop()
            return claim(*args, **named)

        monkeypatch.setattr(result.worker._store.turns, "take_all", claim_at_last)

        async def work() -> None:
            result.begin(
                "delivery-found", crew={"dev": "Dev", "planner": "Team", "architect": "Team", "designer": "Team"}
            )
            working = asyncio.create_task(result.worker.run())
            while not desks.runs("delivery-found"):
                result.worker.wake()
                await asyncio.sleep(0.01)
            result.worker.stop()
            await working

        asyncio.run(asyncio.wait_for(work(), PATIENCE))
        assert caplog.text.count("the worker could not take turns; trying again") == 2


# -- deadlines -----------------------------------------------------------------------------------------------------


class HandClock:
    """The wall clock, moved by hand."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at


MINUTE = 60_000


@contextlib.contextmanager
def hurried(folder: Path, desks: Desks) -> Iterator[tuple[Shop, HandClock, str]]:
    """A worker, the clock, and a delivery that has one budget minute."""
    clock = HandClock()
    with shop(folder, load(desks.team), clock=clock, poll=0.01, lease=3600) as result:
        session_id = f"delivery-{folder.name}"
        result.begin(session_id, crew=CREW, limits=BudgetLimits(max_minutes=1))
        yield result, clock, session_id


def delivered(found: Shop, session_id: str) -> Delivery:
    state = found.writer.load(session_id)
    assert isinstance(state, Delivery)
    return state


def at_work(found: Shop, story: Callable[[], object]) -> None:
    """Tell a story in a thread while the worker runs."""

    async def both() -> None:
        working = asyncio.create_task(found.worker.run())
        try:
            await asyncio.to_thread(story)
        finally:
            found.worker.stop()
            await working

    asyncio.run(both())


def test_a_deadline_stops_the_agent_that_runs(tmp_path: Path, desks: Desks) -> None:
    """At the deadline itself work is still allowed."""
    with hurried(tmp_path, desks) as (result, clock, session_id):

        def story() -> None:
            [run] = desks.asked(session_id, 1)
            clock.at = START + MINUTE
            assert run.left() == [run.pid, run.child]
            clock.at += 1
            until(lambda: not run.left(), what="the end of the program and its child")
            until(lambda: not delivered(result, session_id).outstanding, what="the end of the delivery")
            assert delivered(result, session_id).state == "exhausted"

        at_work(result, story)


def test_a_deadline_that_passed_while_no_worker_ran_applies_at_the_next_start(tmp_path: Path, desks: Desks) -> None:
    """The turn is not asked: its time is over."""
    with hurried(tmp_path, desks) as (result, clock, session_id):
        clock.at += MINUTE + 1
        at_work(result, lambda: until(lambda: not delivered(result, session_id).outstanding, what="its end"))
        assert delivered(result, session_id).state == "exhausted"
        assert desks.runs(session_id) == []


def test_an_extension_lets_the_running_turn_continue(tmp_path: Path, desks: Desks) -> None:
    """Given before the deadline: nothing is stopped or asked again, and the first answer counts."""
    with hurried(tmp_path, desks) as (result, clock, session_id):

        def story() -> None:
            [run] = desks.asked(session_id, 1)
            more = ExtendBudget(add_minutes=1, reason="nearly there")
            result.writer.do_now(CommandEnvelope(session_id, more, actor="test", command_id="extend"))
            clock.at += MINUTE + 1
            seen = result.worker._store.head()
            desks.may_answer(session_id)
            until(lambda: result.worker._store.head() > seen, what="the answer")
            replies = [event.reply.head for event in _replies(result, "dev")]
            assert replies == [f"done by {run.pid}"] and len(desks.runs(session_id)) == 1

        at_work(result, story)
