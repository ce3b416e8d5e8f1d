"""`hansard report`: figures over all sessions."""

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Where
from api.cli.tables import put_table
from api.cli.terminal import clock, local_time, put_document, put_json, say
from domain.values.words import of_environment

Name = Literal["summary", "budgets", "quality", "convergence", "decisions", "costs", "waits", "merges"]


async def report(
    name: Name = "summary",
    /,
    *,
    since: Annotated[str | None, Parameter(name="--from")] = None,
    until: Annotated[str | None, Parameter(name="--to")] = None,
    kind: str | None = None,
    label: str | None = None,
    as_of: NonNegativeInt | None = None,
    csv: bool = False,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Report on all sessions: outcomes, costs, verdicts and decisions.

    Parameters
    ----------
    name
        Which report [default: summary].
    since
        From this date or time on (UTC unless it has an offset).
    until
        Up to this time, or the end of this date.
    kind
        Only sessions of this kind: delivery, orchestration, review or debate.
    label
        Only sessions with this label.
    as_of
        As of this position in the log.
    csv
        Print CSV.
    """
    if csv and json:
        raise Failed(sentence("Give --csv or --json, not both."), code=exits.USAGE)
    filters = {"from": since, "to": until, "kind": kind, "label": label, "asOf": as_of}
    path = f"/api/reports/{name}"
    async with connected(where) as api:
        if csv:
            put_document((await api.text(path, format="csv", **filters)).replace("\r\n", "\n"))
            return exits.OK
        answer = await api.get(path, **filters)
    if json:
        put_json(answer)
    else:
        _put_report(answer)
    return exits.OK


def _put_report(answer: Mapping[str, Any]) -> None:
    """The columns with any content; CSV has all of them."""
    rows: Sequence[Mapping[str, object]] = answer["rows"]
    if not rows:
        say(sentence("No matching data. Run a session with `hansard example`."))
        return
    from api.web.sentences import words

    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    headings = [words(of_environment(os.environ)).of("reports_column", name).upper() for name in names]
    put_table(headings, [[_word(name, row[name]) for name in names] for row in rows])
    say(sentence("As of position {as_of}.", as_of=answer["asOf"]))


def _word(name: str, value: Any) -> str:
    """Times as clocks, rates in percent, money in dollars, unknown values as a dash."""
    match value:
        case None:
            return "-"
        case int() | float() if "Ms" in name:
            return clock(round(value))
        case int() | float() if name.endswith("Rate"):
            return f"{value:.0%}"
        case int() if name.lower().endswith("costmicros"):
            return f"${value / 1_000_000:,.4f}"
        case str() if name.endswith("At"):
            return local_time(value)
        case float():
            return f"{value:,.2f}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
