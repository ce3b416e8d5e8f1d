"""The rows of the log in SQL, without decoding."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import itemgetter, lt
from typing import Any, ClassVar

import orjson

from adapters.store.errors import StoreError
from adapters.store.port import Access, SqlConnection
from adapters.store.rows import Row, size_of, time_of
from adapters.store.sql.compression import plain
from adapters.store.sql.log import as_text, hash_of
from domain.session.record import Fingerprint
from domain.values.sentences import Sentence

PAGE = 1_000
_FIRST_PAGE, _PAGE_BYTES = 32, 1 << 22
"""Pages of rows that may be long, as texts are, have about so many bytes: digests follow each other in no order, so the
sizes of a page tell those of the next one."""
_EVENT = "position, stream, version, topic, state, hash, form"
_STATE = 4
TURN_COLUMNS = (
    "turn_id, stream, version, work, agent, role, state, attempt, worker, lease_until, deadline, requested_at,"
    " owner, rank"
)
"""Without what running attempts have used: that is part of a lease, which ends where a log is moved or proved."""


class SqlRows(ABC):
    """The common part of the rows of all SQL stores."""

    engine: ClassVar[str]
    elements: ClassVar[str]
    """The elements of a JSON array."""
    made: ClassVar[str]
    """The time of a link in SQL, as a whole number."""

    def __init__(self, reading: Access) -> None:
        self._reading = reading
        self._has_forms = False

    def _event(self, connection: SqlConnection) -> str:
        """The columns of an event. A log that no newer version has opened has only events of the first form."""
        if not self._has_forms:
            self._has_forms = self._knows_forms(connection)
        return _EVENT if self._has_forms else _EVENT.replace("form", "1")

    @abstractmethod
    def _knows_forms(self, connection: SqlConnection) -> bool:
        """Tell whether the table of events has the column `form`."""

    def events(self, streams: Sequence[str] | None = None, *, after: int = 0, page: int = PAGE) -> Iterator[Row]:
        """All events after a position, or those of some sessions, by position. Raises StoreError where a row is not
        what the table allows."""
        for rows in self._row_pages(streams, after, page):
            for row in rows:
                if row[0] <= after or tuple(map(type, row)) != _TYPES:
                    raise _unsound(after, row)
                after = row[0]
                yield Row._make(row)

    def pages(self, *, after: int = 0, page: int = 250) -> Iterator[Sequence[Row]]:
        """All events after a position, many at a time. Raises StoreError where a row of a page is unsound."""
        for rows in self._row_pages(None, after, page):
            positions = [after, *map(itemgetter(0), rows)]
            kinds = (set(map(type, column)) for column in zip(*rows, strict=True))
            if any({kind} != there for kind, there in zip(_TYPES, kinds, strict=False)):
                raise StoreError(Sentence("event_after_of_wrong_type", position=after))
            if not all(map(lt, positions, positions[1:])):
                raise StoreError(Sentence("events_out_of_order", position=after))
            yield list(map(Row._make, rows))
            after = positions[-1]

    def _row_pages(self, streams: Sequence[str] | None, after: int, page: int) -> Iterator[Sequence[Any]]:
        """Pages of rows by position."""
        wanted = "" if streams is None else f" AND stream IN ({self.elements})"
        values = () if streams is None else (orjson.dumps(list(streams)).decode(),)
        while True:
            with self._reading() as connection:
                rows = connection.execute(
                    f"SELECT {self._event(connection)} FROM events"
                    f" WHERE position > ?{wanted} ORDER BY position LIMIT ?",
                    (after, *values, page),
                ).fetchall()
            yield plain(rows, _STATE)
            if len(rows) < page:
                return
            after = rows[-1][0]

    def by_stream(self) -> Iterator[Row]:
        """All events, one session after another."""
        last: tuple[str, int] = ("", 0)
        while True:
            with self._reading() as connection:
                rows = connection.execute(
                    f"SELECT {self._event(connection)} FROM events"
                    " WHERE (stream, version) > (?, ?) ORDER BY stream, version LIMIT ?",
                    (*last, PAGE),
                ).fetchall()
            yield from map(Row._make, plain(rows, _STATE))
            if len(rows) < PAGE:
                return
            last = rows[-1][1:3]

    def row(self, stream: str, version: int) -> Row | None:
        """One event."""
        with self._reading() as connection:
            statement = f"SELECT {self._event(connection)} FROM events WHERE stream = ? AND version = ?"
            match = connection.execute(statement, (stream, version)).fetchall()
        return next(map(Row._make, plain(match, _STATE)), None)

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """The chained hash of an event: it covers everything before it in its stream."""
        with self._reading() as connection:
            return hash_of(connection, stream, version)

    def streams(self) -> list[str]:
        """Every session and channel, oldest first."""
        with self._reading() as connection:
            rows = connection.execute("SELECT stream FROM events GROUP BY stream ORDER BY min(position)")
            return [str(row[0]) for row in rows]

    def count(self, upto: int) -> int:
        """The number of events up to a position. No index has the topic, so a damaged one hides no event."""
        with self._reading() as connection:
            rows = connection.execute("SELECT count(*) FROM events WHERE topic <> '' AND position <= ?", (upto,))
            return int(rows.fetchone()[0])

    def fingerprints(self, *, after: int = 0, upto: int, limit: int) -> Sequence[Fingerprint]:
        """Returns what identifies the events after a position, at most `limit`; unsound rows are left out."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT position, stream, version, hash, state FROM events WHERE position > ? AND position <= ?"
                " ORDER BY position LIMIT ?",
                (after, upto, limit),
            ).fetchall()
        return [
            Fingerprint(position, stream, version, digest.hex(), time_of(state))
            for position, stream, version, digest, state in plain(rows, 4)
            if isinstance(digest, bytes) and isinstance(state, bytes)
        ]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Digest and content of every long text, by digest. Raises StoreError."""
        for digest, content in self._by_key("digest, content", "texts", "digest"):
            if not isinstance(content, str | bytes):
                raise StoreError(Sentence("text_of_wrong_type", digest=digest))
            yield digest, as_text(content)

    def known_texts(self, digests: Sequence[str]) -> set[str]:
        """Those of these digests that have a text."""
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT digest FROM texts WHERE digest IN ({self.elements})", (orjson.dumps(list(digests)).decode(),)
            )
            return {str(digest) for (digest,) in rows.fetchall()}

    def receipts(self) -> Iterator[Sequence[Any]]:
        """Key, fingerprint, status, body, time and digest of every receipt, by key."""
        return self._by_key("key, fingerprint, status, body, at, digest", "receipts", "key")

    def turns(self, stream: str | None = None) -> Iterator[Sequence[Any]]:
        """The lease table by turn: all of it, or what is named after a session."""
        if stream is None:
            yield from self._by_key(TURN_COLUMNS, "turns", "turn_id")
            return
        with self._reading() as connection:
            named = f"SELECT {TURN_COLUMNS} FROM turns WHERE turn_id > ? AND turn_id < ?"
            rows = connection.execute(named, (f"{stream}.", f"{stream}/")).fetchall()
        yield from rows

    def turn_count(self) -> int:
        """The number of rows in the lease table."""
        with self._reading() as connection:
            return int(connection.execute("SELECT count(*) FROM turns").fetchone()[0])

    def api_keys(self) -> Iterator[Sequence[Any]]:
        """Name, digest, scope and end of every API key, by name."""
        return self._by_key("name, digest, scope, expires", "keys", "name")

    def links(self) -> Iterator[Sequence[Any]]:
        """Digest, name and time of every link that signs in once, by digest."""
        return self._by_key(f"digest, name, {self.made}", "links", "digest")

    def secrets(self) -> Iterator[tuple[str, bytes]]:
        """Name and value of every secret, by name. Raises StoreError."""
        for name, value in self._by_key("name, value", "secrets", "name"):
            if not isinstance(value, bytes):
                raise StoreError(Sentence("secret_of_wrong_type", name=name))
            yield name, value

    def _by_key(self, columns: str, table: str, key: str) -> Iterator[Sequence[Any]]:
        """All rows of a table, the key first in each. Raises StoreError."""
        after, limit = "", _FIRST_PAGE
        while True:
            with self._reading() as connection:
                rows = connection.execute(
                    f"SELECT {columns} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?", (after, limit)
                ).fetchall()
            for row in rows:
                if not isinstance(row[0], str) or row[0] <= after:
                    raise StoreError(Sentence("table_out_of_order", table=table, place=repr(after)))
                after = row[0]
                yield row
            if len(rows) < limit:
                return
            limit = min(PAGE, 2 * limit, 1 + _PAGE_BYTES * len(rows) // max(1, sum(map(size_of, rows))))

    def open_turns(self) -> dict[str, tuple[Any, ...]]:
        """Session, version, work, agent, role, time and deadline of each turn not settled in the lease table."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT turn_id, stream, version, work, agent, role, requested_at, deadline FROM turns"
                " WHERE state IN ('queued', 'running', 'held')"
            )
            return {str(turn_id): tuple(turn) for turn_id, *turn in rows}


_TYPES = (int, str, int, str, bytes, bytes, int)


def _unsound(before: int, row: tuple[Any, ...]) -> StoreError:
    if row[0] <= before:
        return StoreError(Sentence("position_follows", position=row[0], number=before))
    return StoreError(Sentence("event_of_wrong_type", position=row[0]))
