"""The turns that wait, read a page at a time and taken one by one: at the same cost however many there are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.store.turn_changes import STEP, NewTurn, change_of
from adapters.store.turn_scan import TurnScan
from adapters.store.turns import TurnPage, TurnPlace
from tests.adapters.many_turns import LEASE, begin, sessions, taken
from tests.adapters.stores_under_test import delivery_story, write
from tests.kit.stories import START


def opened(store: Store, now: int = START) -> list[str]:
    return sessions(store.turns.open(now, limit=100).turns)


# -- the table, turn by turn ---------------------------------------------------------------------------------------


def test_open_turns_are_waiting_or_have_an_expired_lease(store: Store) -> None:
    begin(store, "delivery-a", at=START + 1)
    begin(store, "delivery-b", at=START + 2)
    assert opened(store) == ["delivery-a", "delivery-b"]
    taken(store, "delivery-a.t1")
    assert opened(store) == ["delivery-b"]
    assert opened(store, START + LEASE - 1) == ["delivery-b"]
    assert opened(store, START + LEASE) == ["delivery-a", "delivery-b"]


def test_open_turns_are_read_a_page_at_a_time(store: Store) -> None:
    """Those that are in hand count, but are not shown."""
    for name in ("delivery-1", "delivery-2", "delivery-3", "delivery-4"):
        begin(store, name, at=START)
    taken(store, "delivery-2.t1")
    places = [TurnPlace(START + number * STEP, f"delivery-{number + 1}.t1") for number in range(4)]
    first = store.turns.open(START, limit=3)
    assert (sessions(first.turns), first.end) == (["delivery-1", "delivery-3"], places[2])
    second = store.turns.open(START, after=places[2], limit=3)
    assert (sessions(second.turns), second.end) == (["delivery-4"], None)
    assert store.turns.open(START, after=places[3], limit=3) == TurnPage([], None)
    upto = store.turns.open(START, upto=places[0], limit=3)
    assert (sessions(upto.turns), upto.end) == (["delivery-1"], None)


def test_an_owner_with_many_open_turns_waits_for_one_with_few(store: Store) -> None:
    """But not for ever: what came before a turn's rank stays before it."""
    for number in range(200):
        begin(store, f"delivery-{number}", actor="person:ada")
    begin(store, "delivery-bob", at=START + 1_000, actor="person:bob")
    begin(store, "delivery-bobs", at=START + 2_000, actor="person:bob")
    assert opened(store)[:5] == ["delivery-0", "delivery-bob", "delivery-1", "delivery-bobs", "delivery-2"]
    begin(store, "delivery-carl", at=START + 5 * STEP + 1, actor="person:carl")
    assert opened(store)[7:9] == ["delivery-5", "delivery-carl"]


def test_a_worker_that_is_busy_with_one_owner_takes_the_next_turn_of_another_at_once(store: Store) -> None:
    for number in range(200):
        begin(store, f"delivery-{number:03}", actor="person:ada")
    scan = TurnScan(store.turns, limit=20)
    order = [taken(store, next(scan.look(START)).turn_id).session_id for _ in range(60)]
    begin(store, "delivery-bob", at=START + 1, actor="person:bob")
    order += [taken(store, next(scan.look(START)).turn_id).session_id for _ in range(5)]
    assert "delivery-bob" in order[60:]


def test_a_lease_table_without_ranks_is_upgraded(tmp_path: Path) -> None:
    begin(first := open_store(f"sqlite:///{tmp_path / 'log.db'}"), "delivery-1", "delivery-2")
    with first._transaction() as connection:
        for index in ("turns_ranked", "turns_owned"):
            connection.execute(f"DROP INDEX {index}")
        for column in ("owner", "rank"):
            connection.execute(f"ALTER TABLE turns DROP COLUMN {column}")
    first.close()
    second = open_store(f"sqlite:///{tmp_path / 'log.db'}")
    assert [turn.rank for turn in second.turns.open(START, limit=9).turns] == [START, START + 1]
    begin(second, "delivery-3", actor="person:ada")
    assert opened(second) == ["delivery-1", "delivery-3", "delivery-2"]
    second.close()


