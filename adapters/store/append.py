"""What one transaction writes: rows are numbered and chained as they come and go to the file together."""

import sqlite3
from collections import OrderedDict

from eventsourcing.persistence import StoredEvent

from adapters.store.mapper import Conflict, Receipt, chain
from adapters.store.sqlite.inserting import insert

KNOWN = 10_000
"""Streams whose last hash is remembered."""
Tail = tuple[int, bytes]
"""A version of a stream and the hash of its row."""


class Tails:
    """The ends of the streams as this process has seen them.

    Rows never change: whoever holds the hash of version 7 may chain version 8 to it, whatever others have written
    since; if that was version 8, the row is refused.
    """

    def __init__(self, size: int = KNOWN) -> None:
        self._size = size
        self._known: OrderedDict[str, Tail] = OrderedDict()

    def get(self, stream: str) -> Tail | None:
        return self._known.get(stream)

    def keep(self, tails: dict[str, Tail]) -> None:
        """Take over what was committed."""
        for stream, tail in tails.items():
            self._known[stream] = tail
            self._known.move_to_end(stream)
        while len(self._known) > self._size:
            self._known.popitem(last=False)


class Sheet:
    """The events and receipts of one transaction; `position` is the last one given."""

    def __init__(self, connection: sqlite3.Connection, known: Tails, position: int) -> None:
        self._connection, self._known = connection, known
        self.position = position
        self.tails: dict[str, Tail] = {}
        self.receipts: list[Receipt] = []
        self._rows: list[tuple[int, str, int, str, bytes, bytes]] = []

    def enter(self, row: StoredEvent) -> int:
        """The position of the row. Raises Conflict where the version before it is missing."""
        stream, version = str(row.originator_id), row.originator_version
        digest = chain(self._before(stream, version), row)
        self.position += 1
        self._rows.append((self.position, stream, version, row.topic, row.state, digest))
        self.tails[stream] = (version, digest)
        return self.position

    def _before(self, stream: str, version: int) -> bytes:
        """The hash that the row is chained to; of the first one nothing."""
        if version == 1:
            return b""
        tail = self.tails.get(stream) or self._known.get(stream)
        if tail is not None and tail[0] == version - 1:
            return tail[1]
        found = self._connection.execute(
            "SELECT hash FROM events WHERE stream = ? AND version = ?", (stream, version - 1)
        ).fetchone()
        if found is None:
            raise Conflict(f"{stream} has no version {version - 1}.", streams=[stream])
        return bytes(found[0])

    def store(self) -> None:
        """Write it all. Raises sqlite3.IntegrityError for a version or key that is taken."""
        insert(self._connection, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", self._rows)
        receipts = [(kept.key, kept.fingerprint, kept.status, kept.body, kept.at) for kept in self.receipts]
        if receipts:
            insert(self._connection, "INSERT INTO receipts VALUES (?, ?, ?, ?, ?)", receipts)

    def conflict(self, connection: sqlite3.Connection, error: sqlite3.IntegrityError) -> Conflict:
        """What of it others have written, once our transaction is rolled back."""

        def found(query: str, *values: object) -> bool:
            return connection.execute(query, values).fetchone() is not None

        version, key = "SELECT 1 FROM events WHERE stream = ? AND version = ?", "SELECT 1 FROM receipts WHERE key = ?"
        return Conflict(
            f"Another process wrote first: {error}.",
            streams={row[1] for row in self._rows if found(version, row[1], row[2])},
            keys={kept.key for kept in self.receipts if found(key, kept.key)},
        )
