"""`list`: the newest sessions. Where the views are up to date it reads them itself: nothing heavy is imported."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.options import HERE, AsJson, Json, Where
from api.cli.terminal import local_time, put_json, put_table, say
from api.places import default_log, node_folder, views_of

_HARMLESS: Final = frozenset({"DATABASE", "DATA_DIR", "DEBUG", "TEAM", "AUTH", "API_KEY", "HOST", "PORT"})
"""Settings (`HANSARD_…`) that change nothing about a list, or are looked at here."""
_MOST: Final = 200
_BEHIND: Final = "SELECT count(*) FROM progress WHERE error IS NOT NULL OR position <> ?"
_NEWEST: Final = (
    "SELECT session_id, status, updated_at, title FROM overview"
    " WHERE kind = coalesce(:kind, kind) AND status = coalesce(:status, status) ORDER BY created DESC LIMIT :limit"
)


def list_sessions(
    *,
    kind: str | None = None,
    status: str | None = None,
    q: Annotated[str | None, Parameter(alias="-q")] = None,
    label: str | None = None,
    owner: str | None = None,
    repository: str | None = None,
    limit: PositiveInt = 20,
    cursor: str | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """List sessions, newest first.

    Parameters
    ----------
    kind
        Only this kind: delivery, orchestration, review or debate.
    status
        Only this status, as in running, success, checkpoint, waiting_for_decision.
    q
        Only sessions with these words.
    label
        Only sessions with this label.
    owner
        Only sessions that this person or key started.
    repository
        Only sessions that were started on this folder.
    limit
        Maximum number of results [default: 20].
    cursor
        Continue from a list's `nextCursor`.
    """
    filters = {"kind": kind, "status": status, "q": q, "label": label, "owner": owner, "repository": repository}
    if not (json or cursor or q or label or owner or repository):
        newest = _newest(where, kind=kind, status=status, limit=limit)
        if newest is not None:
            _show(newest[:limit], filtered=bool(kind or status), more=len(newest) > limit)
            return exits.OK
    import asyncio  # half of what this command takes otherwise

    items, more = asyncio.run(_asked(where, filters, limit, cursor))
    if json:
        put_json({"items": items, "nextCursor": more})
        return exits.OK
    rows = [[str(i["id"]), str(i["status"]), local_time(i["updatedAt"]), str(i["title"])] for i in items]
    _show(rows, filtered=any(filters.values()), more=more is not None)
    return exits.OK


async def _asked(where: Where, filters: Json, limit: int, cursor: str | None) -> tuple[list[Json], str | None]:
    """Sessions, and the cursor after them."""
    from api.cli.client import connected

    async with connected(where) as api:
        return await api.pages("/api/sessions", limit=limit, cursor=cursor, **filters)


def _show(rows: Sequence[Sequence[str]], *, filtered: bool, more: bool) -> None:
    if not rows:
        say("No matching sessions." if filtered else "No sessions yet. Run one with `hansard example`.")
        return
    put_table(("SESSION", "STATUS", "UPDATED", "TITLE"), rows)
    if more:
        say(f"Showing the newest {len(rows)}; use --limit for more.")


# -- out of the views ----------------------------------------------------------------------------------------------


def _newest(where: Where, *, kind: str | None, status: str | None, limit: int) -> list[list[str]] | None:
    """The rows and, where there are more, one too many. None where the views cannot say: they are missing or behind, or
    the log or the answer is elsewhere."""
    log = _log_file(where)
    if log is None or limit >= _MOST or not log.is_file():
        return None
    folder = os.environ.get("HANSARD_DATA_DIR")
    node = Path(folder).expanduser().absolute() if folder else node_folder(str(log.absolute()), log.stem)
    views = views_of(node)
    if not views.is_file():
        return None
    try:
        with closing(_opened(log)) as events, closing(_opened(views)) as db:
            if not _are_current(events, db):
                return None
            values = {"kind": kind, "status": status, "limit": limit + 1}
            rows = [[row[0], row[1], _local(row[2]), row[3]] for row in db.execute(_NEWEST, values)]
    except sqlite3.Error:
        return None
    return None if not rows and (kind or status) else rows  # there may be no such kind or status


def _log_file(where: Where) -> Path | None:
    """The file of the log; None where it may not be one, or where settings are given that are judged elsewhere."""
    names = {name.removeprefix("HANSARD_") for name, value in os.environ.items() if name[:8] == "HANSARD_" and value}
    if where.address() is not None or names - _HARMLESS:
        return None
    named = where.database or os.environ.get("HANSARD_DATABASE")
    if not named:
        return default_log()
    path = named.removeprefix("sqlite:///")
    if "://" in path or not path.strip():
        return None
    return Path(path) if path != named else Path(named).expanduser().absolute()


def _opened(file: Path) -> sqlite3.Connection:
    """Not read-only: beside a database in WAL there may be files to make. But nothing is written to it."""
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=0.2)
    connection.execute("PRAGMA query_only=1")
    return connection


def _are_current(log: sqlite3.Connection, views: sqlite3.Connection) -> bool:
    """Whether every view was folded from this log, to its end."""
    head = log.execute("SELECT position, stream, version FROM events ORDER BY position DESC LIMIT 1").fetchone()
    if head is None:
        return False
    reached = views.execute("SELECT event_id FROM progress WHERE view = 'overview'").fetchone()
    if reached != (f"{head[1]}:{head[2]}",):
        return False
    [behind] = views.execute(_BEHIND, [head[0]]).fetchone()
    return int(behind) == 0


def _local(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
