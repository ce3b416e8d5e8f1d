"""`list`, `show`: the newest sessions, and one of them. Where the views are up to date, or the answer was kept, they
read it themselves: nothing heavy is imported."""

import json as encoding
import sqlite3
from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.direct import are_current, is_worked_on, local_clock, read_directly
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, At, Id, Json, Where
from api.cli.terminal import local_time, one_line, put_json, put_pairs, put_table, say
from api.node.local_files import answer_about

_MOST: Final = 200
_NEWEST_ROWS: Final = (
    "SELECT session_id, status, updated_at, title, landing FROM overview"
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
            _put_rows(newest[:limit], filtered=bool(kind or status), more=len(newest) > limit)
            return exits.OK
    import asyncio  # half of what this command takes otherwise

    items, following = asyncio.run(_fetch(where, filters, limit, cursor))
    if json:
        put_json({"items": items, "nextCursor": following})
        return exits.OK
    rows = [[str(i["id"]), _status(i), local_time(i["updatedAt"]), str(i["title"])] for i in items]
    _put_rows(rows, filtered=any(filters.values()), more=following is not None)
    return exits.OK


_NEWEST: Final = "SELECT session_id FROM overview ORDER BY created DESC LIMIT 1"
_BEGINNING: Final = (
    "SELECT session_id FROM overview WHERE substr(session_id, 1, length(:name)) = :name"
    " OR substr(session_id, instr(session_id, '-') + 1, length(:name)) = :name LIMIT 2"
)


def show(session: Id, /, *, at: At = None, json: AsJson = False, where: Where = HERE) -> int:
    """Show a session: its status, its result and the commands it allows now."""
    text = read_directly(where, lambda log, views: _look_up(log, views, session)) if at is None and session else None
    if text is None:
        import asyncio  # half of what this command takes otherwise

        answer = asyncio.run(_ask(where, session, at))
    else:
        answer = encoding.loads(text)
    if json:
        put_json(answer)
    else:
        from api.cli.session import details  # a list has none

        is_worked_on = at is not None or _is_worked_on(where, answer["session"])
        put_pairs(details(answer["session"], answer.get("availableCommands") or []))
        if not is_worked_on:
            from api.cli.waiting import say_no_worker

            say_no_worker(str(answer["session"]["id"]))
    return exits.OK


def _is_worked_on(where: Where, session: Json) -> bool:
    """Whether a process is there to work on its open turns, if it has any; those that wait for one are marked. A server
    has marked them itself."""
    turns = session.get("outstandingTurns") or ()
    due = [turn for turn in turns if turn["work"] != "wait" and not turn.get("waitingFor")]
    if not due or where.address() is not None:
        return True
    from api.cli.waiting import mark_queued

    worked_on = is_worked_on(where)
    if worked_on is None:
        from api.cli.activity import other_workers  # settings, and the database that machines share

        worked_on = other_workers(where.settings())
    mark_queued(due, _states(where, str(session["id"])), is_worked_on=worked_on)
    return worked_on


def _states(where: Where, session_id: str) -> dict[str, str]:
    """The states of the session's turns in the lease table."""
    query = "SELECT turn_id, state FROM turns WHERE stream = ?"
    states = read_directly(where, lambda log, _: {row[0]: row[1] for row in log.execute(query, [session_id])})
    if states is not None:
        return states
    from adapters.store.location import reading  # the database that machines share

    with reading(where.settings().database) as log:
        return {str(row[0]): str(row[6]) for row in log.rows.turns(session_id)}


def _landed(status: str, landing: str | None) -> str:
    """The status, and how the newest landing ended."""
    if landing is None:
        return status
    from api.cli.result_notes import landing_in_short

    return f"{status}, {landing_in_short(encoding.loads(landing))}"


def _status(item: Json) -> str:
    if item.get("landing"):
        return _landed(str(item["status"]), encoding.dumps(item["landing"]))
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


def _put_rows(rows: Sequence[Sequence[str]], *, filtered: bool, more: bool) -> None:
    if not rows:
        say(sentence("No matching sessions." if filtered else "No sessions yet. Run one with `hansard example`."))
        return
    put_table(("SESSION", "STATUS", "UPDATED", "TITLE"), rows)
    if more:
        say(sentence("Showing the newest {n}; use --limit for more.", n=len(rows)))


def _newest(where: Where, *, kind: str | None, status: str | None, limit: int) -> list[list[str]] | None:
    """The rows and, where there are more, one too many. None where the views cannot say."""
    if limit >= _MOST:
        return None

    def reading(log: sqlite3.Connection, views: sqlite3.Connection) -> list[list[str]] | None:
        if not are_current(log, views):
            return None
        values = {"kind": kind, "status": status, "limit": limit + 1}
        lines = views.execute(_NEWEST_ROWS, values)
        return [[row[0], _landed(row[1], row[4]), local_clock(row[2]), row[3]] for row in lines]

    rows = read_directly(where, reading)
    return None if not rows and (kind or status) else rows  # there may be no such kind or status


async def _ask(where: Where, name: str, at: int | None) -> Json:
    from api.cli.client import connected, resolve

    async with connected(where) as api:
        session_id = await resolve(api, name)
        answer = await api.session(session_id, at=at)
        if api.system is not None and at is None:
            from api.node.session_answers import AnswerKeeper

            AnswerKeeper(api.system).keep(session_id)
        return answer


def _look_up(log: sqlite3.Connection, views: sqlite3.Connection, name: str) -> str | None:
    """The answer about the session of this name; None if it was not kept, or if the name may mean another one."""
    answer = answer_about(log, views, name)
    if answer is not None or not are_current(log, views):
        return answer
    query = _NEWEST if name == "latest" else _BEGINNING
    ids = [str(row[0]) for row in views.execute(query, {"name": name} if query is _BEGINNING else ())]
    return answer_about(log, views, ids[0]) if len(ids) == 1 else None
