"""Checks that a store is empty before it imports another one's tables."""

from adapters.store.migrating import COLUMNS, NotEmpty
from adapters.store.sql.connection import SqlConnection
from domain.values.sentences import Sentence


def check_empty(connection: SqlConnection) -> None:
    """Raise NotEmpty if any table has a row."""
    if any(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None for table in COLUMNS):
        raise NotEmpty(Sentence("migration_not_empty"))
