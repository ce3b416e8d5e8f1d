"""The tables of the log on SQLite, its rows without decoding, and a log that is only read.

Evidence must not change, not even by a byte. The ordinary store creates missing tables and switches the file to WAL; a
sealed log does neither.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from adapters.files import private_file
from adapters.store.port import StoreError
from adapters.store.sql.log import SqlLog
from adapters.store.sql.rows import SqlRows
from adapters.store.sqlite.connection import refuse_foreign, store_error
from domain.values.sentences import Sentence, sentence_of

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  stream TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  topic TEXT NOT NULL,
  state BLOB NOT NULL,
  hash BLOB NOT NULL,
  UNIQUE (stream, version)
) STRICT;
CREATE TABLE IF NOT EXISTS texts (digest TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS receipts (
  key TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL,
  digest BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS turns (
  turn_id TEXT PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL, work TEXT NOT NULL, agent TEXT NOT NULL,
  role TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, worker TEXT, lease_until INTEGER,
  deadline INTEGER, requested_at INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '', rank INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
  name TEXT PRIMARY KEY, digest TEXT NOT NULL, scope TEXT NOT NULL, expires INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS links (
  digest TEXT PRIMARY KEY, name TEXT NOT NULL, made INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turns_ranked ON turns (state, rank) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS turns_owned ON turns (owner, stream) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS turns_due ON turns (deadline) WHERE state IN ('queued', 'running');
"""


_RECEIPT: Final = "key, fingerprint, status, body, at"
_OBJECTS: Final = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
_OURS: Final = {(kind.lower(), name) for kind, name in re.findall(r"CREATE (TABLE|INDEX) IF NOT EXISTS (\w+)", SCHEMA)}
_NEEDED: Final = {("table", name) for name in ("events", "texts", "receipts", "turns")}
_OF_BEFORE: Final = {("index", "turns_open")}
"""What a log has that no newer version has opened yet."""


def add_columns(connection: sqlite3.Connection) -> None:
    """Bring the tables of an older version up to date. Raises sqlite3.Error."""
    if not _missing_columns(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _missing_columns(connection):  # none if another process was faster
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


_RANKS: Final = (
    "ALTER TABLE turns ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE turns ADD COLUMN rank INTEGER NOT NULL DEFAULT 0",
    "UPDATE turns SET rank = requested_at",
    "DROP INDEX IF EXISTS turns_open",
)
_DIGESTS: Final = ("ALTER TABLE receipts ADD COLUMN digest BLOB",)


def _missing_columns(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The statements that add them. A new file has no tables yet."""
    turns, receipts = _columns(connection, "turns"), _columns(connection, "receipts")
    ranks = _RANKS if turns and "rank" not in turns else ()
    return ranks + (_DIGESTS if receipts and "digest" not in receipts else ())


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


Access = Callable[[], AbstractContextManager[sqlite3.Connection]]


class SqliteRows(SqlRows):
    """The rows of a store."""

    engine = "SQLite"
    elements = "SELECT value FROM json_each(?)"

    def __init__(self, path: Path, reading: Access) -> None:
        super().__init__(reading)
        self._path, self._connection = path, reading

    @contextmanager
    def frozen(self) -> Iterator["SqliteRows"]:
        """A consistent snapshot for all reads with these rows, whatever is written meanwhile."""
        with self._connection() as connection:
            connection.execute("BEGIN")

            @contextmanager
            def reading() -> Iterator[sqlite3.Connection]:
                try:
                    yield connection
                except sqlite3.Error as error:
                    raise StoreError(Sentence("log_unreadable", path=self._path, detail=error)) from error

            try:
                yield SqliteRows(self._path, reading)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def integrity(self, *, quick: bool = False) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._connection() as connection:
            report = connection.execute(f"PRAGMA {'quick' if quick else 'integrity'}_check").fetchall()
            there = set(connection.execute(_OBJECTS).fetchall())
        unknown = (f"it has a {kind} that is not ours: {name}" for kind, name in sorted(there - _OURS - _OF_BEFORE))
        missing = (f"the {kind} {name} is missing" for kind, name in sorted(_NEEDED - there))
        return [*(row[0] for row in report if row[0] != "ok"), *unknown, *missing]

    def receipts(self) -> Iterator[Sequence[Any]]:
        with self._connection() as connection:
            has_digests = "digest" in _columns(connection, "receipts")
        return (
            super().receipts() if has_digests else ((*row, None) for row in self._by_key(_RECEIPT, "receipts", "key"))
        )

    def api_keys(self) -> Iterator[Sequence[Any]]:
        return super().api_keys() if self._has_keys() else iter(())

    def secrets(self) -> Iterator[tuple[str, bytes]]:
        return super().secrets() if self._has_keys() else iter(())

    def _has_keys(self) -> bool:
        """Older logs had keys in files only."""
        with self._connection() as connection:
            return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'keys'").fetchone() is not None

    def last_given(self) -> int:
        """The newest position that was ever given out, whether or not its event is still there."""
        with self._connection() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        position = row[0] if row else 0
        if not isinstance(position, int):
            raise StoreError(Sentence("newest_position_damaged"))
        return position

    def backup(self, target: Path) -> None:
        """A complete copy of the log while it is in use, with the same positions and the same keys; no one is signed in
        there. Raises StoreError, and then nothing is left at the target."""
        try:
            private_file(target)
            with self._connection() as connection, closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)
                _forget_sign_ins(copy)
        except (StoreError, OSError, sqlite3.Error) as error:
            target.unlink(missing_ok=True)
            raise StoreError(Sentence("backup_not_written", path=target, detail=sentence_of(error))) from error


def _forget_sign_ins(copy: sqlite3.Connection) -> None:
    """With the secret that signs sign-ins, anyone with the copy could sign in. Revoked keys stay revoked."""
    if copy.execute("SELECT 1 FROM sqlite_schema WHERE name = 'secrets'").fetchone():
        copy.execute("PRAGMA secure_delete = ON")
        copy.execute("DELETE FROM secrets WHERE name NOT LIKE 'revoked:%' AND name NOT LIKE 'check:%'")
        copy.execute("DELETE FROM links")
        copy.commit()


# -- a log that is only read -------------------------------------------------------------------------------------------


_BUSY_SECONDS = 5.0
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""Errors of a damaged file; the second where SQLite's own message quotes bytes that are not UTF-8."""


class Sealed(SqlLog):
    """The log in one file, for one thread at a time. It never writes."""

    elements = SqliteRows.elements

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection
        self.rows = SqliteRows(path, self._reading)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._connection
        except UNREADABLE as error:
            raise store_error(error, Sentence("log_unreadable", path=self.path, detail=error)) from error


@contextmanager
def sealed(path: Path) -> Iterator[Sealed]:
    """The log in this file. Raises StoreError if there is none."""
    with closing(_connected(path)) as connection:
        log = Sealed(path, connection)
        with log._reading():
            refuse_foreign(connection, path)
        log.head()
        yield log


_HEADS: Final = "SELECT max(position), stream, max(version) FROM events GROUP BY stream"
_AT: Final = "SELECT hash FROM events WHERE position = ? AND stream = ? AND version = ?"


def begins_with(log: Path, copy: Path) -> bool:
    """Whether the events of a copy are the first ones of this log: their last hashes cover all before them. Raises
    StoreError if one of them is no log."""
    with sealed(log) as later, sealed(copy) as earlier, later._reading() as ours, earlier._reading() as theirs:
        return all(
            theirs.execute(_AT, head).fetchone() == ours.execute(_AT, head).fetchone()
            for head in theirs.execute(_HEADS).fetchall()
        )


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return read_only(path)
    except UNREADABLE as error:
        used = path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK)
        advice = Sentence("copy_with_its_wal", name=f"{path.name}-wal") if used else ""
        raise store_error(error, Sentence("log_not_opening", path=path, detail=error, after=advice)) from error


def read_only(path: Path) -> sqlite3.Connection:
    """A database that is only read. Raises what is in `UNREADABLE`.

    A file in a folder that cannot be written is read as it is: nothing can be writing it.
    """
    try:
        return _opened(path, "mode=ro")
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _opened(path, "immutable=1")


def _opened(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
    )
    try:
        connection.execute("PRAGMA query_only=1")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # only now the file is looked at
    except UNREADABLE:
        connection.close()
        raise
    return connection
