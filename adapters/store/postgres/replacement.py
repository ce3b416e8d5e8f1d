"""Making room for an export in a database: the old log is set aside in a schema of its own."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

from adapters.store.postgres.connection import Connections
from adapters.store.sqlite.replacement import LogInUse
from domain.values.sentences import Sentence

_OTHERS: Final = (
    "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND application_name LIKE 'hansard%'"
)
_KEPT: Final = ("keys", "links", "secrets")
"""Tables that an export does not have, and that stay those of the database."""


@contextmanager
def set_aside(url: str, name: str) -> Iterator[None]:
    """The log of the database gets another name; what is stored inside is a new one, with the same keys. If that fails,
    the old one is back. Raises LogInUse or StoreError."""
    with closing(Connections(url, size=1)) as connections:
        with connections.transaction() as connection:
            if connection.execute(_OTHERS).fetchone() != (0,):
                raise LogInUse(Sentence("log_in_use", path=connections.name))
            there = connection.execute("SELECT to_regnamespace('hansard') IS NOT NULL").fetchone() == (True,)
            if there:
                connection.execute(f"ALTER SCHEMA hansard RENAME TO {name}")
        try:
            yield
        except BaseException:
            with connections.transaction() as connection:
                connection.execute("DROP SCHEMA IF EXISTS hansard CASCADE")
                if there:
                    connection.execute(f"ALTER SCHEMA {name} RENAME TO hansard")
            raise
        if there:
            with connections.transaction() as connection:
                for table in _KEPT:
                    connection.execute(
                        f"INSERT INTO hansard.{table} SELECT * FROM {name}.{table} ON CONFLICT DO NOTHING"
                    )
