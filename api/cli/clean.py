"""`hansard clean`: deletes working folders that are no longer needed."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from adapters.store.location import open_store
from adapters.store.port import Log
from adapters.store.postgres.address import is_shared
from adapters.turns.folder import ENDED
from adapters.turns.result.shared_workspaces import Sharing
from adapters.workspace import Workspaces
from api.cli import exits
from api.cli.labels import sentence
from api.cli.log import open_log, settings_of
from api.cli.terminal import counted, put, put_json, say
from api.node.settings import Settings
from domain.kinds import KINDS, fold
from domain.session.record import kind_of
from domain.values.base import HansardError

_DAY_MS: Final = 86_400_000

_DELETED: Final = "Deleted the working folders of {sessions}, {size}."


def clean(*, days: float, dry_run: bool, json: bool, database: str | None) -> int:
    """Delete the working folders of idle sessions. The record stays."""
    settings = settings_of(database)
    workspaces = Workspaces(settings.node_dir / "workspaces")
    before = time.time() * 1000 - days * _DAY_MS
    with open_log(settings) as store:
        idle = {name: status for name in workspaces.sessions() if (status := _idle(store, name, before)) is not None}
    sizes = {name: workspaces.size(name) for name in workspaces.names() if name in idle}
    freed = 0 if dry_run else _withdraw(settings, workspaces, idle)
    for name in sizes:
        if not dry_run:
            workspaces.put_away(name)
        if not json:
            put(f"{name}  {_size_words(sizes[name])}")
    if json:
        put_json(
            {
                "items": [{"sessionId": name, "bytes": size} for name, size in sizes.items()],
                "deleted": not dry_run,
                "databaseBytes": freed,
            }
        )
    done = "Would delete the working folders of {sessions}, {size}." if dry_run else _DELETED
    folders, room = counted(len(sizes), "session"), _size_words(sum(sizes.values()))
    say(sentence(done, sessions=folders, size=room))
    if freed:
        say(sentence("Removed {freed} of commits from the database.", freed=_size_words(freed)))
    return exits.OK


def _withdraw(settings: Settings, workspaces: Workspaces, idle: Mapping[str, str]) -> int:
    """Remove the commits of those sessions that have ended from the database; the number of bytes. `idle`: statuses."""
    if not is_shared(settings.database):
        return 0
    with closing(open_store(settings.database)) as store:
        if store.shares is None:
            return 0
        sharing = Sharing(store, store.shares, workspaces, limit=settings.share_bytes)
        return sum(sharing.withdraw(name) for name, status in idle.items() if status in ENDED) + sharing.tidy()


def _idle(store: Log, name: str, before: float) -> str | None:
    """Its status, if it and the discussions about its work are idle. Folders that are not ours are left alone."""
    if kind_of(name) not in KINDS:
        return None
    try:
        history = store.history(name)
        session = fold(kind_of(name), ((recorded.event, recorded.metadata) for recorded in history))
    except (HansardError, ValueError):  # what cannot be read may still be wanted
        return None
    if session is None or session.updated_at >= before or session.outstanding or session.open_children:
        return None
    return session.status


def _size_words(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000:
            return counted(round(size), "byte") if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"
