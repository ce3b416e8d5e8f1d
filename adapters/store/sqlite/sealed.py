"""A log that is only read: whoever looks at evidence must not change it, not by a byte.

The ordinary store makes its tables where they are missing and turns the file to WAL; this one does neither.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from adapters.store.mapper import decode_all
from adapters.store.sqlite.connection import refuse_foreign, told
from adapters.store.sqlite.rows import SqliteRows
from domain.session.record import Recorded

_BUSY_SECONDS = 5.0
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""How a damaged file shows itself; the second where SQLite's own complaint quotes what is no UTF-8 any more."""


class Sealed:
    """The log in one file, for one thread at a time. Nothing that is asked of it writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection
        self.rows = SqliteRows(path, self._reading)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._connection
        except UNREADABLE as error:
            raise told(error, f"The log {self.path} cannot be read: {error}.") from error

    def head(self) -> int:
        """The newest position, 0 of an empty log."""
        with self._reading() as connection:
            return int(connection.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])

    def text(self, digest: str) -> str | None:
        """A long text by its digest."""
        with self._reading() as connection:
            found = connection.execute("SELECT content FROM texts WHERE digest = ?", (digest,)).fetchone()
        return None if found is None else str(found[0])

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> list[Recorded]:
        """The events of a session with versions `after`+1 … `upto`."""
        return self._recorded(
            "stream = ? AND version > ? AND version <= ? ORDER BY version",
            session_id,
            after,
            2**62 if upto is None else upto,
        )

    def log(self, *, after: int = 0, limit: int = 500) -> list[Recorded]:
        """The events behind a position, at most `limit`."""
        return self._recorded("position > ? ORDER BY position LIMIT ?", after, limit)

    def _recorded(self, where: str, *values: str | int) -> list[Recorded]:
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT position, stream, version, topic, state FROM events WHERE {where}", values
            ).fetchall()
        return decode_all(rows)


@contextmanager
def sealed(path: Path) -> Iterator[Sealed]:
    """The log in this file. Raises StoreError where it is none."""
    with closing(_connected(path)) as connection:
        log = Sealed(path, connection)
        with log._reading():
            refuse_foreign(connection, path)
        log.head()
        yield log


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return read_only(path)
    except UNREADABLE as error:
        used = path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK)
        advice = f" It was in use: copy it, with {path.name}-wal, to a folder that can be written." if used else ""
        raise told(error, f"The log {path} cannot be opened: {error}.{advice}") from error


def read_only(path: Path) -> sqlite3.Connection:
    """A database that is only read. Raises what is in `UNREADABLE`.

    A file that was put away, beside which nothing can be written, is read as it is: nobody can be writing it.
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
