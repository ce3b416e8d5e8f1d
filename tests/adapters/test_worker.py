"""Turns in the hands of workers: crashes, zombies, cancellations and deadlines, with real programs as agents."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.clock import Clock
from adapters.store import Lease, open_store
from adapters.team import Team, example, load
from adapters.worker import Worker, WorkerSettings
from adapters.writer import Order, Writer
from domain.base import Text
from domain.budget import Limits
from domain.delivery.commands import CancelDelivery, StartDelivery
from domain.validation import Step
from tests.api.server import (
    PATIENCE,
    Json,
    Server,
    delivery,
    ended,
    events,
    only,
    running,
    serving,
    session,
    start,
    types,
    until,
)

PROGRAM = """
import os, pathlib, signal, subprocess, sys, time
desk = pathlib.Path(sys.argv[1])
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
note = desk / f"{os.getpid()}.note"
note.write_text(f"{os.getpid()} {os.getppid()} {child.pid}")
note.rename(note.with_suffix(".asked"))
while not (desk / "go").exists() and not note.with_suffix(".go").exists():
    time.sleep(0.01)
child.kill()
child.wait()
pathlib.Path("done.txt").write_text("done")
print(f"done by {os.getpid()}")
"""


@dataclass(frozen=True)
class Asked:
    """A run of the program: its process, whose child it was, and the child that it has itself."""

    pid: int
    parent: int
    child: int

    def left(self) -> list[int]:
        return [pid for pid in (self.pid, self.child) if running(pid)]


class Desk:
    """Where the developer, a program, says that it was asked, and waits until it may answer."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder / "desk"
        self.folder.mkdir()
        program = folder / "developer.py"
        program.write_text(PROGRAM)
        self.team = team(folder, argv=[sys.executable, str(program), str(self.folder), *words])

    def asked(self, count: int) -> list[Asked]:
        """The runs so far, oldest first, once there are so many."""

        def there() -> list[Asked] | None:
            notes = sorted(self.folder.glob("*.asked"), key=lambda note: note.stat().st_mtime_ns)
            return [Asked(*map(int, note.read_text().split())) for note in notes] if len(notes) >= count else None

        return until(there, what=f"{count} runs of the program")

    def may_answer(self, run: Asked | None = None) -> None:
        """This run may, or every run."""
        (self.folder / (f"{run.pid}.go" if run else "go")).touch()

    def clear(self) -> None:
        for note in self.folder.glob("*.asked"):
            for pid in Asked(*map(int, note.read_text().split())).left():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def team(folder: Path, *, argv: list[str], **settings: object) -> Path:
    """A team file: the developer is a program, everybody else is scripted and harmless."""
    given = "".join(f"{name} = {value!r}\n" for name, value in {"argv": argv, **settings}.items())
    path = folder / "team.toml"
    path.write_text(
        '[[agents]]\nname = "Team"\nroles = ["planner", "architect", "designer", "reviewer"]\nadapter = "scripted"\n'
        f'[[agents]]\nname = "Dev"\nroles = ["dev"]\nadapter = "command"\n[agents.settings]\n{given}'
    )
    return path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    found = Desk(tmp_path)
    yield found
    found.clear()


BODY = delivery()
del BODY["scenario"]
"""A delivery by the team of the file."""


def answers(server: Server, session_id: str) -> list[Json]:
    """The developer's answers in the log."""
    return [answer for answer in only(events(server.client, session_id), "turn.answered") if answer["role"] == "dev"]


# -- crashes -------------------------------------------------------------------------------------------------------


def test_a_turn_that_a_crash_interrupted_is_asked_again_at_once_and_recorded_once(tmp_path: Path, desk: Desk) -> None:
    """The lease has a minute: the next life does not wait for it, its own earlier life is known to be dead."""
    with serving(tmp_path, team=desk.team) as server:
        session_id = start(server.client, BODY)
        [first] = desk.asked(1)
        server.kill()
        began = time.monotonic()
        server.start()
        _, second = desk.asked(2)
        assert time.monotonic() - began < 5
        assert (first.pid != second.pid, second.parent) == (True, server.pid)
        desk.may_answer()
        assert ended(server.client, session_id)["status"] == "success"
        [answer] = answers(server, session_id)
        assert (answer["attempt"], answer["reply"]["head"]) == (2, f"done by {second.pid}")
        requests = [turn for turn in only(events(server.client, session_id), "turn.requested") if turn["role"] == "dev"]
        assert len(requests) == 1


