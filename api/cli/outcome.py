"""Seeing a session through: following it to its rest, then its result on stdout and in the exit code."""

import asyncio

from api.cli import exits
from api.cli.asking import decide, somebody_is_there
from api.cli.client import Api, Json, path_of
from api.cli.following import Following
from api.cli.patience import Patience
from api.cli.progress import screen
from api.cli.showing import ended
from api.cli.terminal import put, put_json, put_pairs, say


async def see_through(api: Api, session_id: str, *, after: int = 0, json: bool) -> int:
    """Follow the session live until it rests; the exit code that its outcome has.

    A person at the terminal is asked for the decisions that it waits for, and it goes on with them.
    """
    following = Following(api, session_id, after=after, patience=Patience(api))
    asks = not json and somebody_is_there()
    seen: set[str] = set()
    try:
        while True:
            with screen() as display:
                session = await following.to_rest(display)
            if not asks or not await _decided(api, following.waiting, seen):
                break
    except asyncio.CancelledError:
        say(f"Interrupted. Nothing is cancelled: session {session_id} goes on wherever turns are worked on.")
        say(f"  hansard events {session_id} --follow     hansard cancel {session_id}     hansard serve")
        raise
    if json:
        put_json(session)
    else:
        await _put_result(api, session, following.waiting, seen)
    _say_what_next(session, following.waiting)
    return exits.WAITS if following.waiting else exits.of_outcome(session)


async def _decided(api: Api, waiting: list[Json], seen: set[str]) -> bool:
    """Whether the person decided one of these; what they decide upon is shown before."""
    for discussion in waiting:
        seen.add(str(discussion["id"]))
        put_pairs(ended(discussion, branch=None))
        if await decide(api, discussion):
            return True
    return False


async def _put_result(api: Api, session: Json, waiting: list[Json], seen: set[str]) -> None:
    """The session, and what it waits for; what the person has just read is not printed once more."""
    if session["id"] in seen:
        decision = session.get("decision")
        choice = [("decision", str(decision["choice"]))] if decision else []
        put_pairs([("session", str(session["id"])), ("status", str(session["status"])), *choice])
        return
    put_pairs(ended(session, branch=await _branch(api, str(session["id"]))))
    for discussion in waiting:
        if discussion["id"] != session["id"] and discussion["id"] not in seen:
            put("")
            put_pairs(ended(discussion, branch=None))


def _say_what_next(session: Json, waiting: list[Json]) -> None:
    """What a person can do about a session that waits for one."""
    for discussion in waiting:
        say("It waits for your decision:")
        say(f"  hansard decide {discussion['id']} {'|'.join(discussion['choices'])}")
    if waiting:
        return
    if session["status"] == "checkpoint":
        say("A checkpoint: it goes on when you say so.")
    if session["status"] in ("checkpoint", "partial"):
        say(f"  hansard continue {session['id']}     hansard reset {session['id']}")
    decision = session.get("decision") or {}
    if session["kind"] == "review" and decision.get("choice") == "apply_fix" and session.get("parent") is None:
        say("A review of its own changes nothing: its feedback says what to fix.")


async def _branch(api: Api, session_id: str) -> str | None:
    """The branch that the work stands on, out of the record."""
    found: str | None = None
    events, _ = await api.pages(f"{path_of(session_id)}/events", limit=10_000)
    for event in events:
        if event["type"].endswith(".branch_published"):
            found = str(event["data"]["branch"])
    return found
