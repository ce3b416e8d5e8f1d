"""`list`, `show`: the newest sessions, and one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, At, Id, Where
from api.cli.reader import SessionReader, reader_of
from api.cli.terminal import put_json, put_pairs, put_table, say

if TYPE_CHECKING:
    from api.cli.answers import Session


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
    reader = reader_of(where)
    if json:
        page = reader.sessions(filters, limit, cursor)
        put_json({"items": page.items, "nextCursor": page.cursor})
        return exits.OK
    lines = reader.lines(filters, limit, cursor)
    _put_rows(lines.rows, filtered=any(filters.values()), more=lines.more)
    return exits.OK


_STOPPED: Final = frozenset({"failed", "partial", "checkpoint"})
"""The statuses of sessions whose reasons are in their events."""


def show(session: Id, /, *, at: At = None, json: AsJson = False, where: Where = HERE) -> int:
    """Show a session: its status, its result and the commands it allows now."""
    reader = reader_of(where)
    answer = reader.session(session, at)
    if json:
        put_json(answer)
    else:
        from api.cli.session import details  # a list has none

        item = answer["session"]
        cause = reader.cause(str(item["id"]), at) if item.get("reason") or item["status"] in _STOPPED else None
        is_worked_on = at is not None or _is_worked_on(reader, answer["session"])
        put_pairs(details(item, answer.get("availableCommands") or [], cause))
        if not is_worked_on:
            from api.cli.waits import say_no_worker

            say_no_worker(str(answer["session"]["id"]))
    return exits.OK


def _is_worked_on(reader: SessionReader, session: "Session") -> bool:
    """True if a process is there to work on its open turns, if it has any; those that wait for one are marked. A server
    has marked them itself."""
    turns = session.get("outstandingTurns") or ()
    due = [turn for turn in turns if turn["work"] != "wait" and not turn.get("waitingFor")]
    if not due or (states := reader.turn_states(str(session["id"]))) is None:
        return True
    from api.cli.waits import mark_queued

    is_worked_on = reader.is_worked_on()
    mark_queued(due, states, is_worked_on=is_worked_on)
    return is_worked_on


def _put_rows(rows: Sequence[Sequence[str]], *, filtered: bool, more: bool) -> None:
    if not rows:
        say(sentence("No matching sessions." if filtered else "No sessions yet. Run one with `hansard example`."))
        return
    put_table(("SESSION", "STATUS", "UPDATED", "TITLE"), rows)
    if more:
        say(sentence("Showing the newest {n}; use --limit for more.", n=len(rows)))
