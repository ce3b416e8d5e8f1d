"""The log on disk: events, long texts, receipts of commands, and the turns that are leased to workers."""

from adapters.store.mapper import Conflict, Entry, Fenced, Receipt, StoreError, Unreadable, Write
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.turns import Lease

__all__ = [
    "Conflict",
    "Entry",
    "Fenced",
    "Lease",
    "Receipt",
    "SqliteStore",
    "StoreError",
    "Unreadable",
    "Write",
    "open_store",
]


def open_store(url: str) -> SqliteStore:
    """The store behind `HANSARD_DATABASE`: `sqlite:///path`. Raises StoreError with a sentence."""
    scheme, separator, path = url.partition(":///")
    if not separator or scheme != "sqlite" or not path:
        raise StoreError(f"HANSARD_DATABASE must be sqlite:///path (this version has no other store), not {url!r}.")
    return SqliteStore(path)
