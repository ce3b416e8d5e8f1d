"""Following the log (P10, P12): nothing missed and nothing repeated, whatever other processes follow."""

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.store.port import Store
from adapters.store.sqlite.views import SqliteViews, ViewsUnavailable
from domain.session.record import Omitted, Recorded
from projections import follow
from projections.catalogue import PROJECTIONS, dump
from projections.engine.fold import ViewProblem
from projections.engine.ports import Database, Projection, each
from projections.follow import Follower
from projections.sessions import overview
from tests.projections.given import Story, Twin, merged, store_events, success

LONG = 60.0
"""Seconds that no test reaches."""


def positions(heard: list[Recorded]) -> list[int]:
    return [recorded.position for recorded in heard]


def counter(name: str, *, poison: int | None = None) -> Projection:
    """A view that counts events and cannot take the one at `poison`."""

    def apply(db: Database, recorded: Recorded) -> None:
        db.execute(f"INSERT INTO {name} VALUES (?)", (recorded.position,))
        if recorded.position == poison:
            raise KeyError("a poison event")

    return Projection(name, (name,), (f"CREATE TABLE IF NOT EXISTS {name} (n BIGINT PRIMARY KEY)",), each(apply))


def counted(views: SqliteViews, name: str) -> list[int]:
    with views.reading() as db:
        return [row[0] for row in db.execute(f"SELECT n FROM {name} ORDER BY n").fetchall()]


# -- catching up ---------------------------------------------------------------------------------------------------


def test_a_start_does_not_chase_a_growing_log(store: Store, views: SqliteViews) -> None:
    store_events(store, success().events)
    follower = Follower(store, views, page=10)
    assert follower.catch_up(25) == 30
    assert follower.catch_up(25) == 30
    assert follower.catch_up() == 66


def test_views_catch_up_to_the_head_of_a_log_that_was_there_before(store: Store, views: SqliteViews) -> None:
    story = success()
    store_events(store, story.events)
    follower = Follower(store, views, page=10)
    assert (follower.position, follower.lag()) == (0, 66)
    assert follower.catch_up() == 66
    assert (follower.position, follower.lag()) == (66, 0)
    names = ["overview"]
    reports = ["summary", "budgets", "quality", "convergence", "decisions", "costs", "waits", "merges"]
    assert follower.lags() == dict.fromkeys([*names, *(f"report_{name}" for name in reports)], 0)
    with views.reading() as db:
        assert [item.version for item in overview.page(db).items] == [66]


def test_an_empty_log_is_followed(store: Store, views: SqliteViews) -> None:
    follower = Follower(store, views)
    assert follower.catch_up() == 0
    assert follower.problems() == []


def test_views_continue_where_the_last_process_stopped(views: SqliteViews) -> None:
    log = merged(success())
    Follower(log, views, [counter("seen")]).catch_up()
    log.add(success("delivery-2").events)
    Follower(log, views, [counter("seen")]).catch_up()
    assert counted(views, "seen") == list(range(1, 133))


@pytest.mark.parametrize("page", [1, 2, 65, 66, 67, 500])
def test_every_size_of_page_folds_every_event_once(views: SqliteViews, page: int) -> None:
    Follower(merged(success()), views, [counter("seen")], page=page).catch_up()
    assert counted(views, "seen") == list(range(1, 67))


def test_only_a_new_view_is_folded_from_the_beginning(views: SqliteViews) -> None:
    log = merged(success())
    Follower(log, views, [counter("old")]).catch_up()
    heard: list[Recorded] = []
    follower = Follower(log, views, [counter("old"), counter("new")], page=10)
    follower.listeners.append(heard.extend)
    assert follower.position == 0
    follower.catch_up()
    assert counted(views, "old") == counted(views, "new") == list(range(1, 67))
    assert heard == []


# -- listeners -----------------------------------------------------------------------------------------------------


def test_listeners_are_notified_of_events_after_the_follower_was_created(views: SqliteViews) -> None:
    log, story = Twin(), success()
    log.add(story.events[:30])
    follower = Follower(log, views, page=7)
    heard: list[Recorded] = []
    follower.listeners.append(heard.extend)
    log.add(story.events[30:])
    follower.catch_up()
    assert positions(heard) == list(range(31, 67))


def test_listeners_are_notified_after_the_views_are_written(views: SqliteViews) -> None:
    log = Twin()
    follower = Follower(log, views, [counter("seen")])
    seen: list[list[int]] = []
    follower.listeners.append(lambda _: seen.append(counted(views, "seen")))
    log.add(Story().start().events)
    follower.catch_up()
    assert seen == [[1, 2, 3]]


