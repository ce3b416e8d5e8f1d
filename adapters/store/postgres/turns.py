"""The lease table on PostgreSQL, by the clock of the database."""

from collections.abc import Callable

from adapters.store.port import Access
from adapters.store.postgres.connection import Connections, PostgresConnection
from adapters.store.sql.turns import SqlTurns


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