def test_a_turn_that_crashes_again_and_again_is_recorded_once(tmp_path: Path, desk: Desk) -> None:
    with serving(tmp_path, team=desk.team) as server:
        session_id = start(server.client, BODY)
        for life in range(1, 4):
            desk.asked(life)
            server.kill()
            server.start()
        newest = desk.asked(4)[-1]
        desk.may_answer()
        assert ended(server.client, session_id)["status"] == "success"
        assert [(a["attempt"], a["reply"]["head"]) for a in answers(server, session_id)] == [
            (4, f"done by {newest.pid}")
        ]


def test_a_worker_that_stops_gives_its_turn_back_and_leaves_no_process(tmp_path: Path, desk: Desk) -> None:
    with serving(tmp_path, team=desk.team) as server:
        session_id = start(server.client, BODY)
        [first] = desk.asked(1)
        assert server.stop() < 4
        assert first.left() == []
        server.start()
        _, second = desk.asked(2)
        desk.may_answer()
        assert ended(server.client, session_id)["status"] == "success"
        assert [answer["reply"]["head"] for answer in answers(server, session_id)] == [f"done by {second.pid}"]


# -- several workers -----------------------------------------------------------------------------------------------


def test_a_zombie_cannot_answer_the_turn_it_has_lost(tmp_path: Path, desk: Desk) -> None:
    """A frozen process loses its lease; thawed, it is told so, and the one that has the turn now goes on."""
    settings: dict[str, Any] = {"team": desk.team, "lease_seconds": 1, "poll_seconds": 0.1}
    with serving(tmp_path, **settings) as frozen:
        session_id = start(frozen.client, BODY)
        [first] = desk.asked(1)
        os.kill(frozen.pid, signal.SIGSTOP)
        with serving(tmp_path, **settings) as other:
            _, second = desk.asked(2)
            assert second.parent == other.pid
            desk.may_answer(first)
            until(lambda: not running(first.pid), what="the end of the first run")
            os.kill(frozen.pid, signal.SIGCONT)
            until(lambda: "came too late" in frozen.log.read_text() or _beats(frozen), what="the zombie's next word")
            assert answers(other, session_id) == []
            assert second.left() == [second.pid, second.child]
            desk.may_answer(second)
            assert ended(other.client, session_id)["status"] == "success"
            [answer] = answers(other, session_id)
            assert (answer["attempt"], answer["reply"]["head"]) == (2, f"done by {second.pid}")


def _beats(server: Server) -> bool:
    """Whether the server answers again: its loop has run, and with it whatever was due."""
    return server.client.get("/readyz").status_code == 200


def test_an_answer_after_the_end_of_the_turn_changes_nothing(tmp_path: Path, desk: Desk) -> None:
    settings: dict[str, Any] = {"team": desk.team, "lease_seconds": 1, "poll_seconds": 0.1}
    with serving(tmp_path, **settings) as frozen:
        session_id = start(frozen.client, BODY)
        desk.asked(1)
        os.kill(frozen.pid, signal.SIGSTOP)
        with serving(tmp_path, **settings) as other:
            _, second = desk.asked(2)
            desk.may_answer()
            last = ended(other.client, session_id)
            assert last["status"] == "success"
            os.kill(frozen.pid, signal.SIGCONT)
            until(lambda: _beats(frozen), what="the zombie's next word")
            assert session(frozen.client, session_id) == session(other.client, session_id) == last
            assert [answer["reply"]["head"] for answer in answers(other, session_id)] == [f"done by {second.pid}"]


