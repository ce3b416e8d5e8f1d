"""A keeper works off what changed, in a thread of its own: one at a time, and nothing is lost."""

import logging
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

import pytest

from projections.engine import change_queue
from projections.engine.change_queue import ChangeQueue
from tests.api.server import until

LONG = 30.0
"""Seconds after which a test gives up waiting; nothing waits that long unless it hangs."""


class Shelf:
    """What is kept, in order; `full` fails as a disk does, `damaged` as a program does."""

    def __init__(self) -> None:
        self.tried: SimpleQueue[str] = SimpleQueue()
        self.kept: list[str] = []
        self.full: set[str] = set()
        self.damaged: set[str] = set()
        self.at_hand: Callable[[str], None] = lambda name: None

    def keep(self, name: str) -> None:
        self.tried.put(name)
        self.at_hand(name)
        if name in self.full:
            raise OSError("no space left on device")
        if name in self.damaged:
            raise ValueError("not what it should be")
        self.kept.append(name)

    def tries(self, number: int) -> list[str]:
        """The next tries, waited for."""
        return [self.tried.get(timeout=LONG) for _ in range(number)]


class Missed:
    """What was missed while nothing followed, and how often it was requested; the first `failures` requests fail."""

    def __init__(self, *names: str, failures: int = 0) -> None:
        self.names, self.failures, self.asked = names, failures, 0

    def __call__(self) -> Iterator[str]:
        self.asked += 1
        if self.asked <= self.failures:
            raise OSError("disk I/O error")
        return iter(self.names)


def keeper(shelf: Shelf, missed: Missed | None = None, *, retry_seconds: float = LONG) -> ChangeQueue[str]:
    return ChangeQueue(
        "shelf",
        what="the label",
        where="the cellar",
        keep=shelf.keep,
        missed=missed or Missed(),
        retry_seconds=retry_seconds,
    )


def threads() -> int:
    return sum(thread.name == "shelf" for thread in threading.enumerate())


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


# -- working off -------------------------------------------------------------------------------------------------------


def test_changes_are_kept_once_in_the_order_reported(shelf: Shelf) -> None:
    result = keeper(shelf)
    result.tell(["b", "a", "b"])
    result.tell(["c", "a"])
    assert result.work_off() == 0
    assert shelf.kept == ["b", "a", "c"]
    assert result.work_off() == 0
    assert shelf.kept == ["b", "a", "c"]


