"""A log on PostgreSQL that is only read, and facts about its database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from adapters.store.errors import StoreError
from adapters.store.postgres.connection import Connections, PostgresConnection
from adapters.store.postgres.rows import LargeTexts, PostgresRows
from adapters.store.postgres.schema import check_format, check_promises, has_log


class SealedDatabase(LargeTexts):
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


class DatabaseFacts(NamedTuple):
    """A database that may hold a log. `head` is the log's newest position, None if it has no log yet."""

    version: str
    head: int | None


def inspect(url: str) -> DatabaseFacts:
    """Check without changing anything. Raises StoreError."""
    connections = Connections(url, size=1, read_only=True)
    try:
        with connections.lent() as connection:
            check_promises(connection, connections.name)
            [version] = connection.execute("SELECT current_setting('server_version')").fetchone() or ("",)
            if not has_log(connection):
                return DatabaseFacts(version, None)
            [head] = connection.execute("SELECT position FROM log").fetchone() or (0,)
        check_format(connections)
        return DatabaseFacts(version, head)
    finally:
        connections.close()


def lets_in_without_password(url: str) -> bool:
    """True if a program without the password, but on this account and machine, could log in. Raises StoreError if the
    database does not answer at all."""
    connections = Connections(url, size=1, read_only=True, password="", passfile="/nonexistent")
    try:
        with connections.lent():
            return True
    except StoreError:
        inspect(url)  # it answers with the password, so it asks for it
        return False
    finally:
        connections.close()
