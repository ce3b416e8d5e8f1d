"""`hansard report`: the figures, on one screen, as JSON or as CSV."""

from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt

from api.cli import exits
from api.cli.client import HERE, Json, Where, connected
from api.cli.exits import Failed
from api.cli.reading import AsJson
from api.cli.terminal import clock, local_time, money, put_document, put_json, put_table, say

Name = Literal["summary", "budgets", "quality", "convergence", "decisions", "costs"]


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
    """Report on all sessions: how they went, what they cost, how work was judged and decided.

    Parameters
    ----------
    name
        Which report (summary).
    since
        From this date or instant on (UTC where it says no offset).
    until
        Up to this instant, or to the end of this date.
    kind
        Only sessions of this kind: delivery, orchestration, review or debate.
    label
        Only sessions with this label.
    as_of
        As it stood at this position of the log.
    csv
        Print CSV, for a spreadsheet.
    """
    if csv and json:
        raise Failed("Give --csv or --json, not both.", code=exits.USAGE)
    filters = {"from": since, "to": until, "kind": kind, "label": label, "asOf": as_of}
    path = f"/api/reports/{name}"
    async with connected(where) as api:
        if csv:
            put_document((await api.text(path, format="csv", **filters)).replace("\r\n", "\n"))
            return exits.OK
        found = await api.get(path, **filters)
    if json:
        put_json(found)
    else:
        _show(found)
    return exits.OK


def _show(found: Json) -> None:
    """The columns in which anything stands; whoever wants all of them takes CSV."""
    rows: list[Json] = found["rows"]
    if not rows:
        say("Nothing fits. `hansard example` runs a session.")
        return
    from api.web.words import words

    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    headings = [words("en").of("reports_column", name).upper() for name in names]
    put_table(headings, [[_word(name, row[name]) for name in names] for row in rows])
    say(f"As of position {found['asOf']}.")


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
            return money(value)
        case str() if name.endswith("At"):
            return local_time(value)
        case float():
            return f"{value:,.2f}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
