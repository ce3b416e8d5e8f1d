"""A log on SQLite that is only read."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from adapters.store.sql.log import SqlLog
from adapters.store.sqlite.connection import refuse_foreign
from adapters.store.sqlite.failures import store_error
from adapters.store.sqlite.rows import SqliteRows
from domain.values.sentences import Sentence

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
    """True if the events of a copy are the first ones of this log: their last hashes cover all before them. Raises
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
