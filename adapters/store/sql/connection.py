"""What the common SQL needs of a connection: statements with `?` or `:name` where values go."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

Values = Sequence[Any] | Mapping[str, Any]
NO_LIMIT: Final = 2**62


class SqlResult(Protocol):
    """What a statement found or did."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """A connection, or what stands for one."""

    def execute(self, sql: str, values: Values = (), /) -> SqlResult: ...


Access = Callable[[], AbstractContextManager[SqlConnection]]
"""A connection for as long as it is needed. Errors of the database leave it as StoreError."""
