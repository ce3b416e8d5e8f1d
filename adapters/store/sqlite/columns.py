"""Columns that older logs lack, added when a log is opened."""

import sqlite3
from typing import Final


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


_FORMS: Final = ("ALTER TABLE events ADD COLUMN form INTEGER NOT NULL DEFAULT 1",)


_DIGESTS: Final = ("ALTER TABLE receipts ADD COLUMN digest BLOB",)


_USED: Final = ("ALTER TABLE turns ADD COLUMN used TEXT",)


def _missing_columns(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The statements that add them. A new file has no tables yet."""
    turns, receipts = columns_of(connection, "turns"), columns_of(connection, "receipts")
    ranks: tuple[str, ...] = _RANKS if turns and "rank" not in turns else ()
    ranks += _USED if turns and "used" not in turns else ()
    events = columns_of(connection, "events")
    ranks += _FORMS if events and "form" not in events else ()
    return ranks + (_DIGESTS if receipts and "digest" not in receipts else ())


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
