"""The tables of the log on SQLite, and its rows without decoding."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from adapters.private import private_file
from adapters.store.port import Row, StoreError
from domain.values.sentences import Sentence

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
  key TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS turns (
  turn_id TEXT PRIMARY KEY, stream TEXT NOT NULL, version INTEGER NOT NULL, work TEXT NOT NULL, agent TEXT NOT NULL,
  role TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, worker TEXT, lease_until INTEGER,
  deadline INTEGER, requested_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turns_open ON turns (state, requested_at) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS turns_due ON turns (deadline) WHERE state IN ('queued', 'running');
"""

Access = Callable[[], AbstractContextManager[sqlite3.Connection]]
PAGE = 1_000


class SqliteRows:
    """The rows of a store."""

    def __init__(self, path: Path, reading: Access) -> None:
        self._path, self._reading = path, reading

    @contextmanager
    def frozen(self) -> Iterator["SqliteRows"]:
        """All that is read with these rows is of one moment, whatever is written meanwhile."""
        with self._reading() as connection:
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

    def events(self, streams: Sequence[str] | None = None, *, after: int = 0, page: int = PAGE) -> Iterator[Row]:
        """All events behind a position, or those of some sessions, by position. Raises StoreError where a row is not
        what the table allows."""
        wanted = "" if streams is None else " AND stream IN (SELECT value FROM json_each(?))"
        values = () if streams is None else (orjson.dumps(list(streams)).decode(),)
        while True:
            with self._reading() as connection:
                found = connection.execute(
                    f"SELECT position, stream, version, topic, state, hash FROM events WHERE position > ?{wanted}"
                    " ORDER BY position LIMIT ?",
                    (after, *values, page),
                ).fetchall()
            for row in found:
                if row[0] <= after or tuple(map(type, row)) != _TYPES:
                    raise _unsound(after, row)
                after = row[0]
                yield Row(*row)
            if len(found) < page:
                return

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """The chained hash of an event, which stands for all that came before it in its stream."""
        with self._reading() as connection:
            row = connection.execute("SELECT hash FROM events WHERE stream = ? AND version = ?", (stream, version))
            found = row.fetchone()
        return None if found is None else bytes(found[0])

    def streams(self) -> list[str]:
        """Every session and channel, in the order of their beginning."""
        with self._reading() as connection:
            rows = connection.execute("SELECT stream FROM events GROUP BY stream ORDER BY min(position)")
            return [str(row[0]) for row in rows]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Digest and content of every long text, by digest. Raises StoreError."""
        after = ""
        while True:
            with self._reading() as connection:
                found = connection.execute(
                    "SELECT digest, content FROM texts WHERE digest > ? ORDER BY digest LIMIT ?", (after, PAGE)
                ).fetchall()
            for digest, content in found:
                if not isinstance(digest, str) or not isinstance(content, str) or digest <= after:
                    raise StoreError(f"The table of texts is not in order behind {after!r}.")
                after = digest
                yield digest, content
            if len(found) < PAGE:
                return

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._reading() as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        return [row[0] for row in found if row[0] != "ok"]

    def last_given(self) -> int:
        """The newest position that was ever given out, whether or not its event is still there."""
        with self._reading() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        given = row[0] if row else 0
        if not isinstance(given, int):
            raise StoreError("The newest position that was given out is not a number.")
        return given

    def open_turns(self) -> dict[str, tuple[Any, ...]]:
        """The turns that the lease table has as not settled: session, version, work, agent and role of each."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT turn_id, stream, version, work, agent, role FROM turns"
                " WHERE state IN ('queued', 'running', 'held')"
            )
            return {str(turn_id): tuple(found) for turn_id, *found in rows}

    def backup(self, target: Path) -> None:
        """A complete copy of the log while it is in use, with the same positions. Raises StoreError, and then nothing
        is left at the target."""
        try:
            private_file(target)
            with self._reading() as connection, closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)
        except (StoreError, OSError, sqlite3.Error) as error:
            target.unlink(missing_ok=True)
            raise StoreError(f"The backup {target} cannot be written: {error}.") from error


_TYPES = (int, str, int, str, bytes, bytes)


def _unsound(before: int, found: tuple[Any, ...]) -> StoreError:
    if found[0] <= before:
        return StoreError(f"Position {found[0]} follows {before}: the table is not in order.")
    return StoreError(f"The event at position {found[0]} has values of a wrong type.")
