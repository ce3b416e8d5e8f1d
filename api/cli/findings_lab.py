"""`hansard lab --policy findings@1`: where it would have ended recorded loops, and what was open then."""

from collections.abc import Sequence
from typing import Final

from api.cli import exits
from api.cli.client import Api, path_of, resolve
from api.cli.labels import sentence
from api.cli.options import Json
from api.cli.terminal import counted, put, put_json, say, visible

POLICY: Final = "findings@1"
KINDS: Final = ("delivery", "review", "debate")
_ENDS: Final = ("stop", "ask")
_USUAL: Final = 100


async def findings_lab(api: Api, sessions: Sequence[str], filters: Json, *, limit: int | None, json: bool) -> int:
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


async def _newest(api: Api, filters: Json, limit: int) -> list[str]:
    """The newest sessions that match, of the kinds that have looks."""
    kinds = [filters["kind"]] if "kind" in filters else KINDS
    rows: list[Json] = []
    for kind in kinds:
        listed_rows, _ = await api.pages("/api/sessions", limit=limit, **{**filters, "kind": kind})
        rows += listed_rows
    rows.sort(key=lambda row: str(row["createdAt"]), reverse=True)
    return [str(row["id"]) for row in rows[:limit]]


async def _judged(api: Api, session_id: str) -> Json:
    answer = await api.get(f"{path_of(session_id)}/findings")
    session = (await api.get(path_of(session_id)))["session"]
    looks = answer["rounds"]
    end = next((look for look in looks if look["recommendation"] in _ENDS), None)
    then = answer if end is None else await api.get(f"{path_of(session_id)}/findings", version=end["version"])
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
            {name: item[name] for name in ("finding", "title", "state", "weight")}
            for item in then["items"]
            if item["open"] and item["blocking"] and item["kind"] != "comment"
        ],
    }


def _words(item: Json) -> str:
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