def test_listeners_do_not_wait_for_views_that_are_folded_again(views: SqliteViews) -> None:
    """After an upgrade, say: events in the meantime are reported at once, each once and in order."""
    log, story, heard = Twin(), success(), list[Recorded]()
    log.add(story.events[:30])
    follower = Follower(log, views, page=10)
    assert follower.listen(heard.extend) == 30
    log.add(story.events[30:33])
    follower.catch_up(seconds=0)
    assert (follower.behind_start, follower.position, positions(heard)) == (True, 10, [31, 32, 33])
    log.add(story.events[33:35])
    assert follower.catch_up() == 35
    assert (follower.behind_start, positions(heard)) == (False, [31, 32, 33, 34, 35])


def test_a_failing_listener_stops_no_other_listener_and_no_view(
    views: SqliteViews, caplog: pytest.LogCaptureFixture
) -> None:
    log, heard = Twin(), list[Recorded]()

    def fail(_: Sequence[Recorded]) -> None:
        raise RuntimeError("a listener's own trouble")

    follower = Follower(log, views)
    follower.listeners += [fail, heard.extend]
    log.add(Story().start().events)
    assert follower.catch_up() == 3
    assert positions(heard) == [1, 2, 3]
    assert "a listener failed on events 1 to 3" in caplog.text


def test_a_listener_joins_between_two_events(views: SqliteViews) -> None:
    log, story = Twin(), success()
    follower = Follower(log, views)
    log.add(story.events[:10])
    follower.catch_up()
    heard: list[Recorded] = []
    assert follower.listen(heard.extend) == 10
    log.add(story.events[10:12])
    follower.catch_up()
    assert positions(heard) == [11, 12]


def test_two_followers_report_every_event_once_and_fold_each_view_once(store: Store, views: SqliteViews) -> None:
    """Server and command line on one file: the first one folds, and both notify their own listeners."""
    other_views = SqliteViews(views.path)
    here, there = Follower(store, views, [counter("seen")]), Follower(store, other_views, [counter("seen")])
    heard: tuple[list[Recorded], list[Recorded]] = ([], [])
    here.listeners.append(heard[0].extend)
    there.listeners.append(heard[1].extend)
    events = success().events
    for number, recorded in enumerate(events):
        store_events(store, [recorded])
        if number % 3 == 0:
            here.catch_up()
        if number % 7 == 0:
            there.catch_up()
    here.catch_up()
    there.catch_up()
    other_views.close()
    assert positions(heard[0]) == positions(heard[1]) == counted(views, "seen") == list(range(1, 67))


def test_two_followers_run_at_once_while_events_are_written(store: Store, tmp_path: Path) -> None:
    databases = [SqliteViews(tmp_path / "views.db", busy_seconds=LONG) for _ in range(2)]
    followers = [Follower(store, views, page=5, poll_seconds=0.01) for views in databases]
    heard: list[list[Recorded]] = [[], []]
    for follower, ear in zip(followers, heard, strict=True):
        follower.listeners.append(ear.extend)
        follower.start()
    for name in ("delivery-1", "delivery-2", "delivery-3"):
        store_events(store, success(name).events)
        followers[0].wake()

    async def both() -> list[bool]:
        return list(await asyncio.gather(*(follower.wait_for(198, LONG) for follower in followers)))

    assert asyncio.run(both()) == [True, True]
    for follower in followers:
        follower.stop()
        assert follower.problems() == []
    live = dump(databases[0])
    fresh = SqliteViews(tmp_path / "fresh.db")
    Follower(store, fresh).catch_up()
    assert live == dump(fresh)
    assert positions(heard[0]) == positions(heard[1]) == list(range(1, 199))
    for views in (*databases, fresh):
        views.close()


# -- the thread and those who wait ---------------------------------------------------------------------------------


def test_waiting_for_a_position_ends_when_the_views_have_it(store: Store, views: SqliteViews) -> None:
    follower = Follower(store, views, poll_seconds=LONG)
    follower.start()

    async def story() -> list[bool]:
        waiting = [asyncio.create_task(follower.wait_for(position, LONG)) for position in (3, 1, 2)]
        await asyncio.to_thread(store_events, store, Story().start().events)
        follower.wake()
        result = await asyncio.gather(*waiting)
        with views.reading() as db:
            assert overview.item(db, "delivery-1") is not None
        return list(result)

    assert asyncio.run(story()) == [True, True, True]
    follower.stop()


def test_events_gather_only_until_a_reader_waits_for_one(
    store: Store, views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "GATHERING", LONG)
    monkeypatch.setattr(follow, "LONGEST_GATHERING", LONG)
    follower = Follower(store, views)
    follower.start()
    store_events(store, Story().start().events)
    follower.wake()
    assert asyncio.run(follower.wait_for(3, LONG / 2)) is True
    follower.stop()


