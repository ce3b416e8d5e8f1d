"""Knows what this machine keeps for a log: where that is, and the answers about sessions beside the views, so that
`hansard show` prints one without the rules that made it. Imports little: a command that only lists sessions starts
fast."""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final


def data_home() -> Path:
    """The user's data directory (XDG), ours below it."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "hansard"


def state_home() -> Path:
    """The user's folder for what a machine can make again (XDG), ours below it."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "hansard"


def default_log() -> Path:
    """The default path of the log."""
    return data_home() / "hansard.db"


def node_folder(place: str, name: str) -> Path:
    """The folder for what belongs to this machine, for the log at a place. Each log has its own."""
    return state_home() / f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"


def views_of(node: Path) -> Path:
    return node / "views" / "views.db"


def search_of(node: Path) -> Path:
    return node / "views" / "search.db"


def is_worked_on(node: Path) -> bool:
    """True if a process of this machine runs turns: each holds a lock on a file with its name."""
    folder = node / "workers"
    files = folder.iterdir() if folder.is_dir() else ()
    return any(_is_locked(file) for file in files if not file.name.startswith("."))


def _is_locked(file: Path) -> bool:
    with suppress(OSError), file.open("r+") as opened:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    return file.exists()


ANSWER: Final = "answer"
"""The kind of a snapshot that is an answer."""
_PACKAGES: Final = ("domain", "projections", "api/node", "api/routes")
_NEWEST: Final = "SELECT version, hash FROM events WHERE stream = ? ORDER BY version DESC LIMIT 1"
_KEPT: Final = "SELECT hash, state FROM snapshots WHERE session_id = ? AND what = ? AND version = ? AND rules = ?"


@cache
def code() -> str:
    """Identifies the code that makes answers, as Python does for its own cache: by the sizes and times of its files."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for entry in _files(str(root / package)):
            status = entry.stat()
            digest.update(f"{entry.name} {status.st_mtime_ns} {status.st_size} ".encode())
    pydantic = find_spec("pydantic")
    if pydantic is not None and pydantic.origin is not None:
        digest.update(str(Path(pydantic.origin).stat().st_mtime_ns).encode())
    return digest.hexdigest()[:16]


def answer_about(log: sqlite3.Connection, views: sqlite3.Connection, session_id: str) -> str | None:
    """The answer about a session in its newest version, as JSON; None if it was not kept, or of another history."""
    newest = log.execute(_NEWEST, [session_id]).fetchone()
    if newest is None:
        return None
    row = views.execute(_KEPT, [session_id, ANSWER, newest[0], code()]).fetchone()
    if row is None or row[0] != hashlib.sha256(newest[1] + row[1].encode()).hexdigest():
        return None
    return str(row[1])


def _files(folder: str) -> Iterator["os.DirEntry[str]"]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry
