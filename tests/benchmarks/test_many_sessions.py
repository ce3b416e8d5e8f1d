"""Ten thousand open sessions: what they cost a server that waits, and how soon it works after a restart."""

import sqlite3
import time
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path

import pytest

from adapters.writer.writer import CommandEnvelope
from domain.delivery.commands import StartDelivery
from domain.session.validation import ValidationStep
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from tests.api.server import Server, serving, until
from tests.benchmarks.measuring import Tell, resident_bytes
from tests.benchmarks.test_speed import SCENARIO, written

pytestmark = [pytest.mark.benchmark, pytest.mark.nightly]

SESSIONS, SLOTS = 10_000, 256


def fill(folder: Path) -> None:
    """Each session waits for its planner, who says nothing for a day."""
    step = ValidationStep(stage="custom", command="true", argv=("true",))
    scenario, _ = Text.of(str(SCENARIO).replace("'", '"'))
    command = StartDelivery(task="t", file_paths=("a",), steps=(step,), limits=BudgetLimits(), scenario=scenario)
    with written(folder) as (_, writer):
        writer.start()
        names = [f"delivery-{number}" for number in range(SESSIONS)]
        for begin in range(0, SESSIONS, 1_000):
            wait(
                [
                    writer.submit(CommandEnvelope(name, command, actor="test", command_id=name, starts=True))
                    for name in names[begin : begin + 1_000]
                ]
            )
        writer.stop()


def threads(server: Server) -> int:
    """Of the server's process (Linux)."""
    return sum(1 for _ in Path(f"/proc/{server.pid}/task").iterdir())


def test_ten_thousand_open_sessions_and_as_many_turns_over_a_restart(tmp_path: Path, tell: Tell) -> None:
    (tmp_path / "empty").mkdir()
    with serving(tmp_path / "empty", worker_slots=SLOTS) as empty:
        idle, idle_threads = resident_bytes(empty.pid), threads(empty)
        empty.kill()
        floor = empty.start()
    fill(tmp_path)
    with serving(tmp_path, worker_slots=SLOTS) as server, closing(sqlite3.connect(server.database)) as log:

        def running() -> bool:
            [count] = log.execute("SELECT count(*) FROM turns WHERE state = 'running'").fetchone()
            return bool(count == SLOTS)

        until(running, what="256 turns", seconds=60)
        server.kill()
        began = time.monotonic()
        ready = server.start()
        until(running, what="256 turns", seconds=60)
        again = time.monotonic() - began
        time.sleep(2)
        size, count = resident_bytes(server.pid), threads(server)
    tell(
        f"{SESSIONS:,} open sessions: {size / 2**20:.0f} MiB and {count} threads, {idle / 2**20:.0f} MiB and"
        f" {idle_threads} without; ready {ready:.1f} s after kill -9 (an empty log: {floor:.1f} s), {SLOTS} turns run"
        f" again after {again:.1f} s"
    )
    assert size < idle + 60 * 2**20
    assert count < idle_threads + 8
    assert ready < floor + 5
