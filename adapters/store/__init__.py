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
    "open_store",
]


def open_store(url: str) -> Store:
    """The store of `HANSARD_DATABASE`: `sqlite:///path`. Raises StoreError with a sentence."""
    from adapters.store.sqlite.store import SqliteStore

    scheme, separator, path = url.partition(":///")
    if not separator or scheme != "sqlite" or not path:
        raise StoreError(f"HANSARD_DATABASE must be sqlite:///path (this version has no other store), not {url!r}.")
    return SqliteStore(path)
