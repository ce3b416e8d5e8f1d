"""What views need: a database, the log, and the interface of every projection."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from domain.session.record import Omitted, Recorded
from domain.values.base import DomainEvent

LATEST: Final = 2**62
"""A position or version beyond any log."""


class Cursor(Protocol):
    """The rows of a statement."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Database(Protocol):
    """A connection inside a transaction. Statements only use what SQLite and PostgreSQL share; parameters are `?`."""

    def execute(self, sql: str, params: Sequence[Any] = ...) -> Cursor:
        """Raises OSError if the database does not answer, or anything else if the statement is wrong."""
        ...

    def insert(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run `INSERT INTO … VALUES (?, …) …` for all rows, in order. Raises what `execute` raises."""
        ...


class Views(Protocol):
    """The database of views: any number of readers, and one writer at a time across all processes."""

    def transaction(self) -> AbstractContextManager[Database]: ...

    def reading(self) -> AbstractContextManager[Database]: ...


class EventLog(Protocol):
    """The log, as far as views need it."""

    def log(self, *, after: int = 0, limit: int = ..., omitted: Omitted | None = None) -> Sequence[Recorded]:
        """The next events after a position, perhaps without some fields; an empty page means the end."""
        ...

    def head(self) -> int: ...


class Histories(Protocol):
    """The log, session by session."""

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> Sequence[Recorded]: ...


Apply = Callable[[Database, Sequence[Recorded]], None]


@dataclass(frozen=True, slots=True)
class Projection:
    """A view: its tables, and how a stretch of the log changes them. `apply` is a pure fold: it only uses its own rows
    and the events, and gives the same rows whether it gets a stretch at once or event by event. It gets the events that
    it is `about`. If either changes, increase `version`; the view is then rebuilt."""

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
