"""Scanning the waiting turns: each is found in the end, also after many that other workers have to take."""

import asyncio
from pathlib import Path

import pytest

from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.store.turn_scan import LIMIT, TurnScan
from adapters.store.turns import Lease
from adapters.turns.external.queue import TurnFilter, TurnQueue
from adapters.turns.lease.presence import Presence
from adapters.turns.lease.routing import Routing
from adapters.turns.lease.worker import Worker
from adapters.turns.settings import WorkerSettings
from adapters.writer.writer import Writer
from tests.adapters.many_turns import LEASE, TEAM, Reading, begin, many, sessions, taken
from tests.kit.stories import START

# -- walking along them --------------------------------------------------------------------------------------------


def test_a_query_returns_all_turns_while_they_are_few_and_the_next_one_again(store: Store) -> None:
    begin(store, "delivery-1", "delivery-2", "delivery-3")
    walk = TurnScan(store.turns, limit=4)
    for _ in range(3):
        assert sessions(walk.look(START)) == ["delivery-1", "delivery-2", "delivery-3"]
        assert walk.ended


def test_a_scan_continues_where_it_stopped_and_then_starts_over(store: Store) -> None:
    begin(store, *(f"delivery-{number}" for number in range(1, 6)))
    walk = TurnScan(store.turns, limit=2)
    looks = []
    for _ in range(5):
        looks.append([name[-1] for name in sessions(walk.look(START))])
    assert looks == [["1", "2"], ["1", "2", "3", "4"], ["3", "4", "5"], ["5"], ["1", "2"]]
    assert walk.ended


def test_the_next_turn_is_found_after_a_claimed_one(store: Store) -> None:
    begin(store, "delivery-1", "delivery-2", "delivery-3")
    walk = TurnScan(store.turns, limit=10)
    for name in ("delivery-1", "delivery-2", "delivery-3"):
        turn = next(walk.look(START))
        taken(store, turn.turn_id)
        assert turn.session_id == name
    assert sessions(walk.look(START)) == []


@pytest.mark.parametrize("how", ["given back", "lost", "late"])
def test_turns_that_open_behind_a_scan_are_found_in_the_next_one(store: Store, how: str) -> None:
    """Though a hundred others stand there, and more come all the time."""
    begin(store, *many(50), "delivery-ours", *many(50, "delivery-g"))
    lease = taken(store, "delivery-ours.t1", lease_ms=1)
    walk = TurnScan(store.turns, limit=10)
    for _ in range(10):
        assert "delivery-ours" not in sessions(walk.look(START))
    wanted, now = "delivery-ours", START
    match how:
        case "given back":
            store.turns.give_back(lease)
        case "lost":
            now = START + 1
        case _:
            wanted = "delivery-late"
            begin(store, wanted, at=START - 1_000)
    seen = []
    for number in range(12):
        begin(store, *many(5, f"delivery-new{number}-"), at=START + 1_000 * (number + 1))
        seen += sessions(walk.look(now))
    assert wanted in seen


def test_many_leased_turns_do_not_hide_the_next_free_one(store: Store) -> None:
    begin(store, *many(9), "delivery-ours")
    for name in many(9):
        taken(store, f"{name}.t1", "somebody")
    walk = TurnScan(store.turns, limit=3)
    seen = []
    for _ in range(4):
        seen += sessions(walk.look(START))
    assert seen == ["delivery-ours"]


def test_a_restarted_scan_begins_with_the_oldest_turn(store: Store) -> None:
    begin(store, *many(9))
    walk = TurnScan(store.turns, limit=3)
    for _ in range(2):
        list(walk.look(START))
    walk.restart()
    assert next(walk.look(START)).session_id == "delivery-f0000"


def test_a_look_reads_two_pages_at_most(store: Store) -> None:
    begin(store, *many(100))
    turns = Reading(store)
    walk = TurnScan(turns, limit=10)
    for _ in range(30):
        turns.read.clear()
        list(walk.look(START))
        assert len(turns.read) == 2 and max(turns.read) <= 10


