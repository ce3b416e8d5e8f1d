"""The rows of the log in SQL, without decoding."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import orjson

from adapters.store.port import Row, StoreError
from adapters.store.sql.connection import Access
from adapters.store.sql.log import as_text, hash_of
from adapters.store.vault import REVOKED

PAGE = 1_000


class SqlRows:
    """What the rows of all SQL stores have in common."""

    elements: ClassVar[str]
    """The elements of a JSON array."""

    def __init__(self, reading: Access) -> None:
        self._reading = reading

    def events(self, streams: Sequence[str] | None = None, *, after: int = 0, page: int = PAGE) -> Iterator[Row]:
        """All events after a position, or those of some sessions, by position. Raises StoreError where a row is not
        what the table allows."""
        wanted = "" if streams is None else f" AND stream IN ({self.elements})"
        values = () if streams is None else (orjson.dumps(list(streams)).decode(),)
        while True:
            with self._reading() as connection:
                found = connection.execute(
                    f"SELECT position, stream, version, topic, state, hash FROM events WHERE position > ?{wanted}"
                    " ORDER BY position LIMIT ?",
                    (after, *values, page),
                ).fetchall()
            for row in found:
                if row[0] <= after or tuple(map(type, row)) != _TYPES:
                    raise _unsound(after, row)
                after = row[0]
                yield Row(*row)
            if len(found) < page:
                return

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """The chained hash of an event: it covers everything before it in its stream."""
        with self._reading() as connection:
            return hash_of(connection, stream, version)

    def streams(self) -> list[str]:
        """Every session and channel, oldest first."""
        with self._reading() as connection:
            rows = connection.execute("SELECT stream FROM events GROUP BY stream ORDER BY min(position)")
            return [str(row[0]) for row in rows]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Digest and content of every long text, by digest. Raises StoreError."""
        for digest, content in self._by_key("digest, content", "texts", "digest"):
            if not isinstance(content, str | bytes):
                raise StoreError(f"The text {digest} is not a text.")
            yield digest, as_text(content)

    def receipts(self) -> Iterator[Sequence[Any]]:
        """Key, fingerprint, status, body and time of every receipt, by key."""
        return self._by_key("key, fingerprint, status, body, at", "receipts", "key")

    def turns(self) -> Iterator[Sequence[Any]]:
        """The lease table, by turn."""
        columns = "turn_id, stream, version, work, agent, role, state, attempt, worker, lease_until, deadline"
        return self._by_key(f"{columns}, requested_at", "turns", "turn_id")

    def api_keys(self) -> Iterator[Sequence[Any]]:
        """Name, digest, scope and end of every API key, by name."""
        return self._by_key("name, digest, scope, expires", "keys", "name")

    def revoked_keys(self) -> Iterator[str]:
        """The digests of keys that were revoked."""
        names = (str(name) for name, _ in self._by_key("name, length(value)", "secrets", "name"))
        return (name.removeprefix(REVOKED) for name in names if name.startswith(REVOKED))

    def _by_key(self, columns: str, table: str, key: str) -> Iterator[Sequence[Any]]:
        """All rows of a table, the key first in each. Raises StoreError."""
        after = ""
        while True:
            with self._reading() as connection:
                found = connection.execute(
                    f"SELECT {columns} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?", (after, PAGE)
                ).fetchall()
            for row in found:
                if not isinstance(row[0], str) or row[0] <= after:
                    raise StoreError(f"The table of {table} is not in order after {after!r}.")
                after = row[0]
                yield row
            if len(found) < PAGE:
                return

    def open_turns(self) -> dict[str, tuple[Any, ...]]:
        """Session, version, work, agent, role, time and deadline of each turn not settled in the lease table."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT turn_id, stream, version, work, agent, role, requested_at, deadline FROM turns"
                " WHERE state IN ('queued', 'running', 'held')"
            )
            return {str(turn_id): tuple(found) for turn_id, *found in rows}


_TYPES = (int, str, int, str, bytes, bytes)


def _unsound(before: int, found: tuple[Any, ...]) -> StoreError:
    if found[0] <= before:
        return StoreError(f"Position {found[0]} follows {before}: the table is not in order.")
    return StoreError(f"The event at position {found[0]} has values of a wrong type.")
