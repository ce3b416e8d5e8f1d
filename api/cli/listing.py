"""`list`: the newest sessions. Where the views are up to date it reads them itself: nothing heavy is imported."""

import sqlite3
from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.direct import are_current, local_clock, read_directly
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Json, Where
from api.cli.terminal import local_time, one_line, put_json, put_table, say

_MOST: Final = 200
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
    since: Annotated[str | None, Parameter(name="--from")] = None,
    until: Annotated[str | None, Parameter(name="--to")] = None,
    limit: PositiveInt = 20,
    cursor: str | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """List sessions, newest first.

    Parameters
    ----------
    kind
        Only sessions of this kind: delivery, orchestration, review or debate.
    status
        Only sessions with this status, such as running, success, checkpoint or waiting_for_decision.
    q
        Only sessions with these words in their title, task or id, in what agents said, or in findings, errors and the
        reasons of decisions.
    label
        Only sessions with this label.
    owner
        Only sessions that this person or key started.
    repository
        Only sessions that were started on this folder.
    since
        Only sessions that started at this date or time, or later.
    until
        Only sessions that started before this time, or until the end of this date.
    limit
        Maximum number of results [default: 20].
    cursor
        Continue from a list's `nextCursor`.
    """
    more = {"q": q, "label": label, "owner": owner, "repository": repository, "from": since, "to": until}
    filters = {"kind": kind, "status": status, **more}
    if not (json or cursor or any(more.values())):
        newest = _newest(where, kind=kind, status=status, limit=limit)
        if newest is not None:
            _show(newest[:limit], filtered=bool(kind or status), more=len(newest) > limit)
            return exits.OK
    import asyncio  # half of what this command takes otherwise

    items, following = asyncio.run(_fetch(where, filters, limit, cursor))
    if json:
        put_json({"items": items, "nextCursor": following})
        return exits.OK
    rows = [[str(i["id"]), _status(i), local_time(i["updatedAt"]), str(i["title"])] for i in items]
    _show(rows, filtered=any(filters.values()), more=following is not None)
    return exits.OK


def _status(item: Json) -> str:
    machine = next((turn["machine"] for turn in item["outstandingTurns"] if turn.get("machine")), None)
    return (
        str(item["status"])
        if machine is None
        else f"{item['status']}, {sentence('waiting for the machine {machine}', machine=one_line(machine))}"
    )


async def _fetch(where: Where, filters: Json, limit: int, cursor: str | None) -> tuple[list[Json], str | None]:
    """Sessions, and the cursor after them."""
    from api.cli.client import connected

    async with connected(where) as api:
        return await api.pages("/api/sessions", limit=limit, cursor=cursor, **filters)


def _show(rows: Sequence[Sequence[str]], *, filtered: bool, more: bool) -> None:
    if not rows:
        say(sentence("No matching sessions." if filtered else "No sessions yet. Run one with `hansard example`."))
        return
    put_table(("SESSION", "STATUS", "UPDATED", "TITLE"), rows)
    if more:
        say(sentence("Showing the newest {n}; use --limit for more.", n=len(rows)))


# -- out of the views ----------------------------------------------------------------------------------------------


def _newest(where: Where, *, kind: str | None, status: str | None, limit: int) -> list[list[str]] | None:
    """The rows and, where there are more, one too many. None where the views cannot say."""
    if limit >= _MOST:
        return None

    def reading(log: sqlite3.Connection, views: sqlite3.Connection) -> list[list[str]] | None:
        if not are_current(log, views):
            return None
        values = {"kind": kind, "status": status, "limit": limit + 1}
        return [[row[0], row[1], local_clock(row[2]), row[3]] for row in views.execute(_NEWEST, values)]

    rows = read_directly(where, reading)
    return None if not rows and (kind or status) else rows  # there may be no such kind or status
