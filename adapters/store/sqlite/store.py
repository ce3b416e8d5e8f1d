"""The store on SQLite: one writing connection and a pool of reading ones.

WAL with `synchronous=FULL`: an answer leaves after its bytes are synced. Positions come from AUTOINCREMENT, so that a
backup or VACUUM never renumbers them; event rows are never changed or deleted.
"""

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from eventsourcing.persistence import StoredEvent

from adapters.clock import Clock
from adapters.files import private_file, private_folder
from adapters.store.append import NO_ATTACHMENTS, Attachments
from adapters.store.errors import Conflict, StoreError
from adapters.store.heads import AppendBatch, StreamHeads
from adapters.store.migration import COLUMNS, Page
from adapters.store.port import StoredReceipt
from adapters.store.rows import Row
from adapters.store.sql.compression import pack
from adapters.store.sql.log import SqlRecorder, check_empty, hash_of, receipts_of, redact, rows_of
from adapters.store.sql.rows import TURN_COLUMNS
from adapters.store.sql.turns import SqlTurns, apply, check_held
from adapters.store.sql.vault import SqlVault
from adapters.store.sqlite.columns import add_columns
from adapters.store.sqlite.connection import FORMAT, check_ownership, connect_durably, insert
from adapters.store.sqlite.failures import WriteHealth, is_file_error, is_permanent, opening_failure, store_error
from adapters.store.sqlite.rows import SqliteRows
from adapters.store.sqlite.schema import SCHEMA
from domain.session.redaction import REDACTED
from domain.values.sentences import Sentence

READERS = 4
WAL_BYTES: Final = 64 * 1024 * 1024
"""From this size on the write-ahead log is shortened: a reader that stays long lets it grow."""
_AGAIN_SECONDS: Final = 1.0


