"""The database of views on SQLite: a second file next to the log. If it is deleted, it is rebuilt.

WAL with `synchronous=NORMAL`: a power cut may take back the newest pages of events, rows and positions together.
"""

import fcntl
import logging
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from adapters.files import private_file, private_folder
from adapters.store.errors import Broken, StoreError
from adapters.store.sqlite.connection import insert
from adapters.store.sqlite.failures import is_damaged, is_permanent, opening_failure
from domain.values.sentences import Sentence

READERS = 4
STATEMENTS: Final = 1_000
"""Statements that stay prepared: inserts of many numbers of rows into many tables."""
_NOT_OURS: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""Errors of the file, the disk or another process; all others are mistakes in a statement."""


_LOOKING_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class ViewsUnavailable(StoreError, OSError):
    """The views do not answer. An OSError, so that a fold can distinguish the world's failures from its own."""


class ViewsBroken(ViewsUnavailable, Broken):
    """They will not until the file or its folder is repaired."""


def _views_error(error: Exception, sentence: Sentence) -> ViewsUnavailable:
    if is_damaged(error):
        sentence = Sentence("two_sentences", first=sentence, second=Sentence("views_may_be_deleted"))
    return ViewsBroken(sentence) if is_permanent(error) else ViewsUnavailable(sentence)


class Statements:
    """The part of a connection that a projection sees."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    def execute(self, sql: str, params: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Raises ViewsUnavailable; a statement that is wrong in itself raises sqlite3.Error."""
        try:
            return self._connection.execute(sql, params)
        except sqlite3.Error as error:
            if (failure := self._failed(error)) is None:
                raise
            raise failure from error

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run `INSERT INTO … VALUES (?, …) …` for all rows; raises what `execute` raises."""
        try:
            insert(self._connection, sql, rows)
        except sqlite3.Error as error:
            if (failure := self._failed(error)) is None:
                raise
            raise failure from error

    def _failed(self, error: sqlite3.Error) -> ViewsUnavailable | None:
        if not is_unavailable(error):
            return None
        code = "views_not_answering" if is_permanent(error) else "views_not_answering_now"
        return _views_error(error, Sentence(code, path=self._path, detail=error))


class SqliteViews:
    """Views in one file. Safe for many threads, and for several processes on the same machine."""

    def __init__(self, path: str | Path, *, busy_seconds: float = 5.0) -> None:
        self.path = Path(path)
        self._busy = busy_seconds
        self._lock = threading.Lock()
        self._closed = False
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        try:
            private_folder(self.path.parent)
            private_file(self.path)
            self._writer = self._connect()
            for _ in range(READERS):
                self._readers.put(self._connect("query_only=1"))
        except (OSError, sqlite3.Error) as error:
            raise _views_error(error, opening_failure("views", self.path, error)) from error

    def _connect(self, *pragmas: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=self._busy,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS,
        )
        try:
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", *pragmas):
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextmanager
    def transaction(self) -> Iterator[Statements]:
        """One writer at a time, among threads and processes; all or nothing. Raises ViewsUnavailable."""
        with self._lock:
            statements = Statements(self._writer, self.path)
            statements.execute("BEGIN IMMEDIATE")
            try:
                yield statements
                statements.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    @contextmanager
    def beside(self, parts: Sequence[Path]) -> Iterator[tuple[Statements, Sequence[str]]]:
        """A transaction in which the tables of other files of views can be read, each under a schema's name: at most
        ten. Raises ViewsUnavailable."""
        names = [f"part_{number}" for number in range(len(parts))]
        statements = Statements(self._writer, self.path)
        with self._lock:
            for name, part in zip(names, parts, strict=True):
                statements.execute(f"ATTACH DATABASE ? AS {name}", (str(part),))
        try:
            with self.transaction() as db:
                yield db, names
        finally:
            with self._lock:
                for name in names:
                    statements.execute(f"DETACH DATABASE {name}")

    @contextmanager
    def reading(self) -> Iterator[Statements]:
        """All that is read inside is of one moment."""
        connection = self._readers.get()
        try:
            statements = Statements(connection, self.path)
            statements.execute("BEGIN")
            yield statements
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._give_back(connection)

    def scrub(self) -> None:
        """Leave no bytes of deleted rows in the file or its log. Raises ViewsUnavailable."""
        with self._lock:
            statements = Statements(self._writer, self.path)
            statements.execute("VACUUM")
            statements.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        self._readers.put(connection)
        if self._closed:
            self._close_readers()

    def _close_readers(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._readers.get_nowait().close()

    def close(self) -> None:
        """Give the connections back, those that are read from when they come home."""
        self._closed = True
        with self._lock:
            self._writer.close()
        self._close_readers()


def open_views(path: Path) -> SqliteViews:
    """The views. Where the file is damaged it is put aside, with one warning, and they begin with none: they are folded
    again from the log."""
    if damage_of(path) is not None:
        with path.with_name(f"{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (problem := damage_of(path)) is not None:  # else another process was faster
                aside = path.with_name(f"{path.name}.damaged")
                for end in ("", "-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        path.with_name(path.name + end).replace(aside.with_name(aside.name + end))
                log.warning(
                    "the views %s were damaged (%s): they are built again from the log; the damaged file is %s",
                    *(path, problem, aside),
                )
    return SqliteViews(path)


def damage_of(path: Path) -> str | None:
    """The faults that SQLite finds in the file of the views; None where it is sound, missing or cannot be looked at."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path, timeout=_LOOKING_SECONDS)) as connection:
            [report] = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error) if is_damaged(error) else None
    return None if report == "ok" else " ".join(str(report).split())


def is_unavailable(error: BaseException) -> bool:
    """True if it is the file, the disk or another process, and no mistake in a statement.

    Extended codes carry the primary one in their low byte; errors of Python's own module carry none.
    """
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_OURS
