"""Verifying a log does not change it."""

import os
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from adapters.proof import checkpoints
from adapters.proof.transfer import export
from adapters.proof.verify import verify
from adapters.store.errors import StoreError
from adapters.store.sqlite.sealed_log import sealed
from tests.adapters.audited import harmed, opened, written


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("sealed"), steps=12)


@pytest.fixture
def log(made: Path, tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    path.write_bytes(made.read_bytes())
    return path


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_proving_a_log_leaves_every_byte_as_it_was(log: Path, mode: str) -> None:
    harmed(log, f"PRAGMA journal_mode={mode}")
    before = digest(log)
    with sealed(log) as result:
        assert verify(result).faults == []
        checkpoints.head(result)
        assert list(export(result))
    assert digest(log) == before


def test_it_reads_what_the_store_reads(log: Path) -> None:
    with opened(log) as store, sealed(log) as result:
        assert result.head() == store.head()
        assert result.log(after=5, limit=20) == store.log(after=5, limit=20)
        for name in store.rows.streams():
            assert result.history(name, after=1, upto=3) == store.history(name, after=1, upto=3)
        for known, content in store.rows.texts():
            assert result.text(known) == content
        assert result.text("0" * 64) is None
        assert verify(result) == verify(store)


def test_a_log_that_is_in_use_is_read_as_it_is_now(log: Path) -> None:
    with opened(log) as store, sealed(log) as result:
        before = result.head()
        [row, *_] = store.rows.events()
        store.import_rows([row._replace(stream="delivery-new")], ())
        assert result.head() == before + 1


def test_nothing_can_be_written_to_it(log: Path) -> None:
    with sealed(log) as result, pytest.raises(sqlite3.OperationalError, match="readonly"):
        result._connection.execute("DELETE FROM events")


@pytest.mark.parametrize("content", [b"", b"no database at all"])
def test_a_file_that_is_not_a_log_is_reported_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    with pytest.raises(StoreError), sealed(path):
        pass
    assert path.read_bytes() == content


def test_a_foreign_database_gets_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (a)")
    before = digest(path)
    with pytest.raises(StoreError, match="not a Hansard log"), sealed(path):
        pass
    assert digest(path) == before


def test_a_file_in_a_read_only_folder_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WAL database on a read-only disk: SQLite tries to create files there unless it knows that nothing changes."""
    connect, asked = sqlite3.connect, list[str]()

    def refuse(database: str, **options: Any) -> sqlite3.Connection:
        asked.append(database.partition("?")[2])
        if asked[-1] == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        connection: sqlite3.Connection = connect(database, **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with sealed(log) as result:
        assert verify(result).faults == []
    assert asked == ["mode=ro", "immutable=1"]
    log.with_name("log.db-wal").write_bytes(b"")
    with pytest.raises(StoreError, match=r"unable to open database file\.$"), sealed(log):
        pass
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything, so modes prove nothing
    with pytest.raises(StoreError, match=r"It was in use: copy it, with log\.db-wal, to a folder"), sealed(log):
        pass


def test_a_damaged_schema_is_reported_in_a_sentence(log: Path) -> None:
    """SQLite's complaint quotes it, and cannot be read itself."""
    content = log.read_bytes()
    for before, after in ((b"tableevents", b"table\xe5vents"), (b"CREATE TABLE events (", b"CREATE TABL\xe5 events (")):
        assert before in content
        content = content.replace(before, after, 1)
    log.write_bytes(content)
    with closing(sqlite3.connect(log)) as connection, pytest.raises(UnicodeDecodeError):
        connection.execute("SELECT count(*) FROM sqlite_schema")
    with pytest.raises(StoreError, match=r"cannot be (opened|read)"), sealed(log):
        pass
