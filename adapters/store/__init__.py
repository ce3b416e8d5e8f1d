"""The log: events, long texts, receipts of commands, and the turns that are leased to workers."""

from adapters.store.port import (
    Broken,
    Conflict,
    DamagedEvent,
    Fenced,
    Log,
    NewEvent,
    Row,
    Store,
    StoredReceipt,
    StoreError,
    Write,
)
from adapters.store.turns import Lease, Turns
from domain.values.sentences import Sentence

__all__ = [
    "Broken",
    "Conflict",
    "DamagedEvent",
    "Fenced",
    "Lease",
    "Log",
    "NewEvent",
    "Row",
    "Store",
    "StoreError",
    "StoredReceipt",
    "Turns",
    "Write",
    "is_shared",
    "open_store",
]


def open_store(url: str) -> Store:
    """The store of `HANSARD_DATABASE`: `sqlite:///path` or `postgresql://…`. Raises StoreError with a sentence."""
    if is_shared(url):
        return _postgres(url)
    from adapters.store.sqlite.store import SqliteStore

    scheme, separator, path = url.partition(":///")
    if not separator or scheme != "sqlite" or not path:
        raise StoreError(Sentence("database_url"))
    return SqliteStore(path)


def is_shared(url: str) -> bool:
    """Whether the database is one that many machines may use."""
    return url.startswith(("postgresql://", "postgres://"))


def _postgres(url: str) -> Store:
    try:
        from adapters.store.postgres.store import PostgresStore
    except ImportError as error:
        raise StoreError(Sentence("database_driver", detail=error)) from error
    return PostgresStore(url)