def test_two_workers_share_the_turns_of_one_log(tmp_path: Path, desk: Desk) -> None:
    """Each takes as many as it has slots for; both work on all sessions, and every turn is recorded once."""
    settings: dict[str, Any] = {"team": desk.team, "worker_slots": 2, "poll_seconds": 0.1}
    with serving(tmp_path, **settings) as first, serving(tmp_path, **settings) as second:
        ids = [start(first.client, BODY) for _ in range(6)]
        at_work = desk.asked(4)
        assert sorted(run.parent for run in at_work) == sorted([first.pid] * 2 + [second.pid] * 2)
        desk.may_answer()
        for session_id in ids:
            assert ended(second.client, session_id)["status"] == "success"
            assert ended(first.client, session_id)["status"] == "success"
            assert [answer["attempt"] for answer in answers(second, session_id)] == [1]
        assert len(desk.asked(6)) == 6


# -- cancelling ----------------------------------------------------------------------------------------------------


def test_a_cancelled_session_stops_its_agent_at_once(tmp_path: Path, desk: Desk) -> None:
    with serving(tmp_path, team=desk.team) as server:
        session_id = start(server.client, BODY)
        [run] = desk.asked(1)
        assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        until(lambda: not run.left(), what="the end of the program and its child", seconds=1.5)
        assert answers(server, session_id) == []
        assert session(server.client, session_id)["outstandingTurns"] == []


def test_a_program_that_will_not_end_is_ended(tmp_path: Path) -> None:
    """It ignores SIGTERM: SIGKILL follows after two seconds."""
    desk = Desk(tmp_path, "stubborn")
    try:
        with serving(tmp_path, team=desk.team) as server:
            session_id = start(server.client, BODY)
            [run] = desk.asked(1)
            assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
            until(lambda: not run.left(), what="the end of the program and its child", seconds=4)
    finally:
        desk.clear()


