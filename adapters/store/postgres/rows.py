"""The rows of the log on PostgreSQL, and a log that is only read.

A log that is only read has a database that refuses every change. `inspect` reads its state for `doctor`.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from adapters.store.errors import StoreError
from adapters.store.port import Access, SqlConnection
from adapters.store.postgres.connection import BYTES_PER_SECOND, LONG, Connections, PostgresConnection
from adapters.store.postgres.schema import faults, has_forms
from adapters.store.sql.log import SqlLog, as_text
from adapters.store.sql.rows import SqlRows
from domain.values.sentences import Sentence


class PostgresRows(SqlRows):
    """The rows of a store."""

    engine = "PostgreSQL"
    elements = "SELECT json_array_elements_text(?::json)"
    made = "(extract(epoch FROM made) * 1000000)::bigint"

    def __init__(self, connections: Connections, reading: Access | None = None) -> None:
        super().__init__(reading or connections.lent)
        self._connections = connections

    @contextmanager
    def frozen(self) -> Iterator["PostgresRows"]:
        """All that is read with these rows is of one moment, whatever is written meanwhile."""
        with self._connections.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.execute("SET LOCAL statement_timeout = 0")

            @contextmanager
            def reading() -> Iterator[PostgresConnection]:
                yield connection

            with connection.raw.slower(LONG):
                yield PostgresRows(self._connections, reading)

    def _knows_forms(self, connection: SqlConnection) -> bool:
        return has_forms(connection)

    def integrity(self, *, quick: bool = False) -> list[str]:
        """The faults of the schema: something else in it could change or hide rows. The database itself reports
        damaged pages when they are read."""
        with self._reading() as connection:
            return faults(connection)

    def last_given(self) -> int:
        """The newest position that was ever given, whether or not its event still exists."""
        with self._reading() as connection:
            return int(connection.execute("SELECT position FROM log").fetchone()[0])

    def backup(self, target: Path) -> None:
        raise StoreError(Sentence("database_backup", database=self._connections.name))


_LARGE: Final = 1 << 23


class LargeTexts(SqlLog):
    """Texts that take longer to arrive than a database that is away is waited for."""

    elements = PostgresRows.elements

    @abstractmethod
    def _reading(self) -> AbstractContextManager[PostgresConnection]: ...

    def text(self, digest: str) -> str | None:
        with self._reading() as connection:
            row = connection.execute(
                "SELECT octet_length(content), CASE WHEN octet_length(content) <= ? THEN content END FROM texts"
                " WHERE digest = ?",
                (_LARGE, digest),
            ).fetchone()
            if row is None:
                return None
            size, content = row
            if content is None:
                with connection.raw.slower(size / BYTES_PER_SECOND):
                    row = connection.execute("SELECT content FROM texts WHERE digest = ?", (digest,)).fetchone()
                [content] = row or (b"",)
        return as_text(content)
