"""Views can be thrown away (P13): live and rebuilt ones are the same bytes."""

import hashlib
import json
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.store.port import Store
from adapters.store.sqlite.views import SqliteViews
from adapters.writer.newest import NewestEvents
from domain.session.record import Omitted, Recorded
from domain.values.base import DomainEvent
from projections.catalogue import PROJECTIONS, dump, fingerprint
from projections.engine.ports import Database, Projection, each
from projections.follow import Follower
from projections.sessions import fold, overview
from tests.projections import walks as mixed
from tests.projections.given import Story, Twin, exhausted, merged, store_events, success, wander


def everything() -> Twin:
    return merged(
        success("delivery-1"), exhausted("delivery-2").extended(1), *(wander(n, f"delivery-w{n}") for n in range(8))
    )


def test_live_views_are_rebuilt_byte_for_byte(views: SqliteViews) -> None:
    log, source = Twin(), everything()
    follower = Follower(log, views)
    for recorded in source.events:
        log.add([recorded])
        follower.catch_up()
    live = dump(views)
    assert follower.rebuild() == log.head()
    assert dump(views) == live
    assert len(json.loads(live)["report_summary"]) > 0


@pytest.mark.parametrize("page", [1, 2, 7, 64, 100_000])
def test_the_length_of_stretches_makes_no_difference(tmp_path: Path, page: int) -> None:
    """Sessions of every kind, folded event by event, in stretches, and in one go."""
    dumps = []
    with closing(mixed.walked(tmp_path, 4, 150)) as store:
        for name, size in (("one.db", 13), ("other.db", page)):
            with closing(SqliteViews(tmp_path / name)) as views:
                follower = Follower(store, views, page=size)
                follower.catch_up()
                assert follower.problems() == []
                dumps.append(dump(views))
    assert dumps[0] == dumps[1]


def test_views_of_events_as_they_were_committed_are_those_of_the_log(views: SqliteViews, tmp_path: Path) -> None:
    """A server folds what it has just written without reading it again: nothing in memory differs from the log."""
    committed: list[Recorded] = []
    with closing(mixed.wander(tmp_path, 4, 150, hear=committed.extend).store) as store:
        newest = NewestEvents(store, most=len(committed))
        newest.keep(committed)
        assert newest.log(limit=1_000_000) == committed == store.log(limit=1_000_000)
        Follower(newest, views, page=50).catch_up()
        live = dump(views)
        Follower(store, views).rebuild()
        assert dump(views) == live


def test_a_view_misses_nothing_by_what_it_is_about(tmp_path: Path) -> None:
    """Handed every event there is, it would be the same."""
    dumps = []
    with closing(mixed.walked(tmp_path, 5, 250)) as store:
        for name, views_of in (("one.db", PROJECTIONS), ("all.db", [_of_all(result) for result in PROJECTIONS])):
            with closing(SqliteViews(tmp_path / name)) as views:
                Follower(store, views, views_of).catch_up()
                dumps.append(dump(views))
    assert dumps[0] == dumps[1]


def _of_all(projection: Projection) -> Projection:
    return replace(projection, about=(DomainEvent,))


def test_a_deleted_file_is_folded_again(tmp_path: Path) -> None:
    log = everything()
    dumps = []
    for name in ("one.db", "two.db"):
        views = SqliteViews(tmp_path / name)
        Follower(log, views).catch_up()
        dumps.append(dump(views))
        views.close()
    assert dumps[0] == dumps[1]


def test_a_dump_is_canonical(views: SqliteViews) -> None:
    projection = Projection(
        "b", ("b", "a"), ("CREATE TABLE a (x TEXT, n BIGINT)", "CREATE TABLE b (x TEXT)"), apply=each(_no)
    )
    with views.transaction() as db:
        for statement in projection.schema:
            db.execute(statement)
        for row in (("글", None), ("a", 2), ("a", 1)):
            db.execute("INSERT INTO a VALUES (?, ?)", row)
    assert dump(views, [projection]) == '{"a":[["a",1],["a",2],["글",null]],"b":[]}'.encode()


def test_comparing_views_takes_no_more_memory_for_more_rows(views: SqliteViews) -> None:
    projection = Projection("b", ("b",), ("CREATE TABLE b (n BIGINT, x TEXT)",), apply=each(_no))

    def compared(rows: int) -> int:
        """The largest memory that was in use while views of so many more rows were read."""
        with views.transaction() as db:
            for number in range(rows):
                db.execute("INSERT INTO b VALUES (?, ?)", (number % 97, f"{number} {'x' * 500}"))
        tracemalloc.start()
        try:
            assert fingerprint(views, [projection]) == hashlib.sha256(dump(views, [projection])).hexdigest()
            tracemalloc.reset_peak()
            fingerprint(views, [projection])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with views.transaction() as db:
        db.execute(projection.schema[0])
    few = compared(100)
    assert compared(5_000) < few + 50_000


def _no(db: Database, recorded: Recorded) -> None:
    raise AssertionError("nothing is folded here")


def test_readers_see_the_old_views_until_the_new_ones_are_ready(views: SqliteViews) -> None:
    log = merged(success(), success("delivery-2"))
    seen: list[int] = []

    def apply(db: Database, recorded: Recorded) -> None:
        fold.apply(db, [recorded])
        with views.reading() as reading:
            seen.append(len(overview.page(reading).items))

    Follower(log, views, [fold.OVERVIEW]).catch_up()
    watching = replace(fold.OVERVIEW, apply=each(apply))
    Follower(log, views, [watching]).rebuild()
    assert seen == [2] * 132


