"""Tables made from dataclasses: the columns of a row are declared once."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_args, get_type_hints

from projections.engine.ports import Database

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
_TYPES: Final[dict[type, str]] = {str: "TEXT", int: "BIGINT", float: "DOUBLE PRECISION"}


class Table(Generic[R]):
    """A table whose columns are the fields of `row`; the first field is the key."""

    def __init__(self, name: str, row: type[R]) -> None:
        self.name, self._row = name, row
        self.columns = tuple(field.name for field in fields(row))
        self._listed, self._values = ", ".join(self.columns), attrgetter(*self.columns)
        places = ", ".join("?" * len(self.columns))
        changes = ", ".join(f"{column} = excluded.{column}" for column in self.columns[1:])
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
