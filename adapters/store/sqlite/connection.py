"""Connections to a SQLite file that answer only after their bytes are synced: WAL, `synchronous=FULL`, asserted.

Many rows go in few statements: a thread releases the interpreter at every step of a statement and has to get it back,
so row by row a busy server spends more time on that than on the rows.
"""

import re
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

from adapters.store.errors import Broken, StoreError
from domain.values.sentences import Sentence

FORMAT: Final = 3
"""Of the tables, as `user_version`. A newer one is refused, whatever else would fit. From 2 on, states
are packed; from 3 on, each event says how it is hashed."""
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
    if [row[1] for row in connection.execute("PRAGMA table_info(events)")] not in (_COLUMNS, [*_COLUMNS, "form"]):
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
