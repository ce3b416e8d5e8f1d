"""The database of views on SQLite."""

import sqlite3
import threading
from pathlib import Path

import pytest

from adapters.store.errors import Broken, StoreError
from adapters.store.sqlite.views import SqliteViews, ViewsUnavailable


@pytest.fixture
def numbers(views: SqliteViews) -> SqliteViews:
    with views.transaction() as db:
        db.execute("CREATE TABLE numbers (n BIGINT PRIMARY KEY)")
        db.execute("INSERT INTO numbers VALUES (?)", (1,))
    return views


def count(views: SqliteViews) -> int:
    with views.reading() as db:
        return int(db.execute("SELECT count(*) FROM numbers").fetchone()[0])


def test_a_transaction_is_kept_whole(numbers: SqliteViews) -> None:
    with numbers.transaction() as db:
        db.execute("INSERT INTO numbers VALUES (2)")
        assert count(numbers) == 1
    assert count(numbers) == 2


def test_a_transaction_that_fails_leaves_nothing(numbers: SqliteViews) -> None:
    with pytest.raises(sqlite3.IntegrityError), numbers.transaction() as db:
        db.execute("INSERT INTO numbers VALUES (2)")
        db.execute("INSERT INTO numbers VALUES (2)")
    assert count(numbers) == 1
    with numbers.transaction() as db:
        db.execute("INSERT INTO numbers VALUES (3)")
    assert count(numbers) == 2


def test_what_is_read_together_is_of_one_moment(numbers: SqliteViews) -> None:
    with numbers.reading() as db:
        before = db.execute("SELECT count(*) FROM numbers").fetchone()[0]
        with numbers.transaction() as writing:
            writing.execute("INSERT INTO numbers VALUES (2)")
        assert (before, db.execute("SELECT count(*) FROM numbers").fetchone()[0]) == (1, 1)
    assert count(numbers) == 2


def test_a_reader_cannot_write(numbers: SqliteViews) -> None:
    with numbers.reading() as db, pytest.raises(ViewsUnavailable):
        db.execute("INSERT INTO numbers VALUES (9)")
    assert count(numbers) == 1


def test_a_wrong_statement_does_not_count_as_a_database_failure(numbers: SqliteViews) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"), numbers.transaction() as db:
        db.execute("INSERT INTO letters VALUES (1)")


def test_another_process_waits_its_turn_and_then_gives_up(numbers: SqliteViews) -> None:
    other = SqliteViews(numbers.path, busy_seconds=0.01)
    with numbers.transaction(), pytest.raises(ViewsUnavailable) as refused, other.transaction():
        pytest.fail("two writers at once")
    assert isinstance(refused.value, OSError)
    assert isinstance(refused.value, StoreError)
    with other.transaction() as db:
        db.execute("INSERT INTO numbers VALUES (2)")
    other.close()
    assert count(numbers) == 2


def test_threads_write_one_after_another(numbers: SqliteViews) -> None:
    def write(first: int) -> None:
        for n in range(first, first + 50):
            with numbers.transaction() as db:
                seen = db.execute("SELECT count(*) FROM numbers").fetchone()[0]
                db.execute("INSERT INTO numbers VALUES (?)", (n,))
                assert db.execute("SELECT count(*) FROM numbers").fetchone()[0] == seen + 1

    threads = [threading.Thread(target=write, args=(1_000 * k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(numbers) == 201


def test_the_file_is_in_wal_mode_and_may_lose_its_newest_pages(numbers: SqliteViews) -> None:
    with numbers.transaction() as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 1


def test_a_file_that_is_not_a_database_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "views.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(ViewsUnavailable, match="may be deleted"):
        SqliteViews(path)


def test_damaged_views_are_not_retried(tmp_path: Path) -> None:
    """A busy file is tried again after a while; this attempt fails."""
    path = tmp_path / "views.db"
    views = SqliteViews(path)
    with views.transaction() as db:
        db.execute("CREATE TABLE numbers (n INTEGER)")
        db.insert("INSERT INTO numbers VALUES (?)", [(n,) for n in range(10_000)])
    views.close()
    with path.open("r+b") as file:
        file.seek(8_192)
        file.write(b"\xff" * (path.stat().st_size - 8_192))
    views = SqliteViews(path)
    with views.reading() as db, pytest.raises(Broken, match=r"do not answer: .+ may be deleted") as result:
        db.execute("SELECT sum(n) FROM numbers").fetchone()
    assert isinstance(result.value, ViewsUnavailable)
    views.close()


def test_a_folder_is_made_at_need(tmp_path: Path) -> None:
    views = SqliteViews(tmp_path / "new" / "folder" / "views.db")
    views.close()
    assert (tmp_path / "new" / "folder" / "views.db").exists()


def test_closing_waits_for_no_reader(numbers: SqliteViews) -> None:
    with numbers.reading() as db:
        numbers.close()
        assert db.execute("SELECT count(*) FROM numbers").fetchone()[0] == 1
    with pytest.raises(sqlite3.ProgrammingError), numbers.transaction():
        pytest.fail("it is closed")