def test_a_rebuild_that_dies_leaves_the_old_views_and_the_next_one_works(
    views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = merged(*(success(f"delivery-{n}") for n in range(8)))
    follower = Follower(log, views)
    follower.catch_up()
    before = dump(views)
    healthy, calls = log.log, list[int]()

    def dying(*, after: int = 0, limit: int = 500, omitted: Omitted | None = None) -> Sequence[Recorded]:
        calls.append(after)
        if after:
            raise ConnectionError("the log went away")
        return healthy(after=after, limit=min(limit, 500))

    monkeypatch.setattr(log, "log", dying)
    with pytest.raises(ConnectionError):
        follower.rebuild()
    assert len(calls) == 2
    assert dump(views) == before
    monkeypatch.undo()
    assert follower.rebuild() == log.head()
    assert dump(views) == before


CHILD = """
import sys
from dataclasses import replace
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from projections.sessions import fold
from projections.catalogue import PROJECTIONS
from projections.follow import Follower
from projections.engine.ports import each

def apply(db, recorded):
    fold.apply(db, [recorded])
    if recorded.position == int(sys.argv[3]):
        print("here", flush=True)
        sys.stdin.read()

views = [replace(fold.OVERVIEW, apply=each(apply)), *PROJECTIONS[1:]]
Follower(SqliteStore(sys.argv[1]), SqliteViews(sys.argv[2]), views).rebuild()
"""


def test_a_process_killed_in_the_middle_of_a_rebuild_leaves_the_old_views(store: Store, views: SqliteViews) -> None:
    store_events(store, success().events)
    follower = Follower(store, views)
    follower.catch_up()
    before = dump(views)
    for position in ("1", "33", "66"):
        arguments = [sys.executable, "-c", CHILD, str(store.path), str(views.path), position]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"here\n"
            child.kill()
        assert dump(views) == before
        assert follower.rebuild() == 66
        assert dump(views) == before


def test_a_rebuild_repairs_what_was_tampered_with(views: SqliteViews) -> None:
    follower = Follower(everything(), views)
    follower.catch_up()
    before = dump(views)
    with views.transaction() as db:
        db.execute("UPDATE overview SET status = 'success'")
        db.execute("DELETE FROM report_summary")
    assert dump(views) != before
    follower.rebuild()
    assert dump(views) == before


def test_views_are_rebuilt_while_others_follow_and_events_are_written(store: Store, tmp_path: Path) -> None:
    ours, theirs, fresh = (SqliteViews(tmp_path / name, busy_seconds=60.0) for name in ("v.db", "v.db", "fresh.db"))
    here, there = (
        Follower(store, ours, page=20, poll_seconds=0.001),
        Follower(store, theirs, page=20, poll_seconds=0.001),
    )
    heard: list[Recorded] = []
    there.listeners.append(heard.extend)
    store_events(store, success("delivery-0").events)
    here.start()
    there.start()
    stories = [success(f"delivery-{n}").events for n in range(1, 6)]
    writing = threading.Thread(target=lambda: [store_events(store, events) for events in stories])
    writing.start()
    rebuilt = 0
    while writing.is_alive() or not rebuilt:
        here.rebuild()
        rebuilt += 1
    writing.join()
    here.stop()
    there.stop()
    assert here.catch_up() == there.catch_up() == 66 * 6
    assert here.problems() == there.problems() == []
    Follower(store, fresh).catch_up()
    assert dump(ours) == dump(fresh)
    assert [recorded.position for recorded in heard] == list(range(1, 66 * 6 + 1))
    for views in (ours, theirs, fresh):
        views.close()


def test_views_of_another_shape_are_emptied_and_folded_by_following(views: SqliteViews) -> None:
    log = everything()
    Follower(log, views).catch_up()
    before = dump(views)
    wider = replace(
        fold.OVERVIEW,
        tables=("overview_old",),
        schema=("CREATE TABLE IF NOT EXISTS overview_old (session_id TEXT, word TEXT)",),
        apply=each(lambda db, found: db.execute("INSERT INTO overview_old VALUES (?, 'x')", (found.session_id,))),
    )
    Follower(log, views, [wider, *PROJECTIONS[1:]]).catch_up()
    follower = Follower(log, views)
    assert (follower.position, follower.behind_start) == (0, True)
    assert follower.catch_up() == log.head()
    assert dump(views) == before


def test_a_newer_version_of_a_view_is_rebuilt(views: SqliteViews) -> None:
    log = merged(success())
    Follower(log, views).catch_up()

    def apply(db: Database, recorded: Recorded) -> None:
        fold.apply(db, [recorded])
        db.execute("UPDATE overview SET origin = 'second version'")

    newer = replace(fold.OVERVIEW, apply=each(apply), version=fold.OVERVIEW.version + 1)
    Follower(log, views, [newer]).catch_up()
    with views.reading() as db:
        assert overview.page(db).items[0].origin == "second version"


@pytest.mark.parametrize("length", [0, 3, 70])
def test_views_of_another_log_are_rebuilt(views: SqliteViews, length: int) -> None:
    """A log that was put back to an earlier day, or another one altogether, has no views yet."""
    Follower(merged(success("delivery-old")), views).catch_up()
    log = Twin()
    log.add(
        [*success("delivery-new").events, *Story("delivery-other").start().events, *Story("delivery-x").start().events][
            :length
        ]
    )
    follower = Follower(log, views)
    follower.catch_up()
    with views.reading() as db:
        ids = [item.id for item in overview.page(db).items]
    assert ids == ["delivery-x", "delivery-other", "delivery-new"][3 - {0: 0, 3: 1, 70: 3}[length] :]
