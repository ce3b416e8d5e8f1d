"""`report`: figures over all sessions. `lab`: when would other profiles have stopped the recorded reviews and
debates?"""

import os
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from api.cli import exits
from api.cli.client import connected, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Json, Where
from api.cli.terminal import clock, counted, local_time, put, put_document, put_json, put_table, say, visible

Name = Literal["summary", "budgets", "quality", "convergence", "decisions", "costs", "waits"]


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


_TOTALS = ("discussions", "earlier", "same", "later", "unknown", "converged", "upheld", "overruled")


async def lab(
    *sessions: str,
    profile: Annotated[list[str] | None, Parameter(negative_iterable=())] = None,
    kind: Literal["review", "debate"] | None = None,
    label: str | None = None,
    since: Annotated[str | None, Parameter(name="--from")] = None,
    until: Annotated[str | None, Parameter(name="--to")] = None,
    limit: PositiveInt | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Apply other profiles to recorded discussions. No agent is called, nothing is recorded.

    Parameters
    ----------
    sessions
        The reviews and debates; default: the newest that match.
    profile
        seed, shipped-v3, mysti, or thresholds such as agreement=0.6,stability=0.7; repeatable.
    kind
        Only reviews, or only debates.
    label
        Only sessions with this label.
    since
        Only sessions that started at this date or time, or later.
    until
        Only sessions that started before this time, or until the end of this date.
    limit
        Maximum number of sessions [default: 100].
    """
    query = {"kind": kind, "label": label, "from": since, "to": until}
    filters = {name: value for name, value in query.items() if value is not None}
    if sessions and filters:
        raise Failed(sentence("Name sessions or filter them, not both."), code=exits.USAGE)
    body: Json = {"profiles": [_profile(words) for words in profile or ["seed", "shipped-v3", "mysti"]], "limit": limit}
    async with connected(where, "all") as api:
        ids = [await resolve(api, session) for session in sessions]
        answer = await api.post("/api/policies/lab", body | {"sessionIds": ids or None, "query": filters or None})
    if json:
        put_json(answer)
    else:
        _put_outcomes(answer)
    return exits.OK


def _put_report(answer: Json) -> None:
    """The columns with any content; CSV has all of them."""
    rows: list[Json] = answer["rows"]
    if not rows:
        say(sentence("No matching data. Run a session with `hansard example`."))
        return
    from api.web.sentences import words
    from domain.values.words import of_environment

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


def _profile(words: str) -> Any:
    """A name, or thresholds."""
    if "=" not in words:
        return words
    pairs = [pair.partition("=") for pair in words.split(",")]
    try:
        return {name.strip(): float(amount) for name, _, amount in pairs}
    except ValueError:
        raise Failed(
            sentence("{words!r}: thresholds must be numbers, such as agreement=0.6.", words=words), code=exits.USAGE
        ) from None


def _put_outcomes(answer: Json) -> None:
    if not answer["items"]:
        say(sentence("No matching review or debate."))
        return
    for item in answer["items"]:
        recorded = item["recorded"]
        ended = _after(recorded["stopReason"], recorded["rounds"])
        chosen = f", {recorded['decidedBy']}: {recorded['choice']}" if recorded["choice"] else ""
        put(visible(f"{item['sessionId']}  {ended}{chosen}"))
        for outcome in item["outcomes"]:
            put(f"  {outcome['profile']:<16} {_outcome_words(outcome)}")
    rows = [[tally["profile"], *(str(tally[name]) for name in _TOTALS)] for tally in answer["totals"]]
    put("")
    put_table(("PROFILE", *(name.upper() for name in _TOTALS)), rows)
    if answer["leftOut"]:
        say(sentence("{left_out} more match; use --limit to see more.", left_out=answer["leftOut"]))


def _outcome_words(outcome: Json) -> str:
    against = sentence(outcome["against"])
    if outcome["round"] is None:
        return f"{against}: {sentence('continues past the recorded end; outcome unknown')}"
    overruled = {True: f", {sentence('overruled')}", False: f", {sentence('upheld')}", None: ""}[outcome["overruled"]]
    return f"{against}: {_after(outcome['reason'], outcome['round'])}{overruled}"


def _after(reason: str | None, rounds: int) -> str:
    return sentence("{reason} after {rounds}", reason=sentence(reason or "still open"), rounds=counted(rounds, "round"))