def test_a_failure_delays_nothing_else_and_is_retried_the_next_time(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    result = keeper(shelf)
    shelf.full = {"a"}
    result.tell(["a", "b"])
    with caplog.at_level(logging.ERROR):
        assert result.work_off() == 1
    assert [record.message for record in caplog.records] == ["the label of a cannot be written to the cellar"]
    assert shelf.kept == ["b"]
    shelf.full = set()
    assert result.work_off() == 0
    assert shelf.kept == ["b", "a"]


def test_a_damaged_session_is_skipped_until_it_changes_again(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    result = keeper(shelf)
    shelf.damaged = {"a"}
    result.tell(["a", "b"])
    with caplog.at_level(logging.ERROR):
        assert result.work_off() == 0
    assert [record.message for record in caplog.records] == ["the label of a cannot be made"]
    shelf.damaged = set()
    assert result.work_off() == 0
    assert shelf.kept == ["b"]
    result.tell(["a"])
    assert result.work_off() == 0
    assert shelf.kept == ["b", "a"]


def test_sessions_that_change_during_the_work_are_processed_again(shelf: Shelf) -> None:
    result = keeper(shelf)
    changes = iter([["a", "b"]])
    shelf.at_hand = lambda name: result.tell(next(changes, []))
    result.tell(["a"])
    result.work_off()
    assert shelf.kept == ["a"]
    result.work_off()
    assert shelf.kept == ["a", "a", "b"]


# -- the thread --------------------------------------------------------------------------------------------------------


def test_the_thread_begins_with_what_was_missed(shelf: Shelf) -> None:
    missed = Missed("a", "b")
    result = keeper(shelf, missed)
    result.start()
    assert shelf.tries(2) == ["a", "b"]
    result.tell(["c"])
    assert shelf.tries(1) == ["c"]
    result.stop()
    assert missed.asked == 1


def test_what_waits_may_be_forgotten_and_looked_for_again(shelf: Shelf) -> None:
    """As after the log has gone back: what is told of it may be gone."""
    queue = keeper(shelf, missed := Missed("a"))
    queue.tell(["b"])
    queue.forget()
    queue.start()
    assert shelf.tries(1) == ["a"]
    queue.look()
    assert shelf.tries(1) == ["a"]
    queue.stop()
    assert (shelf.kept, missed.asked) == (["a", "a"], 2)


def test_missed_notices_are_requested_until_they_are_known(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    result = keeper(shelf, Missed("a", failures=2), retry_seconds=0.0)
    with caplog.at_level(logging.ERROR):
        result.start()
        assert shelf.tries(1) == ["a"]
        result.stop()
    assert [record.message for record in caplog.records] == ["what is missing in the cellar cannot be looked for"] * 2


def test_what_failed_is_tried_again_after_a_pause(shelf: Shelf) -> None:
    result = keeper(shelf, retry_seconds=0.0)
    shelf.full = {"a"}
    result.start()
    result.tell(["a"])
    assert shelf.tries(3) == ["a", "a", "a"]
    shelf.full = set()
    result.stop()
    assert shelf.kept == ["a"]


def test_the_pause_between_two_attempts_does_not_depend_on_the_failures(shelf: Shelf) -> None:
    """Only a notification wakes the thread: here once, before it began."""
    result = keeper(shelf)
    shelf.full = {"a"}
    result.tell(["a"])
    result.start()
    assert shelf.tries(2) == ["a", "a"]
    with pytest.raises(Empty):
        shelf.tried.get(timeout=0.2)
    result.stop()
    assert shelf.tries(1) == ["a"]


def test_stopping_makes_one_last_attempt(shelf: Shelf) -> None:
    """Notifications that arrive during the work are handled before the end; those that still fail are left."""
    result = keeper(shelf)
    begun, go_on = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        begun.set()
        assert go_on.wait(LONG)

    shelf.at_hand = wait
    shelf.full = {"b"}
    result.start()
    result.tell(["a"])
    assert begun.wait(LONG)
    result.tell(["b", "c"])
    ending = threading.Thread(target=result.stop)
    ending.start()
    until(lambda: result.ending, what="the end")
    go_on.set()
    ending.join(LONG)
    assert not ending.is_alive()
    assert shelf.kept == ["a", "c"]
    assert shelf.tries(3) == ["a", "b", "c"]
    assert threads() == 0


def test_keeping_shows_that_the_end_is_near(shelf: Shelf) -> None:
    result = keeper(shelf)
    seen = list[bool]()
    shelf.at_hand = lambda name: seen.append(result.ending)
    result.tell(["a"])
    result.work_off()
    result.start()
    result.stop()
    assert (seen, result.ending) == ([False], True)
    result.start()
    assert result.ending is False
    result.stop()


def test_starting_and_stopping_are_idempotent_and_it_can_start_again(shelf: Shelf) -> None:
    missed = Missed()
    result = keeper(shelf, missed)
    result.stop()
    for life in ("first", "second"):
        result.start()
        result.start()
        assert threads() == 1
        result.tell([life])
        assert shelf.tries(1) == [life]
        result.stop()
        result.stop()
        assert threads() == 0
    assert shelf.kept == ["first", "second"]
    assert missed.asked == 2


def test_notices_between_two_runs_are_kept_by_the_second(shelf: Shelf) -> None:
    result = keeper(shelf)
    result.start()
    result.stop()
    result.tell(["a"])
    assert shelf.kept == []
    result.start()
    assert shelf.tries(1) == ["a"]
    result.stop()


def test_nothing_is_lost_between_waking_and_working(shelf: Shelf) -> None:
    """Many tell at once, each of them just while the thread takes what there is, falls asleep or wakes up."""
    result = keeper(shelf)
    result.start()

    def tell(of: int) -> None:
        for number in range(500):
            result.tell([f"{of}-{number}"])

    tellers = [threading.Thread(target=tell, args=(of,)) for of in range(4)]
    for teller in tellers:
        teller.start()
    assert len(set(shelf.tries(2_000))) == 2_000
    for teller in tellers:
        teller.join(LONG)
    result.tell(["last"])
    assert shelf.tries(1) == ["last"]
    result.stop()
    assert len(shelf.kept) == 2_001


def test_what_keeps_changing_is_kept_once_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(change_queue.time, "monotonic", lambda: clock[0])
    shelf = Shelf()
    result = ChangeQueue("shelf", what="the label", where="here", keep=shelf.keep, missed=Missed(), rest_seconds=2.0)
    result.tell(["jam"])
    clock[0] = 101.0
    result.tell(["jam", "tea"])
    for now, kept in ((102.5, []), (103.0, ["jam", "tea"]), (200.0, ["jam", "tea"])):
        clock[0] = now
        result._work_off(now)
        assert shelf.kept == kept


def test_what_never_rests_is_kept_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(change_queue.time, "monotonic", lambda: clock[0])
    shelf = Shelf()
    result = ChangeQueue("shelf", what="the label", where="here", keep=shelf.keep, missed=Missed(), rest_seconds=2.0)
    while not shelf.kept:
        result.tell(["jam"])
        clock[0] += 1.0
        result._work_off(clock[0])
    assert clock[0] == 2.0 * change_queue.LONGEST
    assert result.work_off() == 0


def test_a_thread_waits_for_rest() -> None:
    shelf = Shelf()
    result = ChangeQueue("shelf", what="the label", where="here", keep=shelf.keep, missed=Missed(), rest_seconds=0.05)
    result.start()
    result.tell(["jam"])
    assert shelf.tries(1) == ["jam"]
    result.stop()
