"""Putting a copy in place of a log on SQLite: the old files are set aside, and nothing is deleted."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from adapters.files import private_file, private_folder, sync
from adapters.store.errors import Broken, StoreError
from adapters.store.sqlite.sealed_log import UNREADABLE, read_only
from domain.values.sentences import Sentence

ENDS: Final = ("", "-wal", "-shm")
"""Of the names of the files that together are a log, the file itself first."""
_SHARED_FIRST: Final = 0x40000002
_SHARED_SIZE: Final = 510
"""The bytes of which every process that has the file open in WAL mode locks one (https://sqlite.org/lockingv3.html)."""


class LogInUse(StoreError):
    """A process has the log open."""


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep all others from opening the log, if there is one. Raises LogInUse. Not for a process that has it open
    itself: closing a file drops all its locks."""
    if not path.exists():
        yield
        return
    with path.open("rb+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
        except OSError:
            raise LogInUse(Sentence("log_in_use", path=path)) from None
        yield


def copied(source: Path, draft: Path) -> None:
    """Copy a log to a new file, with what is still in its write-ahead log. Raises StoreError."""
    try:
        private_folder(draft.parent)
        private_file(draft)
        with closing(read_only(source)) as log, closing(sqlite3.connect(draft)) as copy:
            log.backup(copy)
    except (OSError, *UNREADABLE) as error:
        raise StoreError(Sentence("log_unreadable", path=source, detail=error)) from error


def put_in_place(draft: Path, path: Path, aside: Path) -> None:
    """Set the files of the log aside under another name, and put the draft in their place. The log itself goes last:
    until then it is the old one, and no process can open it (`alone`)."""
    sync(draft)
    if any(aside.with_name(aside.name + end).exists() for end in ENDS):
        raise Broken(Sentence("file_exists", path=aside))
    for end in ENDS[1:]:
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(aside.with_name(aside.name + end))
    if path.exists():
        os.link(path, aside)
    draft.replace(path)
    sync(path.parent)
