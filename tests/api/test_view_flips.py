"""A flipped bit in the views is found by `verify`, or has no visible effect."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.location import reading
from adapters.store.sqlite.views import SqliteViews
from api.cli.view_rebuild import difference
from projections.catalogue import dump
from projections.follow import Follower
from tests.adapters.audited import written
from tests.adapters.flips import flipped


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("views"))


@pytest.fixture(scope="module")
def views(log: Path) -> Path:
    path = log.with_name("views.db")
    with reading(f"sqlite:///{log}") as store, closing(SqliteViews(path)) as made:
        Follower(store, made).catch_up()
    return path


def shown(path: Path) -> bytes:
    with closing(SqliteViews(path)) as result:
        return dump(result)


def silent(log: Path, views: Path, seed: int, count: int) -> tuple[int, list[int]]:
    """The number of detected flips, and those that changed something silently."""
    content, before, chance = views.read_bytes(), shown(views), random.Random(seed)  # noqa: S311 - the same again
    used = [place for place, byte in enumerate(content) if byte]
    result, missed = 0, []
    with reading(f"sqlite:///{log}") as store:
        for _ in range(count):
            bit = chance.choice(used) * 8 + chance.randrange(8)
            with flipped(views, bit):
                if difference(store, views, f"sqlite:///{log}") is not None:
                    result += 1
                elif not sound(views) or shown(views) != before:
                    missed.append(bit)
    return result, missed


def sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_flipped_bit_in_the_views_is_found_or_changes_nothing(log: Path, views: Path) -> None:
    result, missed = silent(log, views, 3, 40)
    assert missed == []
    assert result > 10


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_a_thousand_flipped_bits_in_the_views_are_found_or_change_nothing(log: Path, views: Path, seed: int) -> None:
    result, missed = silent(log, views, seed, 250)
    assert missed == []
    assert result > 60


def test_a_row_that_an_index_does_not_lead_to_is_found(log: Path, views: Path) -> None:
    """No list that asks by the index would show it."""
    with closing(sqlite3.connect(views)) as connection:
        indexes = "SELECT name, rootpage FROM sqlite_schema WHERE type = 'index' AND name LIKE 'sqlite_autoindex_%'"
        for name, root in connection.execute(indexes).fetchall():
            table = name.removeprefix("sqlite_autoindex_").rpartition("_")[0]
            if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 1:
                page = root
        [size] = connection.execute("PRAGMA page_size").fetchone()
    start = (page - 1) * size
    cells = int.from_bytes(views.read_bytes()[start + 3 : start + 5], "big")
    kept = views.read_bytes()
    views.write_bytes(kept[: start + 3] + (cells - 1).to_bytes(2, "big") + kept[start + 5 :])
    try:
        with reading(f"sqlite:///{log}") as store:
            assert f"the views {views} are damaged" in str(difference(store, views, f"sqlite:///{log}"))
    finally:
        views.write_bytes(kept)
