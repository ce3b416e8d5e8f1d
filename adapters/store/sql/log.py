"""The log in SQL, on the connections of a store: reading it, removing a text, and the check before an import."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import orjson
from eventsourcing.persistence import Notification, StoredEvent

from adapters.store.append import EventRecorder, Redaction
from adapters.store.blanks import blanked
from adapters.store.mapper import decode_all
from adapters.store.migration import COLUMNS, NotEmpty, Page
from adapters.store.outline import outline_all
from adapters.store.port import NO_LIMIT, PAGE, SqlConnection, StoredReceipt
from adapters.store.sql.compression import plain, unpack
from domain.session.record import Omitted, Recorded, Sight
from domain.values.sentences import Sentence


class SqlLog(ABC):
    """The reading half of a store."""

    elements: ClassVar[str]
    """The elements of a JSON array."""
    epochs: ClassVar[str] = "SELECT 0"
    """The query for the log's epoch. One that is only read may be older than the table."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[SqlConnection]:
        """A connection. Errors of the database leave it as StoreError."""

    def history(
        self,
        session_id: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        topics: Sequence[str] | None = None,
    ) -> list[Recorded]:
        """The events of a session with versions `after`+1 … `upto`, perhaps of some types alone."""
        wanted = "" if topics is None else f" AND topic IN ({self.elements})"
        values = () if topics is None else (_array(topics),)
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT position, stream, version, topic, state FROM events"
                f" WHERE stream = ? AND version > ? AND version <= ?{wanted} ORDER BY version LIMIT ?",
                (session_id, after, _or_none(upto), *values, _or_none(limit)),
            ).fetchall()
        return decode_all(plain(rows, 4))

    def beginnings(self, sessions: Sequence[str]) -> list[Recorded]:
        """The first event of each of these sessions."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT position, stream, version, topic, state FROM events"
                f" WHERE stream IN ({self.elements}) AND version = 1",
                (_array(sessions),),
            ).fetchall()
        return decode_all(plain(rows, 4))

    def log(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        kind: str | None = None,
        topic: str | None = None,
        session_id: str | None = None,
        sessions: Sequence[str] | None = None,
        omitted: Omitted | None = None,
    ) -> list[Recorded]:
        """The events after a position, at most `limit`: of the whole log, or of one kind or type, of one session or
        some; perhaps without some fields."""
        where: list[str] = ["position > ?"]
        values: list[Any] = [after]
        for column, value in (("topic", topic), ("stream", session_id)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        if sessions is not None:
            where.append(f"(stream || '') IN ({self.elements})")
            values.append(_array(sessions))
        if kind is not None:
            # Expressions, so that no index is used: in the log's order as it lies, never all of a kind sorted.
            where.append("stream || '' >= ? AND stream || '' < ?")
            values += [f"{kind}-", f"{kind}."]
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT position, stream, version, topic, state FROM events WHERE {' AND '.join(where)}"
                f" ORDER BY {'position' if session_id is None else 'version'} LIMIT ?",
                (*values, limit),
            ).fetchall()
        page = plain(rows, 4)
        return decode_all(page) if omitted is None else outline_all(page, omitted)

    def head(self) -> int:
        """The newest position, 0 for an empty log."""
        with self._reading() as connection:
            return int(connection.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])

    def sight(self, *positions: int) -> Sight:
        """The end of the log, and the marks of its events at these positions, all of one moment."""
        marks = "".join(", (SELECT hash FROM events WHERE position = ?)" for _ in positions)
        with self._reading() as connection:
            head, epoch, *hashes = connection.execute(
                f"SELECT (SELECT coalesce(max(position), 0) FROM events), ({self.epochs}){marks}", positions
            ).fetchone()
        return Sight(head, epoch, tuple(bytes(each).hex() if isinstance(each, bytes) else None for each in hashes))

    def gone_back(self, since: int) -> int:
        """The log's own epoch: in one that is only read, nothing is noted. Another number would never be reached."""
        return self.sight().epoch

    def version(self, session_id: str) -> int:
        """The newest version of a session, 0 if there is none."""
        with self._reading() as connection:
            row = connection.execute("SELECT max(version) FROM events WHERE stream = ?", (session_id,)).fetchone()
        return int(row[0] or 0)

    def text(self, digest: str) -> str | None:
        """A long text by its digest."""
        with self._reading() as connection:
            row = connection.execute("SELECT content FROM texts WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else as_text(row[0])

    def turns_of(self, agent: str) -> dict[str, int]:
        """The numbers of the agent's turns that wait and that run."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT state, count(*) FROM turns WHERE work = 'ask' AND lower(agent) = lower(?)"
                " AND state IN ('queued', 'running') GROUP BY state",
                (agent,),
            ).fetchall()
        return dict(rows)


class SqlRecorder(SqlLog, EventRecorder):
    """The other reads of a store: receipts, and those of the eventsourcing library."""

    epochs = "SELECT coalesce(max(number), 0) FROM epochs"

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[SqlConnection]:
        """A connection in a transaction. Errors of the database leave it as StoreError."""

    def gone_back(self, since: int) -> int:
        """Note that the log has gone back since its epoch `since`, unless another process has; the epoch now."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO epochs SELECT ?, coalesce(max(position), 0) FROM events"
                " WHERE NOT EXISTS (SELECT 1 FROM epochs WHERE number > ?) ON CONFLICT DO NOTHING",
                (since + 1, since),
            )
            return int(connection.execute(self.epochs).fetchone()[0])

    @abstractmethod
    def take_over(self, pages: Iterable[Page]) -> None:
        """Store all rows of another log in one transaction. Raises NotEmpty, or what `pages` raises; then nothing is
        stored."""

    def receipts(self, keys: Sequence[str]) -> dict[str, StoredReceipt]:
        """The first answers that were given under these keys."""
        with self._reading() as connection:
            return receipts_of(connection, keys)

    def select_events(
        self,
        originator_id: Any,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT stream, version, topic, state FROM events WHERE stream = ? AND version > ? AND version <= ?"
                f" ORDER BY version {'DESC' if desc else 'ASC'} LIMIT ?",
                (str(originator_id), gt or 0, _or_none(lte), _or_none(limit)),
            ).fetchall()
        return [StoredEvent(*row) for row in plain(rows, 3)]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        begin = 0 if start is None else start - 1 if inclusive_of_start else start
        among = f" AND topic IN ({marks(topics)})" if topics else ""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT stream, version, topic, state, position FROM events"
                f" WHERE position > ? AND position <= ?{among} ORDER BY position LIMIT ?",
                (begin, _or_none(stop), *topics, limit),
            ).fetchall()
        return [Notification(*row) for row in plain(rows, 3)]

    def max_notification_id(self) -> int | None:
        return self.head() or None


