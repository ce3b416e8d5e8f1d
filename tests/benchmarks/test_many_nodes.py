"""Many callers and two nodes on one PostgreSQL whose commits take 20 ms longer, and a long list of sessions."""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.clock import Clock
from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.store.postgres import connection
from adapters.writer.writer import CommandEnvelope, Writer
from domain.delivery.commands import StartDelivery
from domain.session.validation import ValidationStep
from domain.values.budget import BudgetLimits
from tests.api.server import inside
from tests.benchmarks.measuring import Tell, together
from tests.benchmarks.test_speed import MORE, begin
from tests.kit.postgres import cluster, require

pytestmark = pytest.mark.benchmark

CALLERS, FEW = 64, 8
"""Few, so that two nodes in one process share its time without waiting for each other."""
COMMIT_SECONDS = 0.02
SESSIONS = 25_000


class Node(NamedTuple):
    """A process, as far as the log can tell."""

    store: Store
    writer: Writer
    ids: list[str]


class Rate(NamedTuple):
    """Commands a second, and seconds of the processor for each."""

    commands: float
    cpu: float


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    require()
    yield cluster().database(tmp_path)
    cluster().free(tmp_path)


@pytest.fixture
def slow_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to each COMMIT comes later, as from a database far away."""
    plain = connection.PatientConnection.execute

    def execute(self: connection.PatientConnection, query: object, *rest: object, **more: object) -> object:
        result = plain(self, query, *rest, **more)  # type: ignore[arg-type]
        if query == "COMMIT":
            time.sleep(COMMIT_SECONDS)
        return result

    monkeypatch.setattr(connection.PatientConnection, "execute", execute)


def node(opened: ExitStack, url: str, name: str) -> Node:
    store = opened.enter_context(closing(open_store(url)))
    writer = Writer(store, Clock())
    ids = [f"delivery-{name}-{number}" for number in range(CALLERS)]
    for session_id in ids:
        begin(writer, session_id)
    writer.start()
    opened.callback(writer.stop)
    return Node(store, writer, ids)


def measured(nodes: list[Node], callers: int, total: int) -> Rate:
    """So many callers on each node, all at once."""

    async def call(writer: Writer, ids: list[str], number: int, _: int) -> None:
        await writer.do(CommandEnvelope(ids[number], MORE, actor="test", command_id="more"))

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*(together(callers, total, partial(call, each.writer, each.ids)) for each in nodes))

    cpu, began = time.process_time(), time.perf_counter()
    asyncio.run(all_of_them())
    count = total // callers * callers * len(nodes)
    return Rate(count / (time.perf_counter() - began), (time.process_time() - cpu) / count)


def _best(rounds: Sequence[Rate]) -> Rate:
    """What the machine gave when it had least else to do."""
    return Rate(max(each.commands for each in rounds), min(each.cpu for each in rounds))


@pytest.mark.usefixtures("slow_commits")
def test_many_callers_share_commits_and_two_nodes_share_the_wait(url: str, tell: Tell) -> None:
    with ExitStack() as opened:
        one, two = (node(opened, url, name) for name in ("one", "two"))
        measured([one, two], CALLERS, 640)
        rounds = [
            (
                measured([one], 1, 20),
                measured([one], CALLERS, 960),
                measured([one], FEW, 160),
                measured([one, two], FEW, 160),
            )
            for _ in range(8)
        ]
    single, many, alone, both = (_best(result) for result in zip(*rounds, strict=True))
    tell(
        f"commits of 20 ms: one caller {single.commands:,.0f}/s, {CALLERS} callers {many.commands:,.0f}/s"
        f" ({many.commands / single.commands:.0f} x); {FEW} callers {alone.commands:,.0f}/s, as many on each of two"
        f" nodes {both.commands:,.0f}/s ({both.commands / alone.commands:.2f} x); processor {alone.cpu * 1e6:.0f} µs a"
        f" command on one node, {both.cpu * 1e6:.0f} on two ({both.cpu / alone.cpu:.2f} x)"
    )
    assert many.commands >= 20 * single.commands
    assert both.commands >= 1.8 * alone.commands
    assert both.cpu <= 1.1 * alone.cpu


def test_lists_and_reports_of_25_000_sessions_take_less_than_100_ms(tmp_path: Path, tell: Tell) -> None:
    step = ValidationStep(stage="custom", command="true", argv=("true",))
    command = StartDelivery(task="t", file_paths=("a",), steps=(step,), limits=BudgetLimits())
    with closing(open_store(f"sqlite:///{tmp_path / 'hansard.db'}")) as store:
        writer = Writer(store, Clock(), waiting=SESSIONS)
        writer.start()

        async def begin_all() -> None:
            names = [f"delivery-{number:05}" for number in range(SESSIONS)]
            for first in range(0, SESSIONS, 1_000):
                await asyncio.gather(
                    *(
                        writer.do(CommandEnvelope(name, command, actor="test", command_id=name, starts=True))
                        for name in names[first : first + 1_000]
                    )
                )

        asyncio.run(begin_all())
        writer.stop()
    with inside(tmp_path, work=False) as client:
        result = {}
        for path in ("/api/sessions", "/api/sessions?status=running&q=t", "/api/reports/costs", "/api/reports/summary"):
            times = []
            for _ in range(5):
                began = time.perf_counter()
                answer = client.get(path)
                times.append((time.perf_counter() - began) * 1000)
                assert answer.status_code == 200, answer.text
            result[path] = (statistics.median(times), times[0])
    figures = (f"{path} {ms:.0f} ms, the first time {first:.0f} ms" for path, (ms, first) in result.items())
    tell(f"{SESSIONS:,} sessions: " + "; ".join(figures))
    assert max(ms for ms, _ in result.values()) < 100
