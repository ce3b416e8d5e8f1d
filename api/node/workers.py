"""Whether anybody works on the turns of a log."""

import os
from contextlib import closing

from adapters.store.location import open_store
from adapters.store.postgres.address import is_shared
from adapters.turns.lease.presence import Presence
from api.node.settings import Settings


def other_workers(settings: Settings) -> bool:
    """Whether any other process on this log works on turns, as far as anybody can tell: on this machine, or on any
    one that shares the database. Raises StoreError."""
    if is_shared(settings.database):
        with closing(open_store(settings.database)) as store:
            return any(node.name.rpartition(".")[2] != str(os.getpid()) for node in store.nodes())
    folder = settings.node_dir / "workers"
    if not folder.is_dir():
        return False
    mine = Presence(folder)
    try:
        theirs = (name for name in mine.others() if name.split(".")[-2:-1] != [str(os.getpid())])
        return any(not mine.gone(name) for name in theirs)
    finally:
        mine.leave()
