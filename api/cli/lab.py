"""`hansard lab`: when other profiles, or `findings@1`, would have ended recorded sessions."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.client import connected, resolve
from api.cli.exits import Failed
from api.cli.findings_lab import findings_lab
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Fields, Where
from api.cli.tables import put_table
from api.cli.terminal import counted, put, put_json, say, visible

if TYPE_CHECKING:
    from api.cli.answers import LabAnswer, LabOutcome

_TOTALS: Final = ("discussions", "earlier", "same", "later", "unknown", "converged", "upheld", "overruled")


async def lab(
    *sessions: str,
    profile: Annotated[list[str] | None, Parameter(negative_iterable=())] = None,
    policy: Literal["findings@1"] | None = None,
    kind: Literal["delivery", "review", "debate"] | None = None,
    label: str | None = None,
    since: Annotated[str | None, Parameter(name="--from")] = None,
    until: Annotated[str | None, Parameter(name="--to")] = None,
    limit: PositiveInt | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Apply other profiles to recorded discussions. No agent is called, nothing is recorded.

    With --policy findings@1, it says of deliveries, reviews and debates where the recommendation of `hansard findings`
    would have ended them, and what was open then.

    Parameters
    ----------
    sessions
        The sessions; default: the newest that match.
    profile
        seed, shipped-v3, mysti, or thresholds such as agreement=0.6,stability=0.7; repeatable.
    policy
        The rules to try in place of profiles: findings@1.
    kind
        Only sessions of this kind; deliveries only with --policy.
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
    if policy is not None and profile:
        raise Failed(sentence("Give --policy or --profile, not both."), code=exits.USAGE)
    if policy is None and kind == "delivery":
        raise Failed(
            sentence("Profiles are for reviews and debates; deliveries take --policy findings@1."), code=exits.USAGE
        )
    if policy is not None:
        async with connected(where) as api:
            return await findings_lab(api, sessions, filters, limit=limit, json=json)
    body: Fields = {
        "profiles": [_profile(words) for words in profile or ["seed", "shipped-v3", "mysti"]],
        "limit": limit,
    }
    async with connected(where, "all") as api:
        ids = [await resolve(api, session) for session in sessions]
        answer: LabAnswer = await api.post(
            "/api/policies/lab", body | {"sessionIds": ids or None, "query": filters or None}
        )
    if json:
        put_json(answer)
    else:
        _put_outcomes(answer)
    return exits.OK


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


def _put_outcomes(answer: "LabAnswer") -> None:
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
    rows = [[tally["profile"], *_numbers(tally)] for tally in answer["totals"]]
    put("")
    put_table(("PROFILE", *(name.upper() for name in _TOTALS)), rows)
    if answer["leftOut"]:
        say(sentence("{left_out} more match; use --limit to see more.", left_out=answer["leftOut"]))


def _numbers(tally: Mapping[str, object]) -> Iterator[str]:
    return (str(tally[name]) for name in _TOTALS)


def _outcome_words(outcome: "LabOutcome") -> str:
    against = sentence(outcome["against"])
    if outcome["round"] is None:
        return f"{against}: {sentence('continues past the recorded end; outcome unknown')}"
    overruled = {True: f", {sentence('overruled')}", False: f", {sentence('upheld')}", None: ""}[outcome["overruled"]]
    return f"{against}: {_after(outcome['reason'], outcome['round'])}{overruled}"


def _after(reason: str | None, rounds: int) -> str:
    return sentence("{reason} after {rounds}", reason=sentence(reason or "still open"), rounds=counted(rounds, "round"))