# -- after many that others have to take ---------------------------------------------------------------------------


def test_the_worker_takes_its_turn_after_many_for_external_agents(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    begin(store, *many(2 * LIMIT + 50))
    begin(store, "delivery-ours", at=START + 10_000, crew={"planner": "Local"})
    worker = Worker(
        store=store,
        writer=Writer(store, lambda: START + 20_000),
        clock=lambda: START + 20_000,
        team=TEAM,
        data_dir=tmp_path / "data",
        settings=WorkerSettings(),
    )

    async def story() -> None:
        working = asyncio.create_task(worker.run())
        for _ in range(6_000):
            if store.turns.status("delivery-ours.t1") == ("delivery-ours", "done", 1, worker.name):
                break
            await asyncio.sleep(0.01)
        worker.stop()
        await working

    asyncio.run(story())
    assert store.turns.status("delivery-ours.t1") == ("delivery-ours", "done", 1, worker.name)
    untouched = [store.turns.status(f"{name}.t1") for name in many(2 * LIMIT + 50)]
    assert untouched == [(name, "queued", 0, None) for name in many(2 * LIMIT + 50)]
    store.close()


def test_the_turns_of_a_dead_worker_are_claimed_at_once_even_far_back_in_the_queue(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    begin(store, *many(LIMIT + 50))
    begin(store, "delivery-ours", at=START + 10_000, crew={"planner": "Local"})
    begin(store, *many(2 * LIMIT, "delivery-g"), at=START + 20_000)
    dead = Presence(tmp_path / "data" / "workers")
    dead._file.close()
    taken(store, "delivery-ours.t1", dead.name)
    worker = Worker(
        store=store,
        writer=Writer(store, lambda: START),
        clock=lambda: START,
        team=TEAM,
        data_dir=tmp_path / "data",
        settings=WorkerSettings(),
    )
    try:
        assert worker._claims.next() is None
        worker._claims.take_back()
        lease = worker._claims.next()
    finally:
        worker._presence.leave()
        store.close()
    assert lease is not None and (lease.turn_id, lease.attempt) == ("delivery-ours.t1", 2)


@pytest.mark.parametrize("seconds", [0, 20])
def test_an_external_agent_gets_its_turn_after_many_that_it_does_not_want(store: Store, seconds: float) -> None:
    """Also when it asks only once, while others wait that nothing is there for."""
    begin(store, *many(2 * LIMIT + 50), crew={"planner": "Other"})
    begin(store, "delivery-1", at=START + 10_000, crew={"planner": "Remote"})

    async def story() -> Lease | None:
        whose = Routing(TEAM, Writer(store, lambda: START).load)
        desk = TurnQueue(store.turns, whose, lambda: START, LEASE)
        nobody = asyncio.create_task(desk.next("nobody", TurnFilter(roles=frozenset({"dev"})), 20))
        value = await desk.next("me", TurnFilter(agents=frozenset({"remote"})), seconds)
        desk.close()
        assert await nobody is None
        return value

    value = asyncio.run(story())
    assert value is not None and (value.turn_id, value.worker) == ("delivery-1.t1", "me")
    assert store.turns.count() == {"queued": 2 * LIMIT + 50, "running": 1}


def test_an_empty_queue_is_reported_only_after_a_full_scan(store: Store) -> None:
    """And it does not wait for the next time that the queue looks of its own accord."""
    begin(store, *many(2 * LIMIT + 50))
    turns = Reading(store)

    async def story() -> Lease | None:
        desk = TurnQueue(turns, Routing(TEAM, Writer(store, lambda: START).load), lambda: START, LEASE, poll=3600)
        return await desk.next("me", TurnFilter(agents=frozenset({"somebody"})), 0)

    assert asyncio.run(asyncio.wait_for(story(), 60)) is None
    ahead = turns.read[1::2]
    assert ahead == [LIMIT, LIMIT, 50]
