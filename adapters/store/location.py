"""The log: events, long texts, receipts of commands, and the turns that are leased to workers."""

from contextlib import AbstractContextManager
from pathlib import Path

from adapters.store.errors import StoreError
from adapters.store.port import SealedLog, Store
from adapters.store.postgres.address import is_shared
from domain.values.sentences import Sentence


def open_store(url: str) -> Store:
    """The store of `HANSARD_DATABASE`: `sqlite:///path` or `postgresql://…`. Raises StoreError with a sentence."""
    if is_shared(url):
        return _postgres(url)
    from adapters.store.sqlite.store import SqliteStore

    scheme, separator, path = url.partition(":///")
    if not separator or scheme != "sqlite" or not path:
        raise StoreError(Sentence("database_url"))
    return SqliteStore(path)


def reading(url: str) -> AbstractContextManager[SealedLog]:
    """The log of such a URL, only to be read: nothing in it changes. Raises StoreError where it is none."""
    if is_shared(url):
        check_driver()
        from adapters.store.postgres.sealed_log import sealed_database

        return sealed_database(url)
    from adapters.store.sqlite.sealed_log import sealed

    return sealed(Path(url.removeprefix("sqlite:///")))


def _postgres(url: str) -> Store:
    check_driver()
    from adapters.store.postgres.store import PostgresStore

    return PostgresStore(url)


def check_driver() -> None:
    """Raise StoreError where this installation cannot speak to PostgreSQL."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        from adapters.extras import install_extra

        raise StoreError(Sentence("database_driver", detail=error, command=install_extra("postgres"))) from error
