"""The database's clock: leases and deadlines are judged by it, whatever the clock of a machine says."""

from collections.abc import Callable

from adapters.store.postgres.connection import PostgresConnection


class DatabaseClock:
    """A clock of this process that is set by the database's whenever somebody asks it anyway."""

    def __init__(self, own: Callable[[], int]) -> None:
        self._own, self._ahead = own, 0

    def __call__(self) -> int:
        return self._own() + self._ahead

    def read(self, connection: PostgresConnection) -> None:
        """Set it by the database's. The answer took as long as the question, as far as one can know."""
        before = self._own()
        [there] = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone() or (0,)
        self._ahead = there - (before + self._own()) // 2
