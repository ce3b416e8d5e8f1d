"""What another process learns of an attempt that runs: its figures, from the turn's row, while it holds the turn."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.store.errors import StoreError
from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.turns.live import Live, RunningAttempt
from adapters.turns.turn_usage import keep_usage
from domain.delivery.commands import CancelDelivery
from domain.session.attempt_ends import WorkSoFar
from domain.values.base import Usage
from tests.adapters.many_turns import begin, taken
from tests.adapters.stores_under_test import Database, delivery_story, store_events, write
from tests.kit.postgres import cluster
from tests.kit.stories import START

TURN = "delivery-1.t1"
USED = Usage(input_tokens=700, output_tokens=30)


def process(store: Store, now: int = START) -> Live:
    return Live(lambda: now, turns=store.turns)


async def found(live: Live, expected: Usage) -> WorkSoFar:
    """Returns what is kept as soon as it is what is expected."""
    for _ in range(500):
        work = live.so_far(TURN)
        if work is not None and work.usage == expected:
            return work
        await asyncio.sleep(0.01)
    pytest.fail(f"kept: {live.so_far(TURN)}")


def running(live: Live, story: Callable[[RunningAttempt], Awaitable[None]], number: int = 1) -> None:
    """Let an attempt run in a process meanwhile."""

    async def run() -> None:
        assert live.turns is not None
        with live.running(TURN, number) as attempt:
            async with keep_usage(live.turns, attempt):
                await story(attempt)

    asyncio.run(run())


def test_another_process_finds_what_a_running_attempt_has_reported(store: Store) -> None:
    begin(store, "delivery-1")
    taken(store, TURN)
    here, there = process(store), process(store, START + 2_500)

    async def story(attempt: RunningAttempt) -> None:
        assert await found(there, Usage()) == WorkSoFar(attempt=1, seconds=2.5)  # its program has said nothing yet
        attempt.meter(lambda: USED)
        attempt.transcribe('{"usage": …}')
        assert await found(there, USED) == WorkSoFar(attempt=1, seconds=2.5, usage=USED)

    running(here, story)


def test_the_figures_end_with_the_lease(store: Store) -> None:
    begin(store, "delivery-1")
    lease = taken(store, TURN, lease_ms=1)
    store.turns.keep_usage(TURN, 1, "one")
    store.turns.keep_usage(TURN, 2, "of nobody")
    assert store.turns.usage(TURN) == (1, "one")
    assert store.turns.give_back(lease)
    assert store.turns.usage(TURN) is None
    taken(store, TURN, now=START + 1, lease_ms=1)
    assert store.turns.usage(TURN) is None
    store.turns.keep_usage(TURN, 1, "late")
    store.turns.keep_usage(TURN, 2, "two")
    assert store.turns.usage(TURN) == (2, "two")
    taken(store, TURN, now=START + 2)
    assert store.turns.usage(TURN) is None


def test_an_ended_turn_keeps_no_figures(store: Store) -> None:
    story = delivery_story()
    store.append([write(story.begun)])
    taken(store, TURN)
    store.turns.keep_usage(TURN, 1, "{}")
    store_events(store, story, story.when(CancelDelivery()))
    store.turns.keep_usage(TURN, 1, "{}")
    assert store.turns.usage(TURN) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"since": "x"}', '{"since": 0, "usage": {"inputTokens": -5}}'])
def test_figures_that_cannot_be_read_are_none(tmp_path: Path, damage: str) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    begin(store, "delivery-1")
    taken(store, TURN)
    store.turns.keep_usage(TURN, 1, damage)
    assert process(store).so_far(TURN) is None
    store.close()


def test_figures_that_cannot_be_kept_stop_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    begin(store, "delivery-1")
    taken(store, TURN)
    works = store.turns.keep_usage

    def away(*_: object) -> None:
        raise StoreError("away")

    store.turns.keep_usage = away  # type: ignore[method-assign]

    async def story(attempt: RunningAttempt) -> None:
        while "could not be kept" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
            await asyncio.sleep(0.01)
        store.turns.keep_usage = works  # type: ignore[method-assign]
        attempt.transcribe("a line")
        await found(process(store), Usage())

    running(process(store), story)
    store.close()


def test_a_lease_table_of_before_has_the_column_as_soon_as_it_is_opened(database: Database) -> None:
    begin(first := database.open(), "delivery-1")
    taken(first, TURN)
    first.close()
    dropped = "ALTER TABLE {}turns DROP COLUMN used"
    match type(first).__name__:
        case "SqliteStore":
            with (again := database.open())._transaction() as connection:  # type: ignore[attr-defined]
                connection.execute(dropped.format(""))
            again.close()
        case "PostgresStore":
            name = cluster().database(database.path).split("?")[0].rpartition("/")[2]
            cluster().sql(dropped.format("hansard."), database=name)
    store = database.open()
    store.turns.keep_usage(TURN, 1, "{}")
    assert store.turns.usage(TURN) == (1, "{}")
    begin(store, "delivery-2")
    assert taken(store, "delivery-2.t1").attempt == 1
