"""`list`: the newest sessions."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.labels import sentence, status_code
from api.cli.options import HERE, AsJson, Where
from api.cli.reader import reader_of
from api.cli.tables import put_table
from api.cli.terminal import put_json, say


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
        Only sessions with this status, such as running, held, success, checkpoint or waiting_for_decision.
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
    filters = {"kind": kind, "status": status and status_code(status), **more}
    reader = reader_of(where)
    if json:
        page = reader.sessions(filters, limit, cursor)
        put_json({"items": page.items, "nextCursor": page.cursor})
        return exits.OK
    lines = reader.lines(filters, limit, cursor)
    _put_rows(lines.rows, filtered=any(filters.values()), more=lines.more)
    return exits.OK


def _put_rows(rows: Sequence[Sequence[str]], *, filtered: bool, more: bool) -> None:
    if not rows:
        say(sentence("No matching sessions." if filtered else "No sessions yet. Run one with `hansard example`."))
        return
    put_table(("SESSION", "STATUS", "UPDATED", "TITLE"), rows)
    if more:
        say(sentence("Showing the newest {n}; use --limit for more.", n=len(rows)))
