"""`hansard lab --policy findings@1`: where it would have ended recorded loops, and what was open then."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict

from api.cli import exits
from api.cli.client import Api, path_of, resolve
from api.cli.labels import sentence
from api.cli.terminal import counted, put, put_json, say, visible

if TYPE_CHECKING:
    from api.cli.answers import FindingsView, SessionItem


class OpenFinding(TypedDict):
    """A blocking finding that was open where the loop would have ended."""

    finding: str
    title: str
    state: str | None
    weight: str


class JudgedLoop(TypedDict):
    """A loop: where the policy would have ended it, null where nowhere, and what was open then."""

    sessionId: str
    kind: str
    status: str
    rounds: int
    recommendation: str | None
    round: int | None
    version: int | None
    looksLeft: int
    open: list[OpenFinding]


POLICY: Final = "findings@1"
KINDS: Final = ("delivery", "review", "debate")
_ENDS: Final = ("stop", "ask")
_USUAL: Final = 100


async def findings_lab(
    api: Api, sessions: Sequence[str], filters: Mapping[str, str], *, limit: int | None, json: bool
) -> int:
    """Each loop with its looks, where it would have stopped or asked, and what was open there."""
    ids = [await resolve(api, session) for session in sessions] or await _newest(api, filters, limit or _USUAL)
    items = [await _judged(api, session_id) for session_id in ids[:limit]]
    totals = {word: sum(item["recommendation"] == word for item in items) for word in (*_ENDS, None)}
    if json:
        named = {word or "neither": number for word, number in totals.items()}
        put_json({"policy": POLICY, "items": items, "totals": {"sessions": len(items), **named}})
        return exits.OK
    for item in items:
        put(visible(f"{item['sessionId']}  {item['status']}, {counted(item['rounds'], 'round')}"))
        put(f"  {_words(item)}")
        for finding in item["open"]:
            put(visible(f"    {finding['finding']}  {finding['title']}"))
    if not items:
        say(sentence("No matching session."))
        return exits.OK
    say(
        sentence(
            "Of {sessions} sessions: {stop} would have stopped, {ask} asked a person, {neither} neither.",
            sessions=len(items),
            stop=totals["stop"],
            ask=totals["ask"],
            neither=totals[None],
        )
    )
    return exits.OK


async def _newest(api: Api, filters: Mapping[str, str], limit: int) -> list[str]:
    """The newest sessions that match, of the kinds that have looks."""
    kinds = [filters["kind"]] if "kind" in filters else KINDS
    rows: list[SessionItem] = []
    for kind in kinds:
        listed_rows, _ = await api.pages("/api/sessions", limit=limit, **{**filters, "kind": kind})
        rows += listed_rows
    rows.sort(key=lambda row: str(row["createdAt"]), reverse=True)
    return [str(row["id"]) for row in rows[:limit]]


async def _judged(api: Api, session_id: str) -> JudgedLoop:
    answer: FindingsView = await api.get(f"{path_of(session_id)}/findings")
    session = (await api.session(session_id))["session"]
    looks = answer["rounds"]
    end = next((look for look in looks if look["recommendation"] in _ENDS), None)
    then = answer if end is None else await api.get(f"{path_of(session_id)}/findings", version=end["version"])
    open_ones = [item for item in then["items"] if item["open"] and item["blocking"] and item["kind"] != "comment"]
    return {
        "sessionId": session_id,
        "kind": session["kind"],
        "status": session["status"],
        "rounds": len(looks),
        "recommendation": end and end["recommendation"],
        "round": end and end["round"],
        "version": end and end["version"],
        "looksLeft": 0 if end is None else len(looks) - 1 - looks.index(end),
        "open": [
            {"finding": item["finding"], "title": item["title"], "state": item["state"], "weight": item["weight"]}
            for item in open_ones
        ],
    }


def _words(item: JudgedLoop) -> str:
    open_ones = sentence("{number} blocking ones open", number=len(item["open"]))
    if item["recommendation"] is None:
        return f"{sentence('It would have gone on to the recorded end.')} {open_ones}"
    values = {"round": item["round"], "version": item["version"], "left": item["looksLeft"]}
    if item["recommendation"] == "stop":
        at = sentence("It would have stopped at round {round} (event {version}), {left} looks earlier.", **values)
    else:
        at = sentence(
            "It would have asked a person at round {round} (event {version}), {left} looks earlier.", **values
        )
    return f"{at} {open_ones}"