def test_all_turns_of_a_session_are_its_owners_and_long_ones_come_later(store: Store) -> None:
    story = delivery_story()
    store.append([write(story.begun, actor="person:ada")])
    begin(store, "delivery-bob", at=START + 1, actor="person:bob")
    lease = taken(store, "delivery-1.t1")
    answered = story.answer()
    store.append([write(answered, after=3, at=START + 2, actor="agent:Ada")])
    assert lease.session_id == "delivery-1"
    begin(store, "delivery-adas", at=START + 3, actor="person:ada")
    ranks = {turn.session_id: turn.rank - turn.requested_at for turn in store.turns.open(START, limit=9).turns}
    assert ranks == {"delivery-bob": 0, "delivery-1": 0, "delivery-adas": STEP}
    changes = [change_of(each, session_id="delivery-1", version=1, at=START) for each in story.events]
    requested = {change.role: change.long for change in changes if isinstance(change, NewTurn)}
    assert requested["planner"] is False


def test_a_turn_is_taken_by_one(store: Store) -> None:
    begin(store, "delivery-1")
    first = taken(store, "delivery-1.t1", "one")
    assert (first.worker, first.attempt, first.until) == ("one", 1, START + LEASE)
    assert store.turns.take("delivery-1.t1", "two", now=START + LEASE - 1, lease_ms=LEASE) is None
    second = taken(store, "delivery-1.t1", "two", now=START + LEASE)
    assert (second.worker, second.attempt) == ("two", 2)
    assert store.turns.take("delivery-9.t1", "two", now=START, lease_ms=LEASE) is None


def test_only_the_attempt_that_holds_a_turn_gives_it_back(store: Store) -> None:
    begin(store, "delivery-1")
    first = taken(store, "delivery-1.t1", lease_ms=1)
    second = taken(store, "delivery-1.t1", now=START + 1)
    assert not store.turns.give_back(first)
    assert store.turns.give_back(second)
    assert not store.turns.give_back(second)
    assert opened(store) == ["delivery-1"]


def test_the_status_of_a_turn_is_reported(store: Store) -> None:
    assert store.turns.status("delivery-1.t1") is None
    begin(store, "delivery-1")
    assert store.turns.status("delivery-1.t1") == ("delivery-1", "queued", 0, None)
    taken(store, "delivery-1.t1", "me")
    assert store.turns.status("delivery-1.t1") == ("delivery-1", "running", 1, "me")


# -- what it costs -------------------------------------------------------------------------------------------------


def insert(store: Store, count: int, state: str) -> None:
    """Turns of sessions without an owner, in tens of the same instant."""
    rows = [(f"x-{state}{n}.t1", f"x-{state}{n}", state, START + 1 + n // 10) for n in range(count)]
    statement = "INSERT INTO turns VALUES (?, ?, 3, 'ask', 'Ada', 'dev', ?, 0, NULL, NULL, NULL, ?4, '', ?4, NULL)"
    with store._transaction() as connection:
        connection.executemany(statement, rows)


@contextmanager
def counted(store: Store) -> Iterator[list[int]]:
    """How many steps SQLite takes."""
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    with store._reading() as reader:  # the one that was given back last is the next to be taken
        connections = (reader, store._writer)
    for connection in connections:
        connection.set_progress_handler(step, 1)
    yield steps
    for connection in connections:
        connection.set_progress_handler(None, 0)


COSTS: dict[str, Callable[[Store], object]] = {
    "look": lambda store: list(TurnScan(store.turns, limit=10).look(START + LEASE)),
    "behind": lambda store: store.turns.open(START, after=TurnPlace(START + 3, "x"), limit=10),
    "waiting": lambda store: store.turns.waiting(START),
    "take": lambda store: store.turns.take("delivery-1.t1", "me", now=START, lease_ms=1),
    "workers": lambda store: store.turns.workers(),
    "release": lambda store: store.turns.release("somebody"),
    "overdue": lambda store: store.turns.overdue(START),
}


def steps_among(folder: Path, what: str, count: int, *states: str) -> int:
    """Where so many turns are in each of these states; one more waits if any does."""
    store = open_store(f"sqlite:///{folder / f'{count}.db'}")
    if "queued" in states:
        begin(store, "delivery-1")
    for state in states:
        insert(store, count, state)
    with counted(store) as steps:
        COSTS[what](store)
    store.close()
    return steps[0]


@pytest.mark.parametrize("what", COSTS)
def test_a_query_costs_the_same_however_many_turns_there_are(tmp_path: Path, what: str) -> None:
    few, many = (steps_among(tmp_path, what, count, "queued", "done") for count in (100, 3_000))
    assert 0 < few == many


@pytest.mark.parametrize("what", ["look", "waiting", "workers"])
def test_an_empty_queue_is_seen_at_the_same_cost_however_many_turns_there_were(tmp_path: Path, what: str) -> None:
    few, many = (steps_among(tmp_path, what, count, "done") for count in (100, 3_000))
    assert 0 < few == many
