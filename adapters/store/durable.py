"""Connections to a SQLite file that answer only after their bytes are synced: WAL, `synchronous=FULL`, asserted."""

import sqlite3
import time
from pathlib import Path

from adapters.store.entries import StoreError


def durable(path: Path, busy_seconds: float, *pragmas: str) -> sqlite3.Connection:
    """A connection for any thread, with further pragmas. Raises StoreError where the file would not be durable."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        _write_ahead(connection, busy_seconds)
        for pragma in ("synchronous=FULL", "fullfsync=1", "checkpoint_fullfsync=1", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
        if (mode, synchronous) != ("wal", 2):
            raise StoreError(f"{path}: SQLite gave journal_mode={mode}, synchronous={synchronous}; not durable.")
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


def of_the_file(error: BaseException) -> bool:
    """Whether it is the file, the disk or another process (a bare DatabaseError: damaged), not a wrong statement."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError
