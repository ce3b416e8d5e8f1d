"""The rows of the log on PostgreSQL, and a log that is only read.

A log that is only read has a database that refuses every change. `inspect` reads its state for `doctor`.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from adapters.store.port import Access, StoreError
from adapters.store.postgres.connection import BYTES_PER_SECOND, LONG, Connections, PostgresConnection
from adapters.store.postgres.schema import check_format, check_promises, faults, has_log
from adapters.store.sql.log import SqlLog, as_text
from adapters.store.sql.rows import SqlRows
from adapters.store.sql.turns import SqlTurns
from domain.values.sentences import Sentence

# The database's clock: leases and deadlines use it, whatever the clock of a machine says.


class DatabaseClock:
    """A clock of this process that is set to the database's during other queries."""

    def __init__(self, own: Callable[[], int]) -> None:
        self._own, self._ahead = own, 0

    def __call__(self) -> int:
        return self._own() + self._ahead

    def read(self, connection: PostgresConnection) -> None:
        """Set it to the database's. Assumes that the query and its answer took equally long."""
        before = self._own()
        [there] = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone() or (0,)
        self._ahead = there - (before + self._own()) // 2


class PostgresRows(SqlRows):
    """The rows of a store."""

    engine = "PostgreSQL"
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

            @contextmanager
            def reading() -> Iterator[PostgresConnection]:
                yield connection

            with connection.raw.slower(LONG):
                yield PostgresRows(self._connections, reading)

    def integrity(self, *, quick: bool = False) -> list[str]:
        """What is wrong with the schema: something else in it could change or hide rows. The database itself reports
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


# The lease table on PostgreSQL.


class PostgresTurns(SqlTurns):
    """The turns of a store."""

    def __init__(self, transaction: Access, connections: Connections, clock: DatabaseClock) -> None:
        super().__init__(transaction, connections.lent)
        self._connections, self._clock = connections, clock

    def waiting(self, now: int) -> bool:
        with self._connections.lent() as connection:
            self._clock.read(connection)
        return super().waiting(now)

    def release(self, worker: str) -> int:
        """Give back every turn of a worker. Many rows at once: like an append it waits for its turn, as two that lock
        the same rows in another order would wait for each other."""
        with self._transaction() as connection:
            connection.execute("SELECT position FROM log FOR UPDATE")
            return self._released(connection, worker)


# -- a log that is only read -------------------------------------------------------------------------------------------


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
    """Whether a program without the password, but on this account and machine, could log in. Raises StoreError if the
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
