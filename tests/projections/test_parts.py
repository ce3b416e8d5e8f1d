"""A long log is folded in parts by several processes: the views are those of one process, byte for byte."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.port import NewEvent, Store, Write
from adapters.store.sqlite.views import SqliteViews
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from projections import parts
from projections.catalogue import dump
from projections.follow import Follower
from projections.parts import Undivided, divided, fold_part
from tests.projections import walks as mixed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Sessions of every kind, among them children, and forks of these."""
    with closing(mixed.walked(tmp_path, 5, 250)) as store:
        for name in store.rows.streams():
            if name.startswith(("review-", "debate-")):
                _fork(store, name)
        yield store


def _fork(store: Store, name: str) -> None:
    """A fork of a child names its parent, too, whatever the fork is called."""
    first = store.history(name, upto=1)[0]
    fork = f"{name}-fork"
    event = SessionForked(source=name, source_version=1, mode="live")
    entries = [
        NewEvent(fork, 1, first.at, first.causation, first.event),
        NewEvent(fork, 2, first.at, first.causation, event),
    ]
    store.append([Write(entries, adopted=True)])


def folded(store: Store, folder: Path, count: int, head: int) -> list[Path]:
    paths = []
    for number, sessions in enumerate(divided(store, count)):
        paths.append(folder / f"part-{number}.db")
        with closing(SqliteViews(paths[-1])) as views:
            fold_part(store, views, sessions, head)
    return paths


@pytest.mark.parametrize("count", [2, 3, 8])
def test_parts_are_folded_into_the_same_views(
    store: Store, views: SqliteViews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(parts, "_PAGE", 64)
    follower = Follower(store, views)
    follower.rebuild()
    whole = dump(views)
    head = store.head()
    assert follower.replace(folded(store, tmp_path, count, head), head) == head
    assert dump(views) == whole
    assert follower.catch_up() == head and follower.problems() == []


def test_what_comes_after_the_parts_is_folded_by_the_follower(store: Store, views: SqliteViews, tmp_path: Path) -> None:
    follower = Follower(store, views)
    follower.rebuild()
    whole, earlier = dump(views), store.head() - 40
    follower.replace(folded(store, tmp_path, 2, earlier), earlier)
    assert dump(views) != whole
    assert follower.catch_up() == store.head()
    assert dump(views) == whole


def test_families_stay_together_and_the_others_are_spread(store: Store) -> None:
    place = {name: number for number, part in enumerate(divided(store, 4)) for name in part}
    assert sorted(place) == sorted(store.rows.streams())
    families = parts._parents(store, [name for name in place if name.startswith(("review-", "debate-"))])
    assert any(name.endswith("-fork") for name in families)
    assert all(place[child] == place[parent] for child, parent in families.items())
    assert set(place.values()) == {0, 1, 2, 3}


def test_a_part_is_not_folded_where_a_view_fails_or_the_log_cannot_be_read(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(**_: object) -> Sequence[Recorded]:
        raise ValueError("no event")

    with monkeypatch.context() as broken, pytest.raises(Undivided):
        broken.setattr(store, "log", unreadable)
        folded(store, tmp_path, 1, store.head())
    (tmp_path / "part-0.db").unlink()
    with monkeypatch.context() as broken, pytest.raises(Undivided):
        broken.setattr(parts.Folding, "problems", lambda *_: ["a view"])
        folded(store, tmp_path, 1, store.head())


def test_a_log_with_an_unreadable_event_is_not_divided(store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "log.db")) as log, log:
        log.execute("UPDATE events SET state = x'00' WHERE position = (SELECT max(position) - 3 FROM events)")
    with pytest.raises(Undivided):
        folded(store, tmp_path, 2, store.head())
