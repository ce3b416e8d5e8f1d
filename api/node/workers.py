"""The processes that work on the turns of a log, and their agents."""

import os
from collections.abc import Collection
from contextlib import closing

from adapters.agents.announcement import Announcement, parse
from adapters.store.location import open_store
from adapters.store.postgres.address import is_shared
from adapters.turns.lease.presence import Presence, announced
from api.node.settings import Settings


def others_have(settings: Settings, agents: Collection[str] = ()) -> bool:
    """True if another process on this log works on turns, as far as anybody can tell, and has all of these agents in
    its team: on this machine, or on any one that shares the database. One that does not say which agents it has may
    have them. Raises StoreError."""
    return any(team is None or all(agent in team for agent in agents) for team in _teams_of_others(settings))


def _teams_of_others(settings: Settings) -> list[Announcement | None]:
    """Returns what every other process that works on turns announces of its agents; None for one that announces
    nothing."""
    if is_shared(settings.database):
        with closing(open_store(settings.database)) as store:
            nodes = [node for node in store.nodes() if node.name.rpartition(".")[2] != str(os.getpid())]
        return [parse(node.agents) for node in nodes]
    folder = settings.node_dir / "workers"
    if not folder.is_dir():
        return []
    mine = Presence(folder)
    try:
        theirs = [name for name in mine.others() if name.split(".")[-2:-1] != [str(os.getpid())]]
        return [parse(announced(folder, name)) for name in theirs if not mine.gone(name)]
    finally:
        mine.leave()
