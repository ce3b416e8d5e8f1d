"""`message`: a message to the team starts something, continues it, ends it, or has to wait."""

import asyncio
from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, Json, TeamFile, Where, text_from
from api.cli.orchestrate import ANYHOW, Origin, Talk, put_answer, see_latest_run
from api.cli.stall import StallWatch
from api.cli.start import PLAIN, AsEnd, StartOptions, say_where, say_who, started
from api.cli.terminal import say

_REJECTED: Final = {
    "busy": "a run of this conversation is active; you can continue it once it pauses.",
    "duplicate": "the same message just arrived; duplicates are ignored.",
    "nothing_to_reset": "there is nothing to reset.",
    "queue_full": "too many messages of this conversation are already waiting.",
}

_SUGGESTIONS: Final = {
    "continue": "`hansard message /continue`",
    "reset": "`hansard message reset`",
    "cancel": "`hansard cancel latest`",
}
"""What to type for each suggestion."""


async def message(
    text: Annotated[str, Parameter(allow_leading_hyphen=True, help="The message; - reads stdin.")],
    /,
    *,
    talk: Talk = ANYHOW,
    origin: Origin = None,
    options: StartOptions = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Say something to the team, as in a chat: a request, or a word like "이어서 해줘", "리셋해" or /continue.

    The message starts a run, is queued after the active one, or is rejected with a reason (exit code 4). One that only
    resembles such a word starts nothing while a run is active or paused (exit code 4).
    """
    words, folder = text_from(text, None, what="message"), options.folder(where)
    body = {"prompt": words, "origin": origin} | talk.body() | options.body(folder)
    async with connected(where, "start" if options.detach else "work", team=team) as api:
        answer = await api.post("/api/message", body, key=options.idempotency_key)
        if answer["action"] == "rejected":
            return _rejected(answer, json=json)
        if answer["action"] == "unclear":
            return _unclear(answer, json=json)
        say(_received(answer))
        if answer.get("reset"):
            return put_answer(answer, json=json)
        if not answer.get("continued"):
            say_where(options, folder)
            await say_who(api, options)
        if options.detach:
            return started(api, answer, json=json)
        if answer["action"] == "queued":
            await _wait_for_start(api, str(answer["sessionId"]), origin or "")
        return await see_latest_run(api, str(answer["sessionId"]), json=json)


def _received(answer: Json) -> str:
    name = answer["sessionId"]
    if answer["action"] == "queued":
        return sentence(
            "Queued: {name} starts when the current run ends or pauses; {n} waiting.", name=name, n=answer["pending"]
        )
    if answer.get("continued"):
        return sentence("Continued session {name}.", name=name)
    return sentence("Reset session {session_id}." if answer.get("reset") else "Session {session_id}", session_id=name)


def _rejected(answer: Json, *, json: bool) -> int:
    reason = str(answer.get("reason"))
    first = ""
    if answer.get("sessionId"):
        first = " " + sentence("It started session {name}.", name=answer["sessionId"])
    say(sentence("Rejected: {rejected}{first}", rejected=sentence(_REJECTED.get(reason, reason)), first=first))
    put_answer(answer, json=json)
    return exits.REFUSED


def _unclear(answer: Json, *, json: bool) -> int:
    likely = ", ".join(_SUGGESTIONS[suggestion] for suggestion in answer["suggestions"])
    say(sentence("Unclear, so nothing was started. Did you mean: {likely}", likely=likely))
    put_answer(answer, json=json)
    return exits.REFUSED


async def _wait_for_start(api: Api, session_id: str, origin: str) -> None:
    """Wait until the queued message becomes a session."""
    line, stall, before = "", StallWatch(api), -1
    while not await _exists(api, session_id):
        busy = (await api.get("/api/message", origin=origin))["busy"]
        if busy and busy != line:
            say(sentence("Waiting for session {busy}.", busy=busy))
            line = busy
        if busy:
            session, *children = await _and_below(api, busy)
            if exits.waits_below(session, children):
                raise Failed(
                    sentence("Session {busy} waits for a decision: `hansard inbox` lists it.", busy=busy),
                    code=exits.WAITS,
                )
            version = sum(int(session_row["version"]) for session_row in (session, *children))
            await stall.check([session, *children], moved=version != before)
            before = version
        await asyncio.sleep(api.poll)


async def _exists(api: Api, session_id: str) -> bool:
    try:
        await api.session(session_id)
    except Failed as error:
        if error.code != exits.NOT_FOUND:
            raise
        return False
    return True


async def _and_below(api: Api, session_id: str) -> list[Json]:
    """The session, and the reviews and debates that it has opened."""
    session = (await api.session(session_id))["session"]
    return [session, *[(await api.session(child))["session"] for child in session["children"]]]
