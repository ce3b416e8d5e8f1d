"""The turns that wait, read a page at a time and taken one by one: at the same cost however many there are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.store import Store, open_store
from adapters.store.turns import TurnPage, TurnPlace, TurnScan
from tests.adapters.many_turns import LEASE, begin, sessions, taken
from tests.kit.stories import START


def opened(store: Store, now: int = START) -> list[str]:
    return sessions(store.turns.open(now, limit=100).turns)


# -- the table, turn by turn ---------------------------------------------------------------------------------------


def test_open_turns_are_those_that_wait_or_whose_lease_ran_out(store: Store) -> None:
    begin(store, "delivery-b", at=START + 2)
    begin(store, "delivery-a", at=START + 1)
    assert opened(store) == ["delivery-a", "delivery-b"]
    taken(store, "delivery-a.t1")
    assert opened(store) == ["delivery-b"]
    assert opened(store, START + LEASE - 1) == ["delivery-b"]
    assert opened(store, START + LEASE) == ["delivery-a", "delivery-b"]


def test_open_turns_are_read_a_page_at_a_time(store: Store) -> None:
    """Turns of the same instant stand in the order of their ids; those that are in hand count, but are not shown."""
    for name in ("delivery-3", "delivery-1", "delivery-2", "delivery-4"):
        begin(store, name, at=START)
    taken(store, "delivery-2.t1")
    first = store.turns.open(START, limit=3)
    assert (sessions(first.turns), first.end) == (["delivery-1", "delivery-3"], TurnPlace(START, "delivery-3.t1"))
    second = store.turns.open(START, after=TurnPlace(START, "delivery-3.t1"), limit=3)
    assert (sessions(second.turns), second.end) == (["delivery-4"], None)
    assert store.turns.open(START, after=TurnPlace(START, "delivery-4.t1"), limit=3) == TurnPage([], None)
    upto = store.turns.open(START, upto=TurnPlace(START, "delivery-1.t1"), limit=3)
    assert (sessions(upto.turns), upto.end) == (["delivery-1"], None)


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


def test_how_a_turn_stands_is_told(store: Store) -> None:
    assert store.turns.status("delivery-1.t1") is None
    begin(store, "delivery-1")
    assert store.turns.status("delivery-1.t1") == ("delivery-1", "queued", 0, None)
    taken(store, "delivery-1.t1", "me")
    assert store.turns.status("delivery-1.t1") == ("delivery-1", "running", 1, "me")


# -- what it costs -------------------------------------------------------------------------------------------------


def insert(store: Store, count: int, state: str) -> None:
    """Turns of nobody's sessions, by tens of the same instant."""
    rows = [(f"x-{state}{n}.t1", f"x-{state}{n}", state, START + 1 + n // 10) for n in range(count)]
    statement = "INSERT INTO turns VALUES (?, ?, 3, 'ask', 'Ada', 'dev', ?, 0, NULL, NULL, NULL, ?)"
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
def test_a_look_costs_the_same_however_many_turns_wait_or_ever_were(tmp_path: Path, what: str) -> None:
    few, many = (steps_among(tmp_path, what, count, "queued", "done") for count in (100, 3_000))
    assert 0 < few == many


@pytest.mark.parametrize("what", ["look", "waiting", "workers"])
def test_to_see_that_nothing_waits_costs_the_same_however_many_turns_there_were(tmp_path: Path, what: str) -> None:
    few, many = (steps_among(tmp_path, what, count, "done") for count in (100, 3_000))
    assert 0 < few == many
