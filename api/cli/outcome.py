"""Seeing a session through: following it to its rest, then its result on stdout and in the exit code."""

import asyncio

from api.cli.client import Api, Json, path_of
from api.cli.exits import of_outcome
from api.cli.progress import follow, screen, standing
from api.cli.terminal import put_json, put_pairs, say


async def see_through(api: Api, session_id: str, *, after: int = 0, json: bool) -> int:
    """Follow the session live until it rests; the exit code that its outcome has."""
    try:
        with screen() as display:
            session = await follow(api, session_id, display, after=after)
    except asyncio.CancelledError:
        say(f"Interrupted. Nothing is cancelled: session {session_id} goes on wherever turns are worked on.")
        say(f"  hansard events {session_id} --follow     hansard cancel {session_id}     hansard serve")
        raise
    if json:
        put_json(session)
    else:
        put_pairs(await _result(api, session))
    return of_outcome(session)


async def _result(api: Api, session: Json) -> list[tuple[str, str]]:
    branch = await _branch(api, str(session["id"]))
    return [
        ("session", str(session["id"])),
        ("status", str(session["status"])),
        ("summary", str(session.get("finalSummary") or "")),
        ("error", str(session.get("lastError") or "") if session["status"] == "failed" else ""),
        ("used", ", ".join(standing(session))),
        ("branch", branch or ""),
        ("workspace", str(session.get("workspace") or "") if branch else ""),
    ]


async def _branch(api: Api, session_id: str) -> str | None:
    """The branch that the work stands on, out of the record."""
    found: str | None = None
    events, _ = await api.pages(f"{path_of(session_id)}/events", limit=10_000)
    for event in events:
        if event["type"].endswith(".branch_published"):
            found = str(event["data"]["branch"])
    return found