class SqliteStore(SqlRecorder):
    """The log in one file. Safe for many threads, and for several processes on the same machine."""

    elements = SqliteRows.elements

    def __init__(self, path: str, *, busy_seconds: float = 5.0) -> None:
        self.path = Path(path)
        self._busy = busy_seconds
        self._lock = threading.RLock()
        self._closed = False
        self._shortens_at = 0.0
        self._shortening: threading.Timer | None = None
        self._heads, self._writing = StreamHeads(), WriteHealth()
        self.clock = Clock()
        self._readers: queue.LifoQueue[sqlite3.Connection | None] = queue.LifoQueue()
        try:
            check_ownership(self.path, busy_seconds)
            private_folder(self.path.parent)
            private_file(self.path)
            self._writer = self._connect()
            add_columns(self._writer)
            self._writer.executescript(SCHEMA)
            if self._writer.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                self._writer.execute(f"PRAGMA user_version = {FORMAT}")
            for _ in range(READERS):
                self._readers.put(self._connect("query_only=1"))
        except (OSError, sqlite3.Error) as error:
            raise store_error(error, opening_failure("log", self.path, error)) from error
        self.turns = SqlTurns(
            self._transaction, self._reading, leasing=self._unflushed, by_deadline="INDEXED BY turns_due"
        )
        self.rows = SqliteRows(self.path, self._reading)

    @property
    def vault(self) -> SqlVault:
        aged = "made < CAST(strftime('%s', 'now') AS INTEGER) - 86400"
        return SqlVault(self._reading, self._transaction, aged=aged, made=SqliteRows.made)

    def _connect(self, *pragmas: str) -> sqlite3.Connection:
        return connect_durably(self.path, self._busy, *pragmas)

    def close(self) -> None:
        """Close the connections, those in use when they are returned; later use raises StoreError."""
        with self._lock:
            self._closed = True
            if self._shortening is not None:
                self._shortening.cancel()
            self._writer.close()
        self._close_readers()

    def _close_readers(self) -> None:
        with suppress(queue.Empty):
            while True:
                reader = self._readers.get_nowait()
                if reader is not None:
                    reader.close()
        self._readers.put(None)  # wakes the waiters for a connection

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._lock, self._begin, self._end)

    def _begin(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(Sentence("log_closed", path=self.path))
        self._writer.execute("BEGIN IMMEDIATE")
        return self._writer

    def _end(self, error: BaseException | None) -> None:
        """Commit, or undo everything after an error. Raises StoreError if it is the file's."""
        try:
            if error is not None:
                raise error
            self._writer.execute("COMMIT")
        except BaseException as reason:
            if not self._closed and self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            if is_file_error(reason):
                raise self._writing.failed(reason, self._sentence("log_not_writable", reason)) from reason
            raise
        self._writing.succeeded()

    @contextmanager
    def _unflushed(self) -> Iterator[sqlite3.Connection]:
        """A transaction that outlives this process, but a power cut may undo it."""
        with self._lock:
            if not self._closed:
                self._writer.execute("PRAGMA synchronous=NORMAL")
            try:
                with self._transaction() as connection:
                    yield connection
            finally:
                if not self._closed:
                    self._writer.execute("PRAGMA synchronous=FULL")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        connection = self._readers.get()
        if connection is None:
            self._readers.put(None)
            raise StoreError(Sentence("log_closed", path=self.path))
        try:
            yield connection
        except sqlite3.Error as error:
            if is_file_error(error):
                raise store_error(error, self._sentence("log_unreadable", error)) from error
            raise
        finally:
            self._readers.put(connection)
            if self._closed:
                self._close_readers()

    def _sentence(self, code: str, error: BaseException) -> Sentence:
        if is_permanent(error):
            return Sentence(code, path=self.path, detail=error, after=Sentence("verify_and_doctor"))
        return Sentence(f"{code}_now", path=self.path, detail=error)

    @property
    def failing(self) -> bool:
        """True if the last write failed and no later one has succeeded."""
        return self._writing.failure is not None

    def failure(self) -> str | None:
        """Returns why the last write failed, None once one has succeeded. What may be over (a full disk) is tried with
        a write that changes nothing; damage is over once events are written again."""
        if self.failing:
            with suppress(StoreError), self._transaction() as connection:
                [version] = connection.execute("PRAGMA user_version").fetchone()
                connection.execute(f"PRAGMA user_version={version}")
        error = self._writing.failure
        return None if error is None else str(error)

    # -- writing ---------------------------------------------------------------------------------------------------

    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, attachments: Attachments = NO_ATTACHMENTS, **_: Any
    ) -> Sequence[int]:
        batch: AppendBatch | None = None
        receipts: list[StoredReceipt] = []
        try:
            with self._transaction() as connection:
                newest = self._heads.newest
                self._heads.check(newest, _hash_at(connection, newest.position))
                batch = AppendBatch(self._heads, 0, partial(hash_of, connection))
                count = len(batch.add_all(stored_events, attachments.hashes))
                # A version that is taken is reported before a turn that is not held: that one is tried again.
                last = insert(connection, _EVENTS, [_packed(row) for row in batch.rows]) or _last_given(connection)
                positions = list(range(last - count + 1, last + 1))  # no other writer is between them
                receipts = attachments.made_receipts(last - count, positions)
                if attachments.texts:
                    insert(connection, "INSERT OR IGNORE INTO texts VALUES (?, ?)", attachments.texts)
                if receipts:
                    insert(connection, "INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?)", rows_of(receipts))
                if attachments.turns:
                    check_held(apply(connection, attachments.turns))
                if attachments.redactions:
                    connection.execute("PRAGMA secure_delete = ON")  # nothing of it stays in unused parts of the file
                    redact(connection, attachments.redactions, REDACTED, pack)
        except sqlite3.IntegrityError as error:
            raise self._conflict(batch.rows if batch else [], receipts) from error
        self._heads.keep(batch, positions)
        self._writing.appended()
        if attachments.redactions:
            self._forget_wal()
        elif wal_bytes(self.path) > WAL_BYTES and time.monotonic() >= self._shortens_at:
            self._shorten_wal()
        return positions

    def take_over(self, pages: Iterable[Page]) -> None:
        with self._transaction() as connection:
            check_empty(connection)
            for table, rows in pages:
                places = ", ".join("?" * COLUMNS[table])
                packed = [(row[0], *_packed(row)) for row in rows] if table == "events" else rows
                into = f"turns ({TURN_COLUMNS})" if table == "turns" else table
                insert(connection, f"INSERT INTO {into} VALUES ({places})", packed)

    def _forget_wal(self) -> None:
        """Empty the write-ahead log if no one reads from it; otherwise the next checkpoint does."""
        with self._lock, suppress(sqlite3.Error):
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _shorten_wal(self) -> None:
        """The same without waiting for who reads from it: that is tried again later, whether or not more is written."""
        self._shortens_at = time.monotonic() + _AGAIN_SECONDS
        with self._lock:
            if self._closed:
                return
            with suppress(sqlite3.Error):
                self._writer.execute("PRAGMA busy_timeout = 0")
                try:
                    self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                finally:
                    self._writer.execute(f"PRAGMA busy_timeout = {round(self._busy * 1000)}")
            if self._shortening is None and wal_bytes(self.path) > WAL_BYTES:
                self._shortening = threading.Timer(_AGAIN_SECONDS, self._shorten_again)
                self._shortening.daemon = True
                self._shortening.start()

    def _shorten_again(self) -> None:
        with self._lock:
            self._shortening = None
            self._shorten_wal()

    def _conflict(self, rows: Sequence[Row], receipts: Sequence[StoredReceipt]) -> Conflict:
        """The commands of a batch that others have written. The transaction is rolled back, so all that is found is
        theirs.
        """
        with self._reading() as connection:
            return Conflict(
                streams={row.stream for row in rows if hash_of(connection, row.stream, row.version) is not None},
                keys=receipts_of(connection, [receipt.key for receipt in receipts]),
            )


def wal_bytes(path: Path) -> int:
    """The size of the write-ahead log of the file, 0 without one."""
    try:
        return os.stat(f"{path}-wal").st_size  # noqa: PTH116 - each commit asks, and making a path takes three times as long
    except FileNotFoundError:
        return 0


class _Transaction:
    """One thread at a time begins and ends; a generator would take three times as long."""

    __slots__ = ("_begin", "_end", "_lock")

    def __init__(
        self,
        lock: AbstractContextManager[bool],
        begin: Callable[[], sqlite3.Connection],
        end: Callable[[BaseException | None], None],
    ) -> None:
        self._lock, self._begin, self._end = lock, begin, end

    def __enter__(self) -> sqlite3.Connection:
        self._lock.__enter__()
        try:
            return self._begin()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self._end(error)
        finally:
            self._lock.__exit__(None, None, None)


_EVENTS: Final = "INSERT INTO events (stream, version, topic, state, hash, form) VALUES (?, ?, ?, ?, ?, ?)"


def _packed(row: Sequence[Any]) -> tuple[Any, ...]:
    """An event as the file holds it, without its position."""
    _, stream, version, topic, state, digest, form = row
    return (stream, version, topic, pack(state), digest, form)


def _hash_at(connection: sqlite3.Connection, position: int) -> bytes | None:
    row = connection.execute("SELECT hash FROM events WHERE position = ?", (position,)).fetchone()
    return None if row is None else row[0]


def _last_given(connection: sqlite3.Connection) -> int:
    """The last position that was ever given: AUTOINCREMENT never gives one twice."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    return int(row[0]) if row else 0
