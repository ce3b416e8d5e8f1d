"""`hansard rebuild` of a long log works in several processes."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.port import Store
from adapters.store.sqlite.views import SqliteViews
from api.cli import view_rebuild
from projections.catalogue import dump
from projections.follow import Follower
from tests.projections import walks as mixed


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(view_rebuild, "WORTH", 50)
    monkeypatch.setattr(view_rebuild.os, "sched_getaffinity", lambda _: {0, 1})
    with closing(mixed.walked(tmp_path, 6, 120)) as store:
        yield store


@pytest.fixture
def views(tmp_path: Path) -> Iterator[SqliteViews]:
    with closing(SqliteViews(tmp_path / "views.db")) as views:
        yield views


def test_several_processes_make_the_same_views(
    store: Store, views: SqliteViews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(store, views)
    follower.rebuild()
    whole = dump(views)
    follower.empty()
    with monkeypatch.context() as patch:
        patch.setattr(Follower, "rebuild", _never)
        assert view_rebuild.rebuild(follower, store, f"sqlite:///{tmp_path / 'log.db'}") == store.head()
    assert dump(views) == whole


def test_one_process_does_it_where_the_others_fail(store: Store, views: SqliteViews, tmp_path: Path) -> None:
    follower = Follower(store, views)
    assert view_rebuild.rebuild(follower, store, f"sqlite:///{tmp_path / 'missing.db'}") == store.head()
    live = dump(views)
    follower.rebuild()
    assert dump(views) == live


def test_a_session_that_a_damaged_index_hides_is_in_the_views(store: Store, views: SqliteViews, tmp_path: Path) -> None:
    follower = Follower(store, views)
    follower.rebuild()
    whole, [hidden, *rest] = dump(views), store.rows.streams()
    _hide(tmp_path / "log.db", hidden)
    assert store.rows.streams() == rest
    assert view_rebuild.rebuild(follower, store, f"sqlite:///{tmp_path / 'log.db'}") == store.head()
    assert dump(views) == whole


def _hide(log: Path, stream: str) -> None:
    """Delete a session's entries from the index of sessions and versions, but not from the table of events."""
    table = "CREATE TABLE entries (stream, version, position, PRIMARY KEY (stream, version)) WITHOUT ROWID"
    with closing(sqlite3.connect(log)) as database, database:
        database.execute(table)
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE type = 'index'"
            " AND name = 'sqlite_autoindex_events_1') WHERE name = 'entries'"
        )
    with closing(sqlite3.connect(log)) as database, database:
        database.execute("DELETE FROM entries WHERE stream = ?", (stream,))
        database.execute("PRAGMA writable_schema = ON")
        database.execute("DELETE FROM sqlite_schema WHERE name = 'entries'")


def test_nothing_goes_on_when_a_rebuild_is_interrupted(tmp_path: Path) -> None:
    part = view_rebuild._PartOfRebuild(database="sqlite:///log.db", sessions=(), head=1, path=tmp_path / "0.db")
    with pytest.raises(KeyboardInterrupt), view_rebuild._process(part) as process:
        raise KeyboardInterrupt
    assert process.returncode == -signal.SIGKILL


def _never(_: Follower) -> int:
    raise AssertionError("one process did it")
