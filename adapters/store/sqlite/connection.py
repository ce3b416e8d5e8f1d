"""Connections to a SQLite file that answer only after their bytes are synced: WAL, `synchronous=FULL`, asserted.

Many rows go in few statements: a thread releases the interpreter at every step of a statement and has to get it back,
so row by row a busy server spends more time on that than on the rows.
"""

import os
import re
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

from adapters.store.port import Broken, StoreError
from domain.values.sentences import Sentence, with_output

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LASTING: Final = _DAMAGED | {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
_PASSING: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


FORMAT: Final = 2
"""Of the tables, as `user_version`. A newer one is refused, whatever else would fit. From 2 on, states are packed."""
_COLUMNS: Final = ["position", "stream", "version", "topic", "state", "hash"]
"""Of the table of events: what makes a SQLite file a log."""


def check_ownership(path: Path, busy_seconds: float) -> None:
    """Raise Broken for another program's database, which is not changed; a missing or empty file may become a log.
    Raises sqlite3.Error."""
    if not path.is_file() or not path.stat().st_size:
        return
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None)) as connection:
        refuse_foreign(connection, path)


def refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Raise Broken for another program's database, and for the log of a newer Hansard. Raises sqlite3.Error."""
    if connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
        return  # asked first: another process may be making the log now, its table of events before all others
    if [row[1] for row in connection.execute("PRAGMA table_info(events)")] != _COLUMNS:
        raise Broken(Sentence("not_a_log", path=path))
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version > FORMAT:
        raise Broken(Sentence("database_newer", database=path, found=version, known=FORMAT))


def connect_durably(path: Path, busy_seconds: float, *pragmas: str) -> sqlite3.Connection:
    """A connection for any thread, with additional pragmas. Raises StoreError if the file would not be durable."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        _write_ahead(connection, busy_seconds)
        for pragma in ("synchronous=FULL", "fullfsync=1", "checkpoint_fullfsync=1", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
        if (mode, synchronous) != ("wal", 2):
            raise StoreError(Sentence("log_not_durable", path=path, mode=mode, synchronous=synchronous))
    except (sqlite3.Error, StoreError):
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """SQLite itself does not wait for the lock that this takes while another process sets up the same new file."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.005)


def is_file_error(error: BaseException) -> bool:
    """Whether the file, the disk or another process is the cause (a bare DatabaseError: damaged), not a wrong
    statement."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def is_permanent(error: BaseException) -> bool:
    """Whether retrying is pointless: the file is damaged, not a database, or not writable."""
    return _code(error) in _LASTING


def is_damaged(error: BaseException) -> bool:
    """Whether the content of the file is wrong."""
    return _code(error) in _DAMAGED


def store_error(error: BaseException, sentence: Sentence) -> StoreError:
    """The failure of a file as an error of ours."""
    return Broken(sentence) if is_permanent(error) else StoreError(sentence)


def _code(error: BaseException) -> int:
    """SQLite's primary code, which extended ones carry in their low byte; Python's own errors have none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def opening_failure(what: Literal["log", "views"], path: Path, error: Exception) -> Sentence:
    """Why a file cannot be opened. If nothing can be written there, also what to do."""
    why = getattr(error, "strerror", None) or error
    if path.exists():
        place = next((ancestor for ancestor in (path.parent, path) if not os.access(ancestor, os.W_OK)), None)
        advice = "reads_need_write_access"
    else:
        folder = next(ancestor for ancestor in path.absolute().parents if ancestor.exists())
        place = None if os.access(folder, os.W_OK) else folder
        advice = "name_a_writable_folder"
    if place is None:
        return Sentence(f"{what}_not_opening", path=path, detail=why)
    return with_output(Sentence(f"{what}_read_only", path=path, place=place, detail=why), Sentence(advice))


_ROW: Final = re.compile(r"(?<=VALUES )\(\?(?:, \?)*\)")


def insert(connection: sqlite3.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> int:
    """Execute `INSERT INTO … VALUES (?, …) …` for all rows, in their order. The id of the last one, 0 if there is none.
    Raises sqlite3.Error."""
    begin = last = 0
    while left := len(rows) - begin:
        size = min(left, 8) if left < 16 else 16 if left < 32 else 32  # few different statements, which stay prepared
        values = tuple(chain.from_iterable(rows[begin : begin + size]))
        last = connection.execute(_of_rows(sql, size), values).lastrowid or 0
        begin += size
    return last


@cache
def _of_rows(sql: str, count: int) -> str:
    repeated, replacements = _ROW.subn(lambda row: ", ".join([row[0]] * count), sql)
    if replacements != 1:
        raise ValueError(f"No statement that inserts a row of values: {sql}")
    return repeated


class WriteHealth:
    """How writing to a file goes. `failure` is what the last failure was, until something shows that it is over."""

    def __init__(self) -> None:
        self.failure: StoreError | None = None
        self._damaged = False

    def failed(self, error: BaseException, sentence: Sentence) -> StoreError:
        """Remember the reason, unless others were only busy. Returns the error to raise."""
        failure = store_error(error, sentence)
        if _code(error) not in _PASSING:
            self.failure, self._damaged = failure, is_damaged(error)
        return failure

    def succeeded(self) -> None:
        """A write succeeded. That says nothing about damage elsewhere in the file."""
        if not self._damaged:
            self.failure = None

    def appended(self) -> None:
        """Events were written: the store works again."""
        self.failure, self._damaged = None, False