def test_views_that_were_behind_go_on_with_what_is_new(
    store: Store, views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "LONGEST_POLL", LONG)
    events = Story().start().events
    store_events(store, events[:1])
    follower = Follower(store, views, poll_seconds=LONG)
    store_events(store, events[1:])
    follower.start()
    until = time.monotonic() + LONG / 2
    while follower.position < len(events):
        assert time.monotonic() < until
        time.sleep(0.01)
    follower.stop()


def test_a_position_that_is_reached_is_not_waited_for(views: SqliteViews) -> None:
    follower = Follower(merged(success()), views)
    follower.catch_up()
    assert asyncio.run(follower.wait_for(66, 0.0)) is True


def test_waiting_for_a_position_ends_at_the_time_limit(views: SqliteViews) -> None:
    follower = Follower(Twin(), views)
    follower.start()
    assert asyncio.run(follower.wait_for(1, 0.01)) is False
    follower.stop()


def test_readers_wait_for_views_that_lag_although_the_event_is_old(views: SqliteViews) -> None:
    """A process that starts on a long log has folded nothing yet: nothing may be answered from empty views."""
    follower = Follower(merged(success()), views)
    assert asyncio.run(follower.wait_for(1, 0.0)) is False


def test_a_waiter_that_leaves_is_forgotten(views: SqliteViews) -> None:
    log = Twin()
    follower = Follower(log, views)

    async def leave() -> None:
        waiting = asyncio.create_task(follower.wait_for(1, LONG))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(leave())
    assert follower._waiters == []
    log.add(Story().start().events)
    assert follower.catch_up() == 3


def test_an_event_is_found_without_a_wake_up(store: Store, views: SqliteViews) -> None:
    """P10: the wake-up is a hint, the poll is the source."""
    follower = Follower(store, views, poll_seconds=0.01)
    output = threading.Event()
    follower.listeners.append(lambda _: output.set())
    follower.start()
    store_events(store, Story().start().events)
    assert output.wait(LONG)
    follower.stop()


def test_a_poll_comes_at_least_every_second(views: SqliteViews) -> None:
    assert Follower(Twin(), views, poll_seconds=LONG)._poll == 1.0


def test_a_follower_stops_and_starts_again(views: SqliteViews) -> None:
    log, heard = Twin(), list[Recorded]()
    follower = Follower(log, views)
    follower.listeners.append(heard.extend)
    for name in ("delivery-1", "delivery-2"):
        follower.start()
        follower.start()
        log.add(Story(name).start().events)
        assert asyncio.run(follower.wait_for(log.head(), LONG)) is True
        follower.stop()
        follower.stop()
    assert positions(heard) == [1, 2, 3, 4, 5, 6]


# -- trouble -------------------------------------------------------------------------------------------------------


def test_a_poison_event_parks_its_view_and_no_other(views: SqliteViews) -> None:
    log = merged(success())
    follower = Follower(log, views, [counter("good"), counter("bad", poison=20)], page=50)
    assert follower.catch_up() == 66
    assert counted(views, "good") == list(range(1, 67))
    assert counted(views, "bad") == list(range(1, 20))
    assert follower.problems() == [ViewProblem("bad", 20, "KeyError: 'a poison event'")]
    assert follower.lags() == {"good": 0, "bad": 47}
    log.add(success("delivery-2").events)
    assert follower.catch_up() == 132
    assert counted(views, "bad") == list(range(1, 20))


def test_readers_do_not_wait_for_a_parked_view(views: SqliteViews) -> None:
    follower = Follower(merged(success()), views, [counter("bad", poison=1)])
    follower.catch_up()
    assert asyncio.run(follower.wait_for(66, 0.0)) is True
    assert counted(views, "bad") == []


def test_a_parked_view_stays_parked_after_a_restart_until_it_is_rebuilt(views: SqliteViews) -> None:
    log = merged(success())
    Follower(log, views, [counter("view", poison=20)]).catch_up()
    mended = Follower(log, views, [counter("view")])
    mended.catch_up()
    assert [problem.subject for problem in mended.problems()] == ["view"]
    assert mended.rebuild() == 66
    assert mended.problems() == []
    assert counted(views, "view") == list(range(1, 67))


