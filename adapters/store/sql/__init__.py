"""SQL that both SQLite and PostgreSQL understand: reading the log, and the lease table.

Here: the connection that it needs, for statements with `?` or `:name` as parameters.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

Values = Sequence[Any] | Mapping[str, Any]
NO_LIMIT: Final = 2**62


class SqlResult(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """A connection, or an object with the same methods."""

    def execute(self, sql: str, values: Values = (), /) -> SqlResult: ...


Access = Callable[[], AbstractContextManager[SqlConnection]]
"""Lends a connection. Errors of the database are raised as StoreError."""
