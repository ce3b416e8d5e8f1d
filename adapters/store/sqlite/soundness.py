"""Finds out whether the file of a log may be written to: a malformed one takes commands and loses them.

A look at all pages takes a while in a large log. So it is only taken where something may have happened to the file: it
was not closed properly, or it is not the one that was noted when it was.
"""

import fcntl
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from adapters.store.errors import Broken
from adapters.store.sqlite.failures import is_damaged
from adapters.store.sqlite.sealed_log import UNREADABLE, read_only
from domain.values.sentences import Sentence

NOTE: Final = "log.note"
IN_USE: Final = "log.in-use"
"""Names of files in the folder that this machine has for the log."""


def refuse_malformed(path: Path) -> None:
    """Look at all pages. Raises Broken for a malformed log; opening the log reports other faults."""
    if not path.is_file() or not path.stat().st_size:
        return
    if _is_unfinished(path) and not _is_write_ahead(path):
        raise Broken(Sentence("log_copied_over", path=path))
    try:
        with closing(read_only(path)) as connection:
            [report] = connection.execute("PRAGMA quick_check(1)").fetchone()
    except UNREADABLE as error:
        if isinstance(error, UnicodeDecodeError) or is_damaged(error):
            raise _malformed(path, error) from error
        return
    if report != "ok":
        raise _malformed(path, " ".join(str(report).split()))


def _malformed(path: Path, detail: object) -> Broken:
    return Broken(Sentence("log_malformed", path=path, detail=detail))


class LogUse:
    """That this process uses a log, as other processes of the machine can see it. `folder` is the one that the machine
    has for the log."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Raises Broken for a malformed log, where something may have happened to it since it was last closed."""
        self._path, self._note = path, folder / NOTE
        self._lock = (folder / IN_USE).open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # others use it, and it was sound when they began
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            return
        try:
            if path.is_file() and (_is_unfinished(path) or self._noted() != _state(path)):
                refuse_malformed(path)
        except BaseException:
            self._lock.close()
            raise
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def end(self) -> None:
        """Note the file as it is, once this process has closed it."""
        with suppress(OSError):
            if not _is_unfinished(self._path):
                self._note.write_text(_state(self._path), encoding="ascii")
        self._lock.close()

    def _noted(self) -> str:
        with suppress(OSError, ValueError):
            return self._note.read_text(encoding="ascii")
        return ""


def is_database(path: Path) -> bool:
    """Returns whether a file is a database of SQLite; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _is_unfinished(path: Path) -> bool:
    """Returns whether something is left in the write-ahead log: who closes a log last empties it."""
    with suppress(FileNotFoundError):
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    return False


def _is_write_ahead(path: Path) -> bool:
    """Returns whether the file is marked as a log in use. A backup is not, whatever lies beside it."""
    with path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02"


def _state(path: Path) -> str:
    status = path.stat()
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
