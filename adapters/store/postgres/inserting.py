"""Many rows in one statement: a column is an array."""

from collections.abc import Sequence
from typing import Any, Final

from adapters.store.migrating import Table
from adapters.store.postgres.connection import PostgresConnection

_TYPES: Final[dict[Table, str]] = {
    "events": "bigint text bigint text bytea bytea",
    "texts": "text bytea",
    "receipts": "text text int bytea bigint",
    "turns": "text text bigint text text text text bigint text bigint bigint bigint text bigint",
}


def insert_rows(
    connection: PostgresConnection, table: Table, rows: Sequence[Sequence[Any]], conflicts: str = ""
) -> None:
    """Insert the rows, all columns of each."""
    if rows:
        arrays = ", ".join(f"%b::{name}[]" for name in _TYPES[table].split())
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.raw.execute(f"INSERT INTO {table} SELECT * FROM unnest({arrays}){conflicts}", columns)
