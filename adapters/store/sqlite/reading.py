"""Reading the log on SQLite, with whatever connection a store gives."""

import sqlite3
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from adapters.store.mapper import decode_all
from adapters.store.port import PAGE
from domain.session.record import Recorded


class SqliteLog(ABC):
    """The reading half of a store."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection. Errors of the file leave it as StoreError."""

    def history(
        self, session_id: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[Recorded]:
        """The events of a session with versions `after`+1 … `upto`."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT position, stream, version, topic, state FROM events"
                " WHERE stream = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?",
                (session_id, after, 2**62 if upto is None else upto, -1 if limit is None else limit),
            ).fetchall()
        return decode_all(rows)

    def log(
        self,
        *,
        after: int = 0,
        limit: int = PAGE,
        kind: str | None = None,
        topic: str | None = None,
        session_id: str | None = None,
    ) -> list[Recorded]:
        """The events behind a position, at most `limit`: of the whole log, or of one kind, type or session."""
        where: list[str] = ["position > ?"]
        values: list[Any] = [after]
        for column, value in (("topic", topic), ("stream", session_id)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        if kind is not None:
            where.append("+stream >= ? AND +stream < ?")  # in the log's order as it lies, never all of a kind sorted
            values += [f"{kind}-", f"{kind}."]
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT position, stream, version, topic, state FROM events WHERE {' AND '.join(where)}"
                f" ORDER BY {'position' if session_id is None else 'version'} LIMIT ?",
                (*values, limit),
            ).fetchall()
        return decode_all(rows)

    def head(self) -> int:
        """The newest position, 0 of an empty log."""
        with self._reading() as connection:
            return self._head(connection)

    @staticmethod
    def _head(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])

    def version(self, session_id: str) -> int:
        """The newest version of a session, 0 if there is none."""
        with self._reading() as connection:
            row = connection.execute("SELECT max(version) FROM events WHERE stream = ?", (session_id,)).fetchone()
        return int(row[0] or 0)

    def text(self, digest: str) -> str | None:
        """A long text by its digest."""
        with self._reading() as connection:
            row = connection.execute("SELECT content FROM texts WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else str(row[0])