def test_an_event_that_cannot_be_read_is_skipped_and_reported(views: SqliteViews) -> None:
    log = merged(success())
    log.broken = {20, 21, 66}
    heard: list[Recorded] = []
    follower = Follower(log, views, [counter("seen")], page=30)
    follower._published = 0
    follower.listeners.append(heard.extend)
    assert follower.catch_up() == 66
    readable = [position for position in range(1, 66) if position not in (20, 21)]
    assert counted(views, "seen") == positions(heard) == readable
    assert follower.problems() == [
        ViewProblem("log", 20, "ValueError: event 20 does not fit"),
        ViewProblem("log", 21, "ValueError: event 21 does not fit"),
        ViewProblem("log", 66, "ValueError: event 66 does not fit"),
    ]
    log.broken = set()
    assert follower.rebuild() == 66
    assert follower.problems() == []
    assert counted(views, "seen") == list(range(1, 67))


def test_a_session_whose_beginning_cannot_be_read_parks_no_view(views: SqliteViews) -> None:
    log = merged(success(), success("delivery-2"))
    log.broken = {1}
    follower = Follower(log, views)
    assert follower.catch_up() == 132
    assert [problem.subject for problem in follower.problems()] == ["log"]
    with views.reading() as db:
        assert [item.id for item in overview.page(db).items] == ["delivery-2"]


def test_an_unknown_topic_in_the_store_is_skipped(store: Store, views: SqliteViews) -> None:
    store_events(store, Story().start().events)
    with store._transaction() as connection:
        connection.execute("UPDATE events SET topic = 'delivery.from_the_future' WHERE position = 2")
    follower = Follower(store, views)
    assert follower.catch_up() == 3
    [problem] = follower.problems()
    assert (problem.subject, problem.position) == ("log", 2)
    assert "cannot be read: There is no event type 'delivery.from_the_future'." in problem.error


class Unwilling(SqliteViews):
    """Views whose disk fails inside the next transactions."""

    failures = 0

    @contextmanager
    def transaction(self) -> Any:
        with super().transaction() as db:
            yield db
            if self.failures:
                self.failures -= 1
                raise ViewsUnavailable("disk I/O error")


def test_a_failing_database_parks_nothing_and_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    views = Unwilling(tmp_path / "views.db")
    log, heard = Twin(), list[Recorded]()
    follower = Follower(log, views, [counter("seen")], poll_seconds=0.01)
    follower.listeners.append(heard.extend)
    log.add(success().events)
    views.failures = 3
    with pytest.raises(ViewsUnavailable):
        follower.catch_up()
    assert (follower.position, positions(heard)) == (0, [])
    follower.start()
    assert asyncio.run(follower.wait_for(66, LONG)) is True
    follower.stop()
    assert follower.problems() == []
    assert counted(views, "seen") == positions(heard) == list(range(1, 67))
    assert "following the log failed after position 0" in caplog.text
    assert caplog.records[-1].getMessage() == "the log is followed again, up to position 66"
    views.close()


@pytest.mark.parametrize("others", [(), ("bad",)], ids=["alone", "beside-a-poisoned-one"])
def test_an_unwritable_database_inside_a_fold_parks_nothing(views: SqliteViews, others: Sequence[str]) -> None:
    def apply(_: Database, __: Recorded) -> None:
        raise ViewsUnavailable("database or disk is full")

    full = Projection("full", (), (), each(apply))
    follower = Follower(merged(success()), views, [*(counter(name, poison=1) for name in others), full])
    with pytest.raises(ViewsUnavailable):
        follower.catch_up()
    assert follower.problems() == []


def test_a_view_that_takes_each_event_alone_but_not_together_is_an_error_of_ours(views: SqliteViews) -> None:
    def apply(_: Database, events: Sequence[Recorded]) -> None:
        if len(events) > 1:
            raise KeyError("too many")

    follower = Follower(merged(success()), views, [Projection("odd", (), (), apply)])
    with pytest.raises(RuntimeError, match="The view odd is no pure fold: KeyError: 'too many'"):
        follower.catch_up()
    assert follower.problems() == []


def test_a_loop_that_keeps_failing_is_a_problem(views: SqliteViews, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Twin()
    follower = Follower(log, views, poll_seconds=0.001)
    failed = threading.Event()

    def broken(*, after: int = 0, limit: int = 500, omitted: Omitted | None = None) -> Sequence[Recorded]:
        if follower._failure is not None:
            failed.set()
        raise ConnectionError("the log is gone")

    monkeypatch.setattr(log, "log", broken)
    follower.start()
    assert failed.wait(LONG)
    assert follower.problems() == [ViewProblem("follower", 0, "ConnectionError: the log is gone")]
    assert follower.failing == "ConnectionError: the log is gone"
    follower.stop()


def test_every_view_has_a_name_and_tables_of_its_own() -> None:
    names = [projection.name for projection in PROJECTIONS]
    tables = [table for projection in PROJECTIONS for table in projection.tables]
    assert len(set(names)) == len(names)
    assert len(set(tables)) == len(tables)
    assert not {"progress", "unreadable"} & set(tables)
