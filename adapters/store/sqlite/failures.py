"""Errors of SQLite: which pass, which last, and what they mean for the writing."""

import os
import sqlite3
from pathlib import Path
from typing import Final, Literal

from adapters.store.errors import Broken, StoreError
from domain.values.sentences import Sentence, with_output

_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LASTING: Final = _DAMAGED | {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
_PASSING: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def is_file_error(error: BaseException) -> bool:
    """True if the file, the disk or another process is the cause (a bare DatabaseError: damaged), not a wrong
    statement."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def is_permanent(error: BaseException) -> bool:
    """True if retrying is pointless: the file is damaged, not a database, or not writable."""
    return _code(error) in _LASTING


def is_damaged(error: BaseException) -> bool:
    """True if the content of the file is wrong."""
    return _code(error) in _DAMAGED


def store_error(error: BaseException, sentence: Sentence) -> StoreError:
    """The failure of a file as an error of ours."""
    return Broken(sentence) if is_permanent(error) else StoreError(sentence)


def _code(error: BaseException) -> int:
    """SQLite's primary code, which extended ones carry in their low byte; Python's own errors have none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def opening_failure(what: Literal["log", "views"], path: Path, error: Exception) -> Sentence:
    """Says why a file cannot be opened. If nothing can be written there, also what to do."""
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


class WriteHealth:
    """The state of writing to a file. `failure` is what the last failure was, until something shows that it is over."""

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
