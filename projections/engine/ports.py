"""Defines what views need: a database, its tables, the log, what no view reads of it, and the interface of every
projection."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, get_args, get_type_hints

from domain.channel import EVENTS as CHANNEL_EVENTS
from domain.delivery.events import ArtifactCreated
from domain.orchestration.events import WorkReported
from domain.session.activity import ActivityRecorded
from domain.session.children import ChildRequested
from domain.session.record import Omitted, Recorded, Sight
from domain.session.turns import (
    AgentSessionsCleared,
    AttemptEnd,
    TurnRequested,
)
from domain.values.base import DomainEvent

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


LATEST: Final = 2**62
"""A position or version beyond any log."""


class Cursor(Protocol):
    """The rows of a statement."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


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

    def beside(self, parts: Sequence[Path]) -> AbstractContextManager[tuple[Database, Sequence[str]]]:
        """A transaction in which the tables of other databases of views can be read, each under a schema's name."""
        ...


class EventLog(Protocol):
    """The log, as far as views need it."""

    def log(self, *, after: int = 0, limit: int = ..., omitted: Omitted | None = None) -> Sequence[Recorded]:
        """The next events after a position, perhaps without some fields; an empty page means the end."""
        ...

    def head(self) -> int: ...

    def sight(self, *positions: int) -> Sight:
        """The end of the log, and the marks of its events at these positions."""
        ...

    def gone_back(self, since: int) -> int:
        """Note that the log has gone back since its epoch `since`, unless another process has; the epoch now."""
        ...


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


# -- what no view reads ------------------------------------------------------------------------------------------------


_PROMPTED: Final = frozenset(
    {
        "prompt", "context", "reads", "expects", "lane", "access", "ordinal", "role_ordinal", "agent_session",
        "deadline", "iteration",
    }
)  # fmt: skip
_REPLIED: Final = frozenset(
    {
        "reply", "resumed", "new_conversation", "files", "patch", "slot", "changes", "fence",
        "fence_gaps", "refused_hosts",
    }
)  # fmt: skip
OMITTED: Final[Omitted] = {
    TurnRequested: _PROMPTED,
    **dict.fromkeys(get_args(AttemptEnd), _REPLIED),
    **dict.fromkeys(
        (ActivityRecorded, AgentSessionsCleared, ArtifactCreated, ChildRequested, WorkReported, *CHANNEL_EVENTS)
    ),
}


# -- tables made from dataclasses: the columns of a row are declared once ----------------------------------------------


R = TypeVar("R", bound="DataclassInstance")
_TYPES: Final[dict[type, str]] = {str: "TEXT", int: "BIGINT", float: "DOUBLE PRECISION"}


class Table(Generic[R]):
    """A table whose columns are the fields of `row`; the first field is the key. Columns that are `fixed` keep what the
    first row of their key had, so their indexes are not written again."""

    def __init__(self, name: str, row: type[R], *, fixed: Collection[str] = ()) -> None:
        self.name, self._row = name, row
        self.columns = tuple(field.name for field in fields(row))
        self._listed, self._values = ", ".join(self.columns), attrgetter(*self.columns)
        places = ", ".join("?" * len(self.columns))
        changes = ", ".join(f"{column} = excluded.{column}" for column in self.columns[1:] if column not in fixed)
        key = self.columns[0]
        self._save = f"INSERT INTO {name} VALUES ({places}) ON CONFLICT ({key}) DO UPDATE SET {changes}"

    @property
    def schema(self) -> str:
        """The statement that creates the table."""
        hints = get_type_hints(self._row)
        columns = (f"{column} {_column(hints[column])}" for column in self.columns[1:])
        return f"CREATE TABLE IF NOT EXISTS {self.name} ({self.columns[0]} TEXT PRIMARY KEY, {', '.join(columns)})"

    def get(self, db: Database, keys: Sequence[str]) -> dict[str, R]:
        """The rows that exist, by key."""
        if not keys:
            return {}
        rows = self.select(db, f"WHERE {self.columns[0]} IN ({', '.join('?' * len(keys))})", keys)
        return {getattr(row, self.columns[0]): row for row in rows}

    def select(self, db: Database, clauses: str, params: Sequence[Any] = ()) -> list[R]:
        """The rows that match the clauses (`WHERE … ORDER BY …`)."""
        rows = db.execute(f"SELECT {self._listed} FROM {self.name} {clauses}", params).fetchall()
        return [self._row(*row) for row in rows]

    def save(self, db: Database, rows: Iterable[R]) -> None:
        """Insert the rows, or replace those with the same key."""
        db.insert(self._save, list(map(self._values, rows)))


def _column(hint: Any) -> str:
    """The SQL type of a field; only `… | None` may be null."""
    options = get_args(hint) or (hint,)
    [kind] = [option for option in options if option is not NoneType]
    return _TYPES[kind] + ("" if NoneType in options else " NOT NULL")
