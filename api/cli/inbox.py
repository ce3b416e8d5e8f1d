"""`inbox`: what waits for a person."""

from typing import Final

from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.client import Api, connected
from api.cli.discussion import approval, progress
from api.cli.options import HERE, AsJson, Json, Where
from api.cli.terminal import local_time, put_json, put_table, say

_NEXT: Final = {
    "decision": "hansard decide SESSION CHOICE",
    "permission": "hansard allow SESSION     hansard deny SESSION",
    "scope": "hansard allow SESSION     hansard deny SESSION",
    "budget": "hansard extend SESSION --iterations N --reason WHY",
    "checkpoint": "hansard continue SESSION",
    "partial": "hansard continue SESSION     hansard reset SESSION",
    "failed": "hansard retry SESSION",
}
"""The command that answers what a session waits for."""


async def inbox(*, limit: PositiveInt = 50, json: AsJson = False, where: Where = HERE) -> int:
    """List what waits for you, oldest first.

    Parameters
    ----------
    limit
        Maximum number of items (50).
    """
    async with connected(where) as api:
        items, more = await api.pages("/api/decisions", limit=limit)
    if json:
        put_json({"items": items, "nextCursor": more})
        return exits.OK
    if not items:
        say("Nothing is waiting for you.")
        return exits.OK
    put_table(("SESSION", "WAITS FOR", "SINCE", "CHOICES", "OF", "TITLE", "WHY"), [_row(item) for item in items])
    say("For details: `hansard show SESSION`. Next:")
    for need in dict.fromkeys(str(item["waitsFor"]) for item in items):
        say(f"  {need:<10}  {_NEXT.get(need, 'hansard show SESSION')}")
    if more:
        say(f"Showing the oldest {len(items)}; use --limit for more.")
    return exits.OK


def _row(item: Json) -> list[str]:
    choices = " | ".join(map(str, item.get("choices") or ()))
    verdict = (item.get("feedback") or {}).get("verdict")
    title = f"{verdict}: {item.get('title')}" if verdict else str(item.get("title") or "")
    since, parent = local_time(item.get("since")), str(item.get("parent") or "")
    why = f"{item['agent']}: {item['summary']}" if item.get("question") else str(item.get("why") or "")
    why = " ".join(filter(None, (why, approval(item).replace("\n", "; "))))
    return [str(item["sessionId"]), str(item["waitsFor"]), since, choices, parent, title, why]


# Decisions that several people make: what they have seen, and the votes so far.

_DIGEST: Final = 64
_SHORTEST: Final = 8


async def whole_digest(api: Api, session_id: str, begun: str) -> str:
    """The digest that begins like this, if what waits now has it; else as it was given, which the server refuses."""
    if len(begun) >= _DIGEST or len(begun) < _SHORTEST:
        return begun
    for session in await _discussions(api, session_id):
        if str(session.get("seen") or "").startswith(begun):
            return str(session["seen"])
    return begun.ljust(_DIGEST, "0")


async def votes_missing(api: Api, session_id: str, choice: str) -> bool:
    """Whether more people have to choose the same; says how many."""
    session: Json = (await api.session(session_id))["session"]
    policy = session.get("approval")
    if not policy:
        return False
    say(f"Voted: {choice} for {session_id}. {progress(policy)}.")
    return True


async def _discussions(api: Api, session_id: str) -> list[Json]:
    """The session itself, and what it waits for."""
    session: Json = (await api.session(session_id))["session"]
    return [session, *[(await api.session(str(child)))["session"] for child in session.get("children") or ()]]