def test_a_cancelled_session_stops_its_validation_at_once(tmp_path: Path) -> None:
    program = tmp_path / "validate.py"
    said = tmp_path / "pid"
    program.write_text(f"import os, time\nopen({str(said)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    with serving(tmp_path) as server:
        session_id = start(server.client, delivery(validationCommands=[[sys.executable, str(program)]]))
        pid = int(until(lambda: said.exists() and said.read_text(), what="its pid"))
        assert server.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        until(lambda: not running(pid), what="the end of the validation", seconds=1.5)


def test_a_cancellation_by_another_process_stops_the_agent_too(tmp_path: Path, desk: Desk) -> None:
    settings: dict[str, Any] = {"team": desk.team, "worker_slots": 1, "poll_seconds": 0.1}
    with serving(tmp_path, **settings) as first, serving(tmp_path, **settings) as second:
        session_id = start(first.client, BODY)
        [run] = desk.asked(1)
        other = second if run.parent == first.pid else first
        assert other.client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        until(lambda: not run.left(), what="the end of the program and its child", seconds=2)


# -- deadlines -----------------------------------------------------------------------------------------------------


def test_a_deadline_stops_the_agent_that_runs(tmp_path: Path, desk: Desk) -> None:
    """The budget minute has two seconds here; at most a second after them nothing runs any more."""
    with serving(tmp_path, team=desk.team, budget_minute=2) as server:
        session_id = start(server.client, BODY | {"maxMinutes": 1})
        [run] = desk.asked(1)
        found = ended(server.client, session_id)
        assert (found["finalSummary"], found["budget"]["reason"]) == ("failed_budget_exhausted", "minutes")
        assert 0 < _late(found) <= 1.0
        until(lambda: not run.left(), what="the end of the program and its child", seconds=1.5)
        assert answers(server, session_id) == []


def test_a_deadline_that_passed_while_nobody_served_holds_at_the_next_start(tmp_path: Path, desk: Desk) -> None:
    """The turn is not asked again: its time is over."""
    with serving(tmp_path, team=desk.team, budget_minute=3) as server:
        session_id = start(server.client, BODY | {"maxMinutes": 1})
        desk.asked(1)
        deadline = datetime.fromisoformat(session(server.client, session_id)["budget"]["deadlineAt"])
        server.kill()
        until(lambda: datetime.now(deadline.tzinfo) > deadline, what="the deadline")
        server.start()
        found = ended(server.client, session_id, seconds=1.5)
        assert (found["finalSummary"], found["budget"]["reason"]) == ("failed_budget_exhausted", "minutes")
        assert len(desk.asked(1)) == 1


def test_an_extension_lets_the_turn_that_runs_go_on(tmp_path: Path, desk: Desk) -> None:
    """Given before the deadline: nothing is stopped or asked again, and the first answer counts."""
    with serving(tmp_path, team=desk.team, budget_minute=2) as server:
        session_id = start(server.client, BODY | {"maxMinutes": 1})
        [run] = desk.asked(1)
        deadline = datetime.fromisoformat(session(server.client, session_id)["budget"]["deadlineAt"])
        more = {"addMinutes": 100, "reason": "nearly there"}
        assert server.client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
        until(lambda: (datetime.now(deadline.tzinfo) - deadline).total_seconds() > 1.2, what="the first deadline")
        assert run.left() == [run.pid, run.child]
        desk.may_answer()
        found = ended(server.client, session_id)
        assert (found["status"], found["iteration"]) == ("success", 1)
        [answer] = answers(server, session_id)
        assert (answer["attempt"], answer["reply"]["head"]) == (1, f"done by {run.pid}")


def _late(found: Json) -> float:
    """Seconds from the deadline to the end of the session."""
    end, deadline = (datetime.fromisoformat(text) for text in (found["updatedAt"], found["budget"]["deadlineAt"]))
    return (end - deadline).total_seconds()


# -- failures are outcomes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "settings", "code"),
    [
        ("import sys; sys.exit(3)", {}, "crash"),
        ("import os; os.kill(os.getpid(), 9)", {}, "crash"),
        ("pass", {}, "bad_output"),
        ("import time; time.sleep(60)", {"timeout_seconds": 0.3}, "timeout"),
        ("import time; print('x', flush=True); time.sleep(60)", {"idle_seconds": 0.3}, "idle"),
        ("print('x' * 100_000)", {"output_bytes": 1_000}, "limit"),
        ("open('src', 'w').close(); print('done'); import os; os.symlink('/etc', 'etc')", {}, None),
    ],
    ids=["exit code", "signal", "silence", "too long", "idle", "too much", "odd files"],
)
def test_however_an_agent_fails_the_session_says_so(
    tmp_path: Path, script: str, settings: Json, code: str | None
) -> None:
    found = team(tmp_path, argv=[sys.executable, "-c", script], **settings)
    with serving(tmp_path, team=found) as server:
        session_id = start(server.client, BODY)
        last = ended(server.client, session_id)
        told = events(server.client, session_id)
        assert last["status"] == ("failed" if code else "success")
        assert [failed["errorType"] for failed in only(told, "delivery.phase_failed")] == ([code] if code else [])
        assert [failed["failure"]["code"] for failed in only(told, "turn.failed")] == ([code] if code else [])
        if code:
            assert types(told)[-3:] == ["phase_skipped", "phase_skipped", "session_finished"]


def test_a_program_that_is_not_there_is_a_failure_with_its_name(tmp_path: Path) -> None:
    with serving(tmp_path, team=team(tmp_path, argv=["no-such-program-anywhere"])) as server:
        session_id = start(server.client, BODY)
        assert "no-such-program-anywhere" in ended(server.client, session_id)["lastError"]
        [failed] = only(events(server.client, session_id), "delivery.phase_failed")
        assert failed["errorType"] == "refused"


# -- the worker alone ----------------------------------------------------------------------------------------------


