"""The rows of the log on PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from adapters.store.port import StoreError
from adapters.store.postgres.connection import PATIENCE, Connections, PostgresConnection
from adapters.store.sql.connection import Access
from adapters.store.sql.rows import SqlRows
from domain.values.sentences import Sentence

_LONG: Final = 600.0
"""Seconds for a statement of a tool that reads the whole log."""


class PostgresRows(SqlRows):
    """The rows of a store."""

    elements = "SELECT json_array_elements_text(?::json)"

    def __init__(self, connections: Connections, reading: Access | None = None) -> None:
        super().__init__(reading or connections.lent)
        self._connections = connections

    @contextmanager
    def frozen(self) -> Iterator["PostgresRows"]:
        """All that is read with these rows is of one moment, whatever is written meanwhile."""
        with self._connections.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.raw.patience = _LONG

            @contextmanager
            def reading() -> Iterator[PostgresConnection]:
                yield connection

            try:
                yield PostgresRows(self._connections, reading)
            finally:
                connection.raw.patience = PATIENCE

    def integrity(self) -> list[str]:
        """What the database itself finds wrong: it tells when a page is read, so here nothing."""
        return []

    def last_given(self) -> int:
        """The newest position that was ever given, whether or not its event still exists."""
        with self._reading() as connection:
            return int(connection.execute("SELECT position FROM log").fetchone()[0])

    def backup(self, target: Path) -> None:
        raise StoreError(Sentence("database_backup", database=self._connections.name))
