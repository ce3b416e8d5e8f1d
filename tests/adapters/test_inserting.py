"""Many rows in few statements: all of them, in order, whatever their number."""

import sqlite3
from collections.abc import Iterator

import pytest

from adapters.store.sqlite.connection import insert


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, n INTEGER)")
    yield connection
    connection.close()


INTO = "INSERT INTO t (name, n) VALUES (?, ?)"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 31, 32, 33, 63, 64, 100])
def test_every_row_is_stored_once_and_in_order(db: sqlite3.Connection, count: int) -> None:
    rows = [(f"row-{number}", number) for number in range(count)]
    insert(db, INTO, rows)
    assert db.execute("SELECT name, n FROM t ORDER BY place").fetchall() == rows


def test_few_statements_store_many_rows(db: sqlite3.Connection) -> None:
    seen: list[str] = []
    db.set_trace_callback(seen.append)
    insert(db, INTO, [(f"row-{number}", number) for number in range(100)])
    assert len(seen) == 4  # 32 + 32 + 32 + 4


def test_the_text_after_the_values_applies_to_every_row(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t (name, n) VALUES ('row-1', 7)")
    insert(db, f"{INTO} ON CONFLICT (name) DO UPDATE SET n = excluded.n", [("row-0", 0), ("row-1", 1), ("row-2", 2)])
    assert db.execute("SELECT name, n FROM t ORDER BY name").fetchall() == [("row-0", 0), ("row-1", 1), ("row-2", 2)]


def test_a_row_that_does_not_fit_is_reported(db: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        insert(db, INTO, [("twin", 1), ("other", 2), ("twin", 3)])


def test_another_statement_is_refused(db: sqlite3.Connection) -> None:
    with pytest.raises(ValueError, match="DELETE FROM t"):
        insert(db, "DELETE FROM t WHERE name = ?", [("a",), ("b",)])
