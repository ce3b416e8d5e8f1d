"""Snapshots spare time and change nothing: what is read with them is what a fold of the whole history makes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.port import Store
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from domain.kinds import KINDS, fold
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.values.budget import BudgetLimits
from projections.catalogue import dump
from projections.engine import snapshots as module
from projections.engine.snapshots import Snapshots
from projections.follow import Follower
from projections.record.records import Record, Records
from projections.record.sessions import Sessions
from tests.api.server import until
from tests.projections.given import Story, store_events
from tests.projections.walks import walked

FEW = 7
"""A snapshot at every seventh version, so that short histories have some."""


class Reading:
    """The log, and how many events were read from it."""

    def __init__(self, store: Store) -> None:
        self._store, self.events = store, 0

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> list[Recorded]:
        story = self._store.history(session_id, after=after, upto=upto)
        self.events += len(story)
        return story


@pytest.fixture
def log(store: Store, views: SqliteViews) -> Iterator[Reading]:
    """A delivery of 46 events, folded into the views."""
    story = Story().start(limits=BudgetLimits(max_iterations=20)).planned()
    for _ in range(2):
        story.answers("Done.").validates(exit_code=1)
    store_events(store, story.answers("Done.").events)
    assert store.version("delivery-1") == 46
    Follower(store, views).catch_up()
    yield Reading(store)


def taken(log: Reading, store: Store, views: SqliteViews) -> Snapshots:
    """Snapshots of all there is."""
    result = Snapshots(log, views, store.rows.hash_of, every=FEW)
    result.seen(store.history("delivery-1"))
    assert result.write() == 0
    return result


def kept(views: SqliteViews) -> list[tuple[str, int]]:
    with views.reading() as db:
        return [
            tuple(row) for row in db.execute("SELECT what, version FROM snapshots ORDER BY what, version").fetchall()
        ]


def folded(store: Store, session_id: str, version: int) -> Session | None:
    history = store.history(session_id, upto=version)
    return fold(kind_of(session_id), [(recorded.event, recorded.metadata) for recorded in history])


def test_a_snapshot_is_kept_at_every_so_many_versions(log: Reading, store: Store, views: SqliteViews) -> None:
    taken(log, store, views)
    assert kept(views) == [("session", version) for version in (7, 14, 21, 28, 35, 42)]


def test_a_session_at_any_version_costs_fewer_events_than_lie_between_two_snapshots(
    log: Reading, store: Store, views: SqliteViews
) -> None:
    snapshots = taken(log, store, views)
    for version in range(1, 47):
        log.events = 0
        assert Sessions(log, snapshots).get("delivery-1", version) == folded(store, "delivery-1", version)
        assert log.events == version % FEW
    log.events = 0
    assert Sessions(log, snapshots).get("delivery-1") == folded(store, "delivery-1", 46)
    assert log.events == 4


def test_what_is_remembered_is_nearer_than_a_snapshot(log: Reading, store: Store, views: SqliteViews) -> None:
    sessions = Sessions(log, taken(log, store, views))
    sessions.get("delivery-1")
    log.events = 0
    assert sessions.get("delivery-1", 46) == folded(store, "delivery-1", 46)
    assert log.events == 0


@pytest.mark.parametrize("version", [0, 47, 49, 10_000])
def test_an_unknown_version_is_none_with_snapshots_too(
    log: Reading, store: Store, views: SqliteViews, version: int
) -> None:
    assert Sessions(log, taken(log, store, views)).get("delivery-1", version) is None


@pytest.mark.nightly
def test_sessions_of_every_kind_come_back_as_they_were(tmp_path: Path) -> None:
    """With and without snapshots, at every version: equal, and written the same."""
    kinds = set()
    with closing(walked(tmp_path, 5, 250)) as store, closing(SqliteViews(tmp_path / "v.db")) as views:
        Follower(store, views).catch_up()
        snapshots = Snapshots(store, views, store.rows.hash_of, every=5)
        snapshots.seen(store.log(limit=100_000))
        assert snapshots.write() == 0
        for session_id in store.rows.streams():
            for version in range(1, store.version(session_id) + 1):
                result = Sessions(store, snapshots).get(session_id, version)
                assert result == (plain := Sessions(store).get(session_id, version))
                assert repr(result) == repr(plain)
                kinds |= {kind_of(session_id)} if version >= 5 else set()
    assert kinds == {*KINDS, "channel"}


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    compared = 0
    with closing(walked(tmp_path, 12, 200)) as store, closing(SqliteViews(tmp_path / "v.db")) as views:
        Follower(store, views).catch_up()
        for session_id in (name for name in store.rows.streams() if kind_of(name) in KINDS):
            snapshots = Snapshots(store, views, store.rows.hash_of, every=5)
            newest = store.version(session_id)
            Records(store, snapshots).of(session_id, max(1, newest - 3))
            snapshots.write()
            result, plain = Records(store, snapshots).of(session_id, newest), Records(store).of(session_id, newest)
            assert result == plain
            assert repr(result) == repr(plain)
            compared += newest >= 8
    assert compared > 10


def test_only_the_newest_snapshot_of_a_record_is_kept(log: Reading, store: Store, views: SqliteViews) -> None:
    snapshots = Snapshots(log, views, store.rows.hash_of, every=FEW)
    records = Records(log, snapshots)
    for version in (20, 22, 46):
        records.of("delivery-1", version)
        snapshots.write()
    assert kept(views) == [("record", 46)]
    log.events = 0
    result: Record = Records(log, snapshots).of("delivery-1", 46)
    assert (result.version, len(result.entries), log.events) == (46, 46, 0)


# -- never the truth ---------------------------------------------------------------------------------------------------


def test_snapshots_can_be_thrown_away_at_any_time(log: Reading, store: Store, views: SqliteViews) -> None:
    snapshots = taken(log, store, views)
    before = dump(views)
    with views.transaction() as db:
        db.execute("DELETE FROM snapshots")
    assert dump(views) == before
    assert Sessions(log, snapshots).get("delivery-1", 44) == folded(store, "delivery-1", 44)
    snapshots.seen(store.history("delivery-1"))
    snapshots.write()
    assert len(kept(views)) == 6


def test_a_rebuild_drops_them(log: Reading, store: Store, views: SqliteViews) -> None:
    taken(log, store, views)
    Follower(store, views).rebuild()
    assert kept(views) == []


def test_what_other_rules_folded_does_not_count(
    log: Reading, store: Store, views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = taken(log, store, views)
    monkeypatch.setattr(module, "rules", lambda: "of another release")
    assert snapshots.nearest("delivery-1") is None
    snapshots.seen(store.history("delivery-1"))
    snapshots.write()
    assert len(kept(views)) == 6
    assert snapshots.nearest("delivery-1", 46) == folded(store, "delivery-1", 42)


def test_snapshots_of_another_history_are_ignored(
    log: Reading, store: Store, views: SqliteViews, tmp_path: Path
) -> None:
    """A log that was restored and continued differently: the same versions, other events."""
    taken(log, store, views)
    with closing(SqliteStore(str(tmp_path / "other.db"))) as other:
        story = Story().start("Something else", limits=BudgetLimits(max_iterations=20)).planned()
        store_events(other, story.answers("Done.").validates(exit_code=1).answers("Done.").events)
        snapshots = Snapshots(other, views, other.rows.hash_of, every=FEW)
        assert other.version("delivery-1") == 35
        assert [snapshots.nearest("delivery-1", version) for version in (7, 14, 35)] == [None, None, None]
        assert Sessions(other, snapshots).get("delivery-1", 35) == folded(other, "delivery-1", 35)


@pytest.mark.parametrize("state", ["''", "'{}'", "'not JSON'", "replace(state, '1', '2')"])
def test_a_damaged_snapshot_does_not_count(log: Reading, store: Store, views: SqliteViews, state: str) -> None:
    """Not even one that can be read all the same: commands are decided on it."""
    snapshots = taken(log, store, views)
    with views.transaction() as db:
        db.execute(f"UPDATE snapshots SET state = {state}")
    assert snapshots.nearest("delivery-1") is None
    assert Sessions(log, snapshots).get("delivery-1", 44) == folded(store, "delivery-1", 44)


def test_without_views_the_history_is_folded(
    log: Reading, store: Store, views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = taken(log, store, views)

    def closed() -> None:
        raise OSError("disk I/O error")

    monkeypatch.setattr(views, "reading", closed)
    assert Sessions(log, snapshots).get("delivery-1", 44) == folded(store, "delivery-1", 44)


# -- in the background -------------------------------------------------------------------------------------------------


def test_a_session_that_grew_without_a_follower_gets_snapshots_at_the_start(
    log: Reading, store: Store, views: SqliteViews
) -> None:
    snapshots = Snapshots(log, views, store.rows.hash_of, every=FEW)
    snapshots.start(Records(log, snapshots).prepare)
    until(lambda: len(kept(views)) == 6, what="six snapshots")
    snapshots.stop()
    assert log.events == 46


def test_a_session_that_grows_gets_the_next_one_from_the_last(log: Reading, store: Store, views: SqliteViews) -> None:
    snapshots = taken(log, store, views)
    with views.transaction() as db:
        db.execute("DELETE FROM snapshots WHERE version > 28")
    snapshots.start(Records(log, snapshots).prepare)
    until(lambda: len(kept(views)) == 6, what="six snapshots")
    with views.transaction() as db:
        db.execute("DELETE FROM snapshots WHERE version > 35")
    log.events = 0
    snapshots.seen(store.history("delivery-1", after=40, upto=42))
    until(lambda: len(kept(views)) == 6, what="six snapshots")
    snapshots.stop()
    assert log.events == 11


def test_the_record_of_a_long_session_is_folded_before_it_is_opened(
    log: Reading, store: Store, views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.record.records.LONG", 40)
    snapshots = Snapshots(log, views, store.rows.hash_of, every=FEW)
    records = Records(log, snapshots)
    for _ in range(2):  # the second start finds it
        snapshots.start(records.prepare)
        until(lambda: ("record", 42) in kept(views), what="a snapshot of the record")
        snapshots.stop()
    log.events = 0
    assert Records(log, snapshots).of("delivery-1", 46) == Records(store).of("delivery-1", 46)
    assert log.events == 4


def test_events_between_two_snapshots_give_no_work(log: Reading, store: Store, views: SqliteViews) -> None:
    snapshots = taken(log, store, views)
    log.events = 0
    snapshots.seen(store.history("delivery-1", after=42))
    snapshots.write()
    assert log.events == 0


def test_what_could_not_be_kept_is_kept_for_the_next_time(
    log: Reading, store: Store, views: SqliteViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = Snapshots(log, views, store.rows.hash_of, every=FEW)
    snapshots.seen(store.history("delivery-1"))

    def full() -> None:
        raise OSError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(views, "transaction", full)
        assert snapshots.write() == 1
    assert snapshots.write() == 0
    assert len(kept(views)) == 6
