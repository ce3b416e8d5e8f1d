"""The database's clock: leases and deadlines use it, whatever the clock of a machine says."""

from collections.abc import Callable

from adapters.store.postgres.connection import PostgresConnection


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
