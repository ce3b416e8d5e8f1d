"""The lease table on PostgreSQL."""

from adapters.store.postgres.clock import DatabaseClock
from adapters.store.postgres.connection import Connections
from adapters.store.sql.connection import Access
from adapters.store.sql.turns import SqlTurns


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
