"""What views are built on: a database, the log, and the interface of every projection."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from domain.session.record import Recorded
from domain.values.base import DomainEvent

LATEST: Final = 2**62
"""A position or version that no log reaches."""


class Cursor(Protocol):
    """The rows of a statement."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Database(Protocol):
    """A connection inside a transaction. Statements keep to what SQLite and PostgreSQL share, places are `?`."""

    def execute(self, sql: str, params: Sequence[Any] = ...) -> Cursor:
        """Raises OSError when the database does not answer, anything else when the statement is wrong."""
        ...

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Carry out `INSERT INTO … VALUES (?, …) …` for all rows, in their order. Raises what `execute` raises."""
        ...


class Views(Protocol):
    """The database of views. Any number of readers, one writer at a time among all processes."""

    def transaction(self) -> AbstractContextManager[Database]: ...

    def reading(self) -> AbstractContextManager[Database]: ...


class EventLog(Protocol):
    """The log, as far as views need it."""

    def log(self, *, after: int = 0, limit: int = ...) -> Sequence[Recorded]:
        """The next events after a position; an empty page is the end."""
        ...

    def head(self) -> int: ...


class Histories(Protocol):
    """The log, session by session."""

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> Sequence[Recorded]: ...


Apply = Callable[[Database, Sequence[Recorded]], None]


@dataclass(frozen=True, slots=True)
class Projection:
    """A view: its tables, and what a stretch of the log changes in them. `apply` is a pure fold: it uses nothing but
    the rows it wrote itself and the events, and the same rows come of a stretch in one go or event by event. It is
    handed the events that it is `about`. If either changes, increase `version`; the view is then rebuilt."""

    name: str
    tables: tuple[str, ...]
    schema: tuple[str, ...]
    apply: Apply
    version: int = 1
    about: tuple[type[DomainEvent], ...] = (DomainEvent,)


def each(apply: Callable[[Database, Recorded], None]) -> Apply:
    """A stretch of the log is folded event by event."""

    def applied(db: Database, events: Sequence[Recorded]) -> None:
        for recorded in events:
            apply(db, recorded)

    return applied
