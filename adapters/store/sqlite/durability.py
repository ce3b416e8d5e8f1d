"""The durability of a file: its journal, and the writes that SQLite waits for."""

import sqlite3
from contextlib import closing
from pathlib import Path


def probed(path: Path) -> tuple[str, int]:
    """The journal mode and `synchronous` of a new database there, once it was written to with WAL and FULL (2). Raises
    sqlite3.Error."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE probe (n INTEGER)")
        connection.execute("INSERT INTO probe VALUES (1)")
        return str(mode), int(connection.execute("PRAGMA synchronous").fetchone()[0])


def journal_mode(path: Path) -> str:
    """The journal mode of a database, which is only read. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
