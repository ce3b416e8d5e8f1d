"""A log on PostgreSQL that is only read: the database itself refuses every change."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from adapters.store.postgres.connection import Connections, PostgresConnection
from adapters.store.postgres.rows import PostgresRows
from adapters.store.postgres.schema import check_format
from adapters.store.sql.log import SqlLog


class SealedDatabase(SqlLog):
    """The log in a database. It never writes."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.rows = PostgresRows(connections)

    def _reading(self) -> AbstractContextManager[PostgresConnection]:
        return self._connections.lent()


@contextmanager
def sealed_database(url: str) -> Iterator[SealedDatabase]:
    """The log in this database. Raises StoreError where it has none."""
    connections = Connections(url, size=4, read_only=True)
    try:
        check_format(connections)
        yield SealedDatabase(connections)
    finally:
        connections.close()
