"""How fast it is, each figure with a lower bound from the same run (`./dev test -n 0 -m benchmark`)."""

import asyncio
import contextlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import orjson
import pytest

from adapters.clock import Clock
from adapters.store.errors import Fenced
from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.writer.writer import CommandEnvelope, Writer
from domain.delivery.commands import ExtendBudget, StartDelivery
from domain.kinds import fold
from domain.session.turns import RecordReply
from domain.session.validation import ValidationStep
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from tests.api.server import delivery, serving, start
from tests.benchmarks.measuring import (
    Place,
    Posts,
    Tell,
    bare_handler,
    commits_a_second,
    posts,
    resident_bytes,
    together,
)

pytestmark = pytest.mark.benchmark

CALLERS = 64
HTTP_SHARE = 0.08
"""Of a bare handler's speed on uvloop, by the seconds of one core, at least so much is left to commands."""
SCENARIO = {"replies": {"planner": [{"text": "late", "delayMs": 86_400_000}]}}
MORE = ExtendBudget(add_minutes=1, reason="more")


@contextlib.contextmanager
def written(folder: Path) -> Iterator[tuple[Store, Writer]]:
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    try:
        yield store, Writer(store, Clock())
    finally:
        store.close()


def begin(writer: Writer, session_id: str) -> None:
    """A session that waits for its planner, at version 3."""
    step = ValidationStep(stage="custom", command="true", argv=("true",))
    scenario, _ = Text.of(json.dumps(SCENARIO))
    command = StartDelivery(task="t", file_paths=("a",), steps=(step,), limits=BudgetLimits(), scenario=scenario)
    writer.do_now(CommandEnvelope(session_id, command, actor="test", command_id=session_id, starts=True))


def extend(writer: Writer, session_id: str, count: int = 1) -> None:
    for _ in range(count):
        writer.do_now(CommandEnvelope(session_id, MORE, actor="test", command_id="more"))


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def test_the_writer_keeps_up_with_the_disk(tmp_path: Path, tell: Tell) -> None:
    """64 callers share transactions: deciding, receipts and hashes included, at least half of what the disk does
    when it commits one bare row after the other."""
    with written(tmp_path) as (_, writer):
        ids = [f"delivery-{number}" for number in range(CALLERS)]
        for session_id in ids:
            begin(writer, session_id)
        writer.start()

        async def call(number: int, turn: int) -> None:
            key = f"{number}-{turn}"
            await writer.do(CommandEnvelope(ids[number], MORE, actor="test", command_id=key, key=key, fingerprint="f"))

        asyncio.run(together(CALLERS, 1_000, call))
        floor = commits_a_second(tmp_path)
        batches = writer.batches

        async def call_again(number: int, turn: int) -> None:
            key = f"again-{number}-{turn}"
            await writer.do(CommandEnvelope(ids[number], MORE, actor="test", command_id=key, key=key, fingerprint="f"))

        rate = asyncio.run(together(CALLERS, 6_400, call_again))
        size = 6_400 / (writer.batches - batches)
        writer.stop()
    tell(
        f"writer: {rate:,.0f} commands/s from {CALLERS} callers, {size:.0f} a commit; raw INSERT+COMMIT {floor:,.0f}/s"
    )
    assert rate > floor / 2


def test_http_keeps_up_with_a_bare_handler(tmp_path: Path, tell: Tell) -> None:
    """Strict decoding, deciding, committing, answering and the views behind it, beside a handler that does nothing: on
    the parser and loop that serve us, and on those of plain Python."""
    body = json.dumps({"addMinutes": 1, "reason": "more"}).encode()
    with (
        bare_handler("uvloop") as fast,
        bare_handler("h11") as plain,
        serving(tmp_path, worker_slots=CALLERS) as server,
    ):
        paths = [f"/api/sessions/{start(server.client, delivery(scenario=SCENARIO))}/budget" for _ in range(CALLERS)]
        places = (fast, plain, Place(server.port, server.pid))
        rounds, costs = [list[Posts]() for _ in places], [list[float]() for _ in places]
        for total in (1_280, *[3_200] * 5):  # in turns, so that the machine treats all alike; the first is to warm up
            for place, result, cost in zip(places, rounds, costs, strict=True):
                before = place.cpu_seconds()
                result.append(posts(place.port, paths, body, total=total))
                cost.append((place.cpu_seconds() - before) / total)
        few = [posts(server.port, paths[:16], body, total=1_600) for _ in range(3)]
    uvloop, h11, rate = (statistics.median(each.rate for each in result[1:]) for result in rounds)
    uvloop_cost, h11_cost, our_cost = (statistics.median(cost[1:]) for cost in costs)
    slow, slowest = (min(each.slow for each in result) for result in (few, rounds[-1]))
    tell(
        f"HTTP: {rate:,.0f} commands/s on {CALLERS} lines;"
        f" bare handler {uvloop:,.0f}/s on uvloop ({rate / uvloop:.0%}), {h11:,.0f}/s on h11 ({rate / h11:.0%});"
        f" p99 {slow:.0f} ms on 16 lines, {slowest:.0f} ms on {CALLERS};"
        f" of a core {our_cost * 1e6:.0f} µs each: {uvloop_cost / our_cost:.0%} and {h11_cost / our_cost:.0%}"
    )
    assert uvloop_cost / our_cost > HTTP_SHARE