@dataclass
class Shop:
    """A worker with its store and writer, in this process."""

    worker: Worker
    writer: Writer

    def begin(self, session_id: str, **fields: Any) -> None:
        step = Step(stage="custom", command="true", argv=("true",))
        command = StartDelivery(task="t", file_paths=("a",), steps=(step,), limits=Limits(), **fields)
        self.writer.do_now(Order(session_id, command, actor="test", command_id=session_id, starts=True))

    def counted(self) -> dict[str, int]:
        return self.writer.store.turns.count()


@contextlib.contextmanager
def shop(folder: Path, found: Team | None = None, **settings: Any) -> Iterator[Shop]:
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    writer = Writer(store, Clock())
    worker = Worker(
        store=store,
        writer=writer,
        clock=Clock(),
        team=found or example(),
        data_dir=folder / "data",
        settings=WorkerSettings(**settings),
    )
    try:
        yield Shop(worker, writer)
    finally:
        store.close()


def test_a_turn_that_is_claimed_while_the_worker_stops_is_given_back(tmp_path: Path) -> None:
    """Nobody holds a turn that nobody works on."""
    with shop(tmp_path) as found:
        scenario, _ = Text.of('{"replies": {"planner": [{"text": "late", "delayMs": 86400000}]}}')
        found.begin("delivery-1", scenario=scenario)
        claiming, go_on = threading.Event(), threading.Event()
        claim = found.worker._store.turns.claim

        def slow_claim(*args: Any, **named: Any) -> Lease | None:
            claiming.set()
            assert go_on.wait(PATIENCE)
            return claim(*args, **named)

        found.worker._store.turns.claim = slow_claim  # type: ignore[method-assign]

        async def stop_meanwhile() -> None:
            running_worker = asyncio.create_task(found.worker.run())
            assert await asyncio.to_thread(claiming.wait, PATIENCE)
            found.worker.stop()
            go_on.set()
            await asyncio.wait_for(running_worker, PATIENCE)
            assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

        asyncio.run(stop_meanwhile())
        assert found.counted() == {"queued": 1, "running": 0}


def test_a_worker_that_lost_a_turn_to_itself_lets_the_first_attempt_go(tmp_path: Path, desk: Desk) -> None:
    """Its heart did not beat in time (a store that hung, say): the turn is taken anew, the old run is stopped, and a
    cancellation still finds the new one."""
    with shop(tmp_path, load(desk.team), lease=0.2, heartbeat=3600.0) as found:

        async def lose_and_cancel() -> None:
            found.begin("delivery-1", crew={"dev": "Dev", "planner": "Team", "architect": "Team", "designer": "Team"})
            working = asyncio.create_task(found.worker.run())
            found.worker.wake()
            await asyncio.to_thread(desk.asked, 2)
            order = Order("delivery-1", CancelDelivery(), actor="test", command_id="cancel")
            await found.writer.do(order)
            found.worker.seen(found.writer.store.log())
            await asyncio.to_thread(until, lambda: not _left(desk), what="the end of all runs")
            found.worker.stop()
            await working

        asyncio.run(lose_and_cancel())


def test_a_worker_survives_whatever_goes_wrong_when_it_looks_for_work(
    tmp_path: Path, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with shop(tmp_path, load(desk.team)) as found:
        claim, broken = found.worker._store.turns.claim, [ZeroDivisionError("broken"), OSError("broken too")]

        def claim_at_last(*args: Any, **named: Any) -> Lease | None:
            if broken:
                raise broken.pop()
            return claim(*args, **named)

        found.worker._store.turns.claim = claim_at_last  # type: ignore[method-assign]

        async def work() -> None:
            found.begin("delivery-1", crew={"dev": "Dev", "planner": "Team", "architect": "Team", "designer": "Team"})
            working = asyncio.create_task(found.worker.run())
            while not list(desk.folder.glob("*.asked")):
                found.worker.wake()
                await asyncio.sleep(0.01)
            found.worker.stop()
            await working

        asyncio.run(asyncio.wait_for(work(), PATIENCE))
        assert caplog.text.count("the worker could not take turns; trying again") == 2


def _left(desk: Desk) -> list[int]:
    return [pid for run in desk.asked(1) for pid in run.left()]
