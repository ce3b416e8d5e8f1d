"""The log and its views, read by the command itself where they are files and up to date: nothing heavy is imported."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from api.cli.options import Where
from api.node import local_files
from api.node.local_files import default_log, node_folder, views_of

T = TypeVar("T")
Reading = Callable[[sqlite3.Connection, sqlite3.Connection], T | None]
"""Reads the log and its views; None where they cannot say."""

_HARMLESS: Final = frozenset({"DATABASE", "DATA_DIR", "DEBUG", "TEAM", "AUTH", "API_KEY", "HOST", "PORT"})
"""Settings (`HANSARD_…`) that change nothing about what is read, or are looked at here."""
_BEHIND: Final = "SELECT count(*) FROM progress WHERE error IS NOT NULL OR position <> ?"


FORMAT: Final = 3
"""The store's, without importing the store: a log of another format is left to it."""


def read_directly(where: Where, reading: Reading[T]) -> T | None:
    """What `reading` finds. None where the views are missing, or where the log or the answer is elsewhere."""
    log = _log_file(where)
    if log is None or not log.is_file():
        return None
    views = views_of(_node_of(log))
    if not views.is_file():
        return None
    try:
        with closing(_opened(log)) as events, closing(_opened(views)) as db:
            return reading(events, db) if events.execute("PRAGMA user_version").fetchone() == (FORMAT,) else None
    except sqlite3.Error:
        return None


def is_worked_on(where: Where) -> bool | None:
    """Whether a process of this machine runs turns of the log; None where that cannot be known from here."""
    log = _log_file(where)
    return None if log is None else local_files.is_worked_on(_node_of(log))


def _node_of(log: Path) -> Path:
    folder = os.environ.get("HANSARD_DATA_DIR")
    return Path(folder).expanduser().absolute() if folder else node_folder(str(log.absolute()), log.stem)


def are_current(log: sqlite3.Connection, views: sqlite3.Connection) -> bool:
    """Whether every view was folded from this log, to its end."""
    head = log.execute("SELECT position, hash FROM events ORDER BY position DESC LIMIT 1").fetchone()
    if head is None:
        return False
    reached = views.execute("SELECT event_id FROM progress WHERE view = 'overview'").fetchone()
    if reached != (bytes(head[1]).hex(),):
        return False
    [lag] = views.execute(_BEHIND, [head[0]]).fetchone()
    return int(lag) == 0


def local_clock(milliseconds: int) -> str:
    """A time of the log as this machine's date and time."""
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _log_file(where: Where) -> Path | None:
    """The file of the log; None where it may not be one, or where settings are given that are judged elsewhere."""
    names = {name.removeprefix("HANSARD_") for name, value in os.environ.items() if name[:8] == "HANSARD_" and value}
    if where.address() is not None or names - _HARMLESS:
        return None
    named = where.database or os.environ.get("HANSARD_DATABASE")
    if not named:
        return default_log()
    path = named.removeprefix("sqlite:///")
    if "://" in path or not path.strip():
        return None
    return Path(path) if path != named else Path(named).expanduser().absolute()


def _opened(file: Path) -> sqlite3.Connection:
    """Not read-only, because a database in WAL mode may need files next to it. But nothing is written to it."""
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=0.2)
    connection.execute("PRAGMA query_only=1")
    return connection