def test_late_answers_do_not_hold_up_the_others(tmp_path: Path, tell: Tell) -> None:
    """One of 64 callers answers a turn that is not its own, again and again: refused before anything is written. By the
    seconds of one core: other work on the machine says nothing about ours."""

    def spent(writer: Writer, name: str, late: int) -> float:
        ids = [f"delivery-{name}-{number}" for number in range(CALLERS)]
        for session_id in ids:
            begin(writer, session_id)
        first = writer.load(ids[0])
        assert first is not None
        turn_id = next(iter(first.outstanding))
        stale = RecordReply(turn_id=turn_id, attempt=7, reply=Text.of("late")[0])

        async def call(number: int, turn: int) -> None:
            command = stale if number < late else MORE
            with contextlib.suppress(Fenced):
                await writer.do(CommandEnvelope(ids[number], command, actor="test", command_id=f"{number}-{turn}"))

        began = time.process_time()
        asyncio.run(together(CALLERS, 6_400, call))
        return time.process_time() - began

    with written(tmp_path) as (_, writer):
        writer.start()
        pairs = [(spent(writer, f"{number}-with", 1), spent(writer, f"{number}-without", 0)) for number in range(7)]
        writer.stop()
        conflicts = writer.conflicts
    share = min(alone for _, alone in pairs) / min(result for result, _ in pairs)
    tell(f"one late answer among {CALLERS}: {share:.2f} of the speed without; {conflicts} batches decided again")
    assert share > 0.6


def test_a_fold_costs_less_than_reading_its_events(tmp_path: Path, tell: Tell) -> None:
    """Compared with decoding rows, which is always needed, folding is cheap."""
    with written(tmp_path) as (store, writer):
        begin(writer, "delivery-1")
        extend(writer, "delivery-1", 5_000)
        reading = min(seconds(lambda: store.history("delivery-1")) for _ in range(3))
        history = store.history("delivery-1")
        pairs = [(recorded.event, recorded.metadata) for recorded in history]
        folding = min(seconds(lambda: fold("delivery", pairs)) for _ in range(20))
        texts = [orjson.dumps(recorded.wire()) for recorded in history]
        floor = min(seconds(lambda: [orjson.loads(text) for text in texts]) for _ in range(3))
    count = len(history)
    tell(
        f"fold: {count / folding:,.0f} events/s; read and decoded {count / reading:,.0f}/s;"
        f" orjson alone {count / floor:,.0f}/s"
    )
    assert folding < reading * 2


def test_a_command_costs_the_same_however_long_its_session_is(tmp_path: Path, tell: Tell) -> None:
    """At length 10 and 5,000, in turns, so that the disk treats both alike."""
    short: list[float] = []
    long: list[float] = []
    with written(tmp_path) as (_, writer):
        begin(writer, "delivery-long")
        extend(writer, "delivery-long", 5_000)
        for number in range(300):
            begin(writer, f"delivery-{number}")
            extend(writer, f"delivery-{number}", 7)
            short.append(seconds(partial(extend, writer, f"delivery-{number}")))
            long.append(seconds(lambda: extend(writer, "delivery-long")))
        commit = 1 / commits_a_second(tmp_path)
    ratio = statistics.median(long) / statistics.median(short)
    alone = statistics.median(short) / commit
    micros = statistics.median(short) * 1e6, statistics.median(long) * 1e6
    tell(
        f"a command: {micros[0]:.0f} µs at version 10, {micros[1]:.0f} µs at version 5,000: ratio {ratio:.2f};"
        f" {alone:.1f} times a raw commit"
    )
    assert ratio < 1.5
    assert alone < 5


def test_a_view_costs_the_same_however_long_its_session_is(tmp_path: Path, tell: Tell) -> None:
    """GET of a session that was looked at before: only what is new is folded."""
    short: list[float] = []
    long: list[float] = []
    with written(tmp_path) as (_, writer):
        for session_id, count in (("delivery-short", 7), ("delivery-long", 5_000)):
            begin(writer, session_id)
            extend(writer, session_id, count)
    with serving(tmp_path) as server:
        for _ in range(200):
            for name, result in (("short", short), ("long", long)):
                path = f"/api/sessions/delivery-{name}"
                server.client.post(f"{path}/budget", json={"addMinutes": 1, "reason": "more"})
                result.append(seconds(partial(server.client.get, path)))
    ratio = statistics.median(long) / statistics.median(short)
    micros = statistics.median(short) * 1e6, statistics.median(long) * 1e6
    tell(f"GET a session: {micros[0]:.0f} µs at version 10, {micros[1]:.0f} µs at version 5,000: ratio {ratio:.2f}")
    assert ratio < 1.5


def test_memory_stays_in_bounds(tmp_path: Path, tell: Tell) -> None:
    """More commands on known sessions use almost no more memory. SQLite's page caches fill up slowly and vary by 2 MB,
    so it takes many commands to see that."""
    body = json.dumps({"addMinutes": 1, "reason": "more"}).encode()
    with serving(tmp_path, worker_slots=CALLERS) as server:
        idle = resident_bytes(server.pid)
        paths = [f"/api/sessions/{start(server.client, delivery(scenario=SCENARIO))}/budget" for _ in range(CALLERS)]
        posts(server.port, paths, body, total=40_000)
        warm = resident_bytes(server.pid)
        posts(server.port, paths, body, total=60_000)
        after = resident_bytes(server.pid)
    grown = (after - warm) / 60_000
    tell(
        f"memory: {idle / 1e6:.0f} MB idle, {warm / 1e6:.0f} MB after 40,000 commands, then {grown:.0f} bytes a command"
    )
    assert after < 300_000_000
    assert grown < 100