def _array(values: Sequence[str]) -> str:
    return orjson.dumps(list(values)).decode()


def _or_none(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit


def as_text(content: str | bytes) -> str:
    """A long text as a store keeps it: PostgreSQL's own text cannot hold every character, so there it is bytes."""
    return content if isinstance(content, str) else content.decode()


def marks(values: Sequence[object]) -> str:
    """A parameter for each value."""
    return ",".join("?" * len(values))


def hash_of(connection: SqlConnection, stream: str, version: int) -> bytes | None:
    """The chained hash of an event."""
    row = connection.execute("SELECT hash FROM events WHERE stream = ? AND version = ?", (stream, version)).fetchone()
    return None if row is None else bytes(row[0])


def receipts_of(connection: SqlConnection, keys: Sequence[str]) -> dict[str, StoredReceipt]:
    """The receipts under these keys."""
    if not keys:
        return {}
    rows = connection.execute(
        f"SELECT key, fingerprint, status, body, at FROM receipts WHERE key IN ({marks(keys)})", keys
    ).fetchall()
    return {row[0]: StoredReceipt(*row) for row in rows}


def rows_of(receipts: Sequence[StoredReceipt]) -> list[tuple[str, str, int, bytes, int, bytes]]:
    """The rows of receipts."""
    return [(each.key, each.fingerprint, each.status, each.body, each.at, each.digest) for each in receipts]


def check_empty(connection: SqlConnection) -> None:
    """Raise NotEmpty if any table has a row."""
    if any(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None for table in COLUMNS):
        raise NotEmpty(Sentence("migration_not_empty"))


_OF_EVENT = "WHERE stream = ? AND version = ?"


def redact(
    connection: SqlConnection,
    redactions: Sequence[Redaction],
    content: str | bytes,
    pack: Callable[[bytes], bytes] = bytes,
) -> None:
    """In the transaction that records it. `content` replaces the text, in the column type of the table; `pack` makes
    what the table holds of a state."""
    for redaction in redactions:
        connection.execute("UPDATE texts SET content = ? WHERE digest = ?", (content, redaction.digest))
        for version in redaction.versions:
            place = (redaction.stream, version)
            row = connection.execute(f"SELECT state, form FROM events {_OF_EVENT}", place).fetchone()
            if row is not None:
                state = blanked(unpack(bytes(row[0])), redaction.digest, row[1])
                connection.execute(f"UPDATE events SET state = ? {_OF_EVENT}", (pack(state), *place))
