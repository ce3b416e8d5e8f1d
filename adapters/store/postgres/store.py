"""The store on PostgreSQL.

An append locks the one row that counts the positions until it is committed: positions are given in the order of the
commits, and a reader that follows never misses an event. An unconfirmed commit is looked up before anyone
is answered.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Literal

import psycopg
from eventsourcing.persistence import StoredEvent

from adapters.clock import Clock
from adapters.store.append import NO_ATTACHMENTS, Attachments
from adapters.store.errors import Broken, Conflict, Fenced, Rewound, StoreError
from adapters.store.heads import AppendBatch, StreamHeads
from adapters.store.migration import Page, Table, in_pages
from adapters.store.port import Access, Node, StoredReceipt
from adapters.store.postgres import presence
from adapters.store.postgres.claims import PostgresClaims
from adapters.store.postgres.connection import (
    BYTES_PER_SECOND,
    LONG,
    Connections,
    Outage,
    PostgresConnection,
    Unconfirmed,
)
from adapters.store.postgres.news import CHANNEL, Listening
from adapters.store.postgres.rows import LargeTexts, PostgresRows
from adapters.store.postgres.schema import prepare, refuse_newer
from adapters.store.postgres.shares import PostgresShares
from adapters.store.postgres.turns import DatabaseClock, PostgresTurns
from adapters.store.sql.log import SqlRecorder, check_empty, hash_of, receipts_of, redact, rows_of
from adapters.store.sql.turns import apply, check_held
from adapters.store.sql.vault import SqlVault
from domain.session.redaction import REDACTED
from domain.values.sentences import Sentence

READERS: Final = 8
WRITERS: Final = 2
_STATEMENT_BYTES: Final = 1 << 23
_STATEMENT_ROWS: Final = 20_000
_LARGE_TEXT: Final = 1 << 20
LOOK_SECONDS: Final = 30.0
"""Seconds for which a database is believed to keep its promises."""
_SETTLING_SECONDS: Final = 1.5
"""Seconds for which an unconfirmed commit is looked for while the database is unavailable."""


class PostgresStore(LargeTexts, SqlRecorder):
    """The log in a database. Safe for many threads, and for many processes on many machines."""

    def __init__(self, url: str) -> None:
        outage = self._outage = Outage()
        self._readers = Connections(url, size=READERS, outage=outage)
        self._writers = Connections(url, size=WRITERS, outage=outage)
        self._url, self._heads = url, StreamHeads()
        self._failure: StoreError | None = None
        self._listening: Listening | None = None
        self._claims = PostgresClaims(Connections(url, size=1, outage=outage))
        self.clock = DatabaseClock(Clock())
        try:
            prepare(self._writers)
            with self._readers.lent() as connection:
                self.clock.read(connection)
        except BaseException:
            self.close()
            raise
        self.turns = PostgresTurns(self._transaction, self._readers, self.clock)
        self.rows = PostgresRows(self._readers)

    def close(self) -> None:
        """Close the connections; later use raises StoreError."""
        if self._listening is not None:
            self._listening.stop()
        self._claims.close()
        self._readers.close()
        self._writers.close()

    def listen(self, woken: Callable[[], None]) -> None:
        """Call this soon after another process has written. A hint: it may get lost."""
        self._listening = Listening(Connections(self._url, size=1, outage=self._outage), woken, self._look)

    @property
    def vault(self) -> SqlVault:
        aged = "made < now() - interval '1 day'"
        return SqlVault(self._readers.lent, self._writers.transaction, aged=aged, made=PostgresRows.made)

    @property
    def shares(self) -> PostgresShares:
        return PostgresShares(self._readers, self._writers)

    @property
    def attendances(self) -> presence.PostgresAttendances:
        return presence.PostgresAttendances(self._reading, self._transaction)

    @property
    def claims(self) -> PostgresClaims:
        return self._claims

    @property
    def outbox(self) -> Access:
        return self._notifying

    @contextmanager
    def _notifying(self) -> Iterator[PostgresConnection]:
        with self._transaction() as connection:
            connection.execute("SELECT position FROM bookmark FOR UPDATE")
            yield connection

    def attend(self, name: str, role: Literal["server", "worker"], agents: str = "") -> None:
        with self._transaction() as connection:
            presence.attend(connection, name, role, agents)

    def leave(self, name: str) -> None:
        with self._transaction() as connection:
            presence.leave(connection, name)

    def nodes(self) -> list[Node]:
        """The processes that were there a moment ago, on any machine."""
        with self._reading() as connection:
            return presence.live(connection)

    @contextmanager
    def _reading(self) -> Iterator[PostgresConnection]:
        with self._readers.lent() as connection:
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[PostgresConnection]:
        """A transaction. Raises Unconfirmed, and StoreError where the database may lose or refuse it."""
        try:
            with self._writers.transaction() as connection:
                self._check_promises(connection)
                yield connection
        except (Conflict, Fenced, Rewound):
            raise
        except StoreError as error:
            self._failure = error
            raise
        if not isinstance(self._failure, Broken):  # which concerns events: others, as of leases, may succeed
            self._failure = None

    def _check_promises(self, connection: PostgresConnection) -> None:
        """Look whether the database is durable and takes changes: on each new connection, and every minute. Raises
        StoreError."""
        now = time.monotonic()
        if now - connection.raw.looked_at < LOOK_SECONDS:
            return
        fsync, synchronous, read_only = connection.execute(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'),"
            " current_setting('transaction_read_only') = 'on' OR pg_is_in_recovery()"
        ).fetchone() or ("", "", False)
        for setting, value in (("fsync", fsync), ("synchronous_commit", synchronous)):
            if value == "off":
                raise StoreError(Sentence("database_unsafe", database=self._writers.name, setting=setting))
        if read_only:
            raise self._writers.refuse_read_only(connection.raw)
        connection.raw.looked_at = now
        self._outage.settle(connection.raw)

    def _look(self) -> None:
        """Look at the database though no command comes: what is wrong is known to `failing` then."""
        with suppress(StoreError), self._transaction():
            pass

    @property
    def failing(self) -> bool:
        """True if the last write failed and no later one has succeeded."""
        return self._failure is not None

    def failure(self) -> str | None:
        """Returns why the last write failed, None once one would succeed."""
        if self.failing:
            try:
                with self._transaction() as connection:
                    [version] = connection.execute("SELECT format FROM log FOR UPDATE").fetchone() or (0,)
                    refuse_newer(version, self._writers.name)
            except StoreError as error:
                return str(error)
            self._failure = None
        return None

    # -- writing ---------------------------------------------------------------------------------------------------

    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, attachments: Attachments = NO_ATTACHMENTS, **_: Any
    ) -> Sequence[int]:
        attachments = self._ahead(attachments)
        batch: AppendBatch | None = None
        receipts: list[StoredReceipt] = []
        try:
            with self._transaction() as connection:
                head = self._advanced(connection, len(stored_events))
                batch = AppendBatch(self._heads, head, partial(hash_of, connection))
                positions = batch.add_all(stored_events, attachments.hashes)
                receipts = attachments.made_receipts(head, positions)
                _insert(connection, batch, receipts, attachments)
                redact(connection, attachments.redactions, REDACTED.encode())
        except psycopg.IntegrityError as error:
            raise self._conflict(batch, receipts) from error
        except Unconfirmed as error:
            if batch is None or not self._was_committed(batch, receipts):
                raise StoreError(*error.args) from error
        self._heads.keep(batch, positions)
        return positions

    def _ahead(self, attachments: Attachments) -> Attachments:
        """Long texts take seconds, and no other caller should wait for that: they are stored before the log is locked,
        one by one. A text that nothing refers to, because the rest fails, does no harm. The other attachments."""
        if all(len(content) <= _LARGE_TEXT for _, content in attachments.texts):
            return attachments
        rest: list[tuple[str, str]] = []
        for digest, content in attachments.texts:
            if len(content) <= _LARGE_TEXT:
                rest.append((digest, content))
                continue
            words = content.encode()
            with self._transaction() as connection, connection.raw.slower(seconds := len(words) / BYTES_PER_SECOND):
                connection.execute(f"SET LOCAL statement_timeout = '{5 + round(seconds)}s'")
                insert_rows(connection, "texts", [(digest, words)], " ON CONFLICT DO NOTHING")
        return attachments._replace(texts=rest)

    def _advanced(self, connection: PostgresConnection, count: int) -> int:
        """The last position before the batch. Locks the row that counts them. Raises Rewound."""
        newest = self._heads.newest  # before the statement, which sees what was committed before it
        head, version, digest = connection.execute(
            "UPDATE log SET position = position + ? RETURNING position - ?, format,"
            " (SELECT hash FROM events WHERE events.position = ?)",
            (count, count, newest.position),
        ).fetchone() or (0, 0, None)
        self._heads.check(newest, digest)
        refuse_newer(version, self._writers.name)
        return int(head)

    def take_over(self, pages: Iterable[Page]) -> None:
        with self._transaction() as connection:
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.execute("SET LOCAL statement_timeout = 0")
            self._advanced(connection, 0)
            check_empty(connection)
            last = 0
            with connection.raw.slower(LONG):
                for table, rows in pages:
                    if table == "events":
                        last = rows[-1][0]
                    if table == "texts":
                        rows = [(digest, content.encode()) for digest, content in rows]
                    insert_rows(connection, table, rows)
            connection.execute("UPDATE log SET position = ?", [last])

    def _conflict(self, batch: AppendBatch | None, receipts: Sequence[StoredReceipt]) -> Conflict:
        """The commands of a batch that others have written. The transaction is rolled back, so all that is found is
        theirs.
        """
        rows = batch.rows if batch is not None else []
        with self._reading() as connection:
            return Conflict(
                streams={row.stream for row in rows if hash_of(connection, row.stream, row.version) is not None},
                keys=receipts_of(connection, [receipt.key for receipt in receipts]),
            )

    def _was_committed(self, batch: AppendBatch, receipts: Sequence[StoredReceipt]) -> bool:
        """True if an unconfirmed commit took place. Raises StoreError if that is not known yet: then the
        receipts say so when the caller asks again."""
        until = time.monotonic() + _SETTLING_SECONDS
        while True:
            try:
                with self._writers.transaction() as connection:
                    connection.execute("SELECT position FROM log FOR UPDATE")  # waits until that transaction is over
                    if batch.rows:
                        last = batch.rows[-1]
                        return hash_of(connection, last.stream, last.version) == last.hash
                    stored = receipts_of(connection, [receipt.key for receipt in receipts])
                    return bool(receipts) and all(stored.get(receipt.key) == receipt for receipt in receipts)
            except StoreError as error:
                if time.monotonic() > until:
                    raise StoreError(Sentence("database_unconfirmed", database=self._writers.name)) from error
                time.sleep(0.1)


def _insert(
    connection: PostgresConnection, batch: AppendBatch, receipts: Sequence[StoredReceipt], attachments: Attachments
) -> None:
    """Everything of a batch in one round trip: rows as arrays, and the changes of turns. Raises Fenced.

    A version that is taken is reported before a turn that is not held: that one is tried again.
    """
    texts = sorted({digest: content.encode() for digest, content in attachments.texts}.items())
    size = sum(len(row.state) for row in batch.rows) + sum(len(content) for _, content in texts)
    seconds = size / BYTES_PER_SECOND
    with connection.raw.slower(seconds), connection.raw.pipeline():
        if size > _STATEMENT_BYTES:
            connection.execute(f"SET LOCAL statement_timeout = '{5 + round(seconds)}s'")
        for rows in _statements(batch.rows, size):
            insert_rows(connection, "events", rows)
        for rows in _statements(texts, size):
            insert_rows(connection, "texts", rows, " ON CONFLICT DO NOTHING")
        insert_rows(connection, "receipts", rows_of(receipts))
        applied = apply(connection, attachments.turns)
        connection.execute("SELECT pg_notify(?, '')", [CHANNEL])
    check_held(applied)


def _statements(rows: Sequence[Sequence[Any]], size: int) -> Iterator[Sequence[Sequence[Any]]]:
    """The rows of each statement: all of them, unless they are more than a statement can take."""
    if size <= _STATEMENT_BYTES:
        yield rows
    else:
        yield from in_pages(rows, most=_STATEMENT_ROWS, size=_STATEMENT_BYTES)


# Many rows in one statement: a column is an array.

_TYPES: Final[dict[Table, str]] = {
    "events": "bigint text bigint text bytea bytea int",
    "texts": "text bytea",
    "receipts": "text text int bytea bigint bytea",
    "turns": "text text bigint text text text text bigint text bigint bigint bigint text bigint",
}


def insert_rows(
    connection: PostgresConnection, table: Table, rows: Sequence[Sequence[Any]], conflicts: str = ""
) -> None:
    """Insert the rows, all columns of each."""
    if rows:
        arrays = ", ".join(f"%b::{name}[]" for name in _TYPES[table].split())
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.raw.execute(f"INSERT INTO {table} SELECT * FROM unnest({arrays}){conflicts}", columns)
