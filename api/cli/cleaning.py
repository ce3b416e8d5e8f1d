"""`hansard clean`: working folders take room long after the work in them is done."""

import time
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from api.cli import exits
from api.cli.opened import Database, opened, settings_of
from api.cli.terminal import counted, put, put_json, say

if TYPE_CHECKING:
    from adapters.store.sqlite.sealed import Sealed

_DAY_MS: Final = 86_400_000


def clean(
    *,
    days: Annotated[
        float,
        Parameter(validator=Number(gte=0), help="Only of sessions in which nothing happened for so many days (30)."),
    ] = 30,
    dry_run: Annotated[bool, Parameter(help="Say what would be deleted, and delete nothing.")] = False,
    json: Annotated[bool, Parameter(help="Print what was deleted as JSON.")] = False,
    database: Database = None,
) -> int:
    """Delete the working folders of sessions that rest. What was recorded stays.

    Replay, patches, branches and artifacts need no folder; forking, extending and continuing make it anew from what was
    recorded. Lost is what your project's .gitignore passes over: installed dependencies, build output.
    """
    from adapters.workspace import Workspaces

    settings = settings_of(database)
    workspaces = Workspaces(settings.data_dir / "workspaces")
    before = time.time() * 1000 - days * _DAY_MS
    with opened(settings) as store:
        resting = [name for name in workspaces.names() if _rests(store, name, before)]
    found = {name: workspaces.size(name) for name in resting}
    for name in found:
        if not dry_run:
            workspaces.put_away(name)
        if not json:
            put(f"{name}  {_told(found[name])}")
    if json:
        put_json(
            {"items": [{"sessionId": name, "bytes": size} for name, size in found.items()], "deleted": not dry_run}
        )
    what = f"the working folders of {counted(len(found), 'session')}, {_told(sum(found.values()))}"
    say(f"{'Would delete' if dry_run else 'Deleted'} {what}.")
    return exits.OK


def _rests(store: "Sealed", name: str, before: float) -> bool:
    """Whether nobody works on it, nor on a discussion about its work. What is none of our sessions is left alone."""
    from domain.kinds import KINDS, fold
    from domain.session.record import kind_of
    from domain.values.base import HansardError

    if kind_of(name) not in KINDS:
        return False
    try:
        history = store.history(name)
        session = fold(kind_of(name), ((recorded.event, recorded.metadata) for recorded in history))
    except (HansardError, ValueError):  # what cannot be read may still be wanted
        return False
    if session is None or session.updated_at >= before:
        return False
    return not (session.outstanding or session.open_children)


def _told(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"
