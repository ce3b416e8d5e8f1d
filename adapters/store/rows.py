"""The log as rows, for those who prove it, copy it or carry it elsewhere: nothing is decoded here."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from eventsourcing.persistence import StoredEvent

from adapters.store.entries import Conflict, StoreError, chain, decode
from domain.turns import Settled, TurnRequested

Access = Callable[[], AbstractContextManager[sqlite3.Connection]]
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Row:
    """An event as it is stored; `hash` is the chained one of its stream."""

    position: int
    stream: str
    version: int
    topic: str
    state: bytes
    hash: bytes

    def stored(self) -> StoredEvent:
        return StoredEvent(self.stream, self.version, self.topic, self.state)

    def chained(self, previous: bytes) -> bytes:
        """The hash that it should have behind its predecessor's."""
        return chain(previous, self.stored())


class Rows:
    """The rows of a store."""

    def __init__(self, path: Path, transaction: Access, reading: Access) -> None:
        self._path, self._transaction, self._reading = path, transaction, reading

    def events(self, stream: str | None = None) -> Iterator[Row]:
        """All events, or those of one session, by position."""
        after = 0
        while True:
            with self._reading() as connection:
                found = connection.execute(
                    "SELECT position, stream, version, topic, state, hash FROM events"
                    " WHERE position > ? AND (? IS NULL OR stream = ?) ORDER BY position LIMIT ?",
                    (after, stream, stream, PAGE),
                ).fetchall()
            yield from (Row(*row) for row in found)
            if len(found) < PAGE:
                return
            after = found[-1][0]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Digest and content of every long text, by digest."""
        after = ""
        while True:
            with self._reading() as connection:
                found = connection.execute(
                    "SELECT digest, content FROM texts WHERE digest > ? ORDER BY digest LIMIT ?", (after, PAGE)
                ).fetchall()
            yield from found
            if len(found) < PAGE:
                return
            after = found[-1][0]

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._reading() as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        return [row[0] for row in found if row[0] != "ok"]

    def last_given(self) -> int:
        """The newest position that was ever given out, whether or not its event is still there."""
        with self._reading() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        return int(row[0]) if row else 0

    def open_turns(self) -> set[str]:
        """The turns that the lease table has as not settled."""
        with self._reading() as connection:
            rows = connection.execute("SELECT turn_id FROM turns WHERE state IN ('queued', 'running', 'held')")
            return {row[0] for row in rows}

    def backup(self, target: Path) -> None:
        """A complete copy of the log while it is in use, with the same positions. Raises StoreError."""
        try:
            with self._reading() as connection, closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"The backup {target} cannot be written: {error}.") from error

    def take_in(self, rows: Sequence[Row], texts: Iterable[tuple[str, str]]) -> None:
        """Histories from elsewhere, all or nothing; their open turns are held. Raises Conflict for a version that is
        there already."""
        try:
            with self._transaction() as connection:
                connection.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)
                for row in rows:
                    connection.execute(
                        "INSERT INTO events (stream, version, topic, state, hash) VALUES (?, ?, ?, ?, ?)",
                        (row.stream, row.version, row.topic, row.state, row.hash),
                    )
                    self._hold(connection, row)
        except sqlite3.IntegrityError as error:
            raise Conflict(f"The log holds some of these events already: {error}.") from error

    @staticmethod
    def _hold(connection: sqlite3.Connection, row: Row) -> None:
        """Nobody works on what was only imported, but it can be cancelled like any other turn."""
        recorded = decode(row.stored(), row.position)
        match recorded.event:
            case TurnRequested() as event:
                values = (event.turn_id, row.stream, row.version, event.work, event.agent, event.role, recorded.at)
                connection.execute(
                    "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, 'held', 0, NULL, NULL, NULL, ?)", values
                )
            case Settled() as event:
                connection.execute("UPDATE turns SET state = 'done' WHERE turn_id = ?", (event.turn_id,))
            case _:
                return
