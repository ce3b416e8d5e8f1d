"""A conversation with the team. `message` starts something, continues it, ends it, or has to wait; `continue` and
`reset` are for an orchestration, or for the latest one of the conversation."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, Use, connected, path_of, resolve_to_change
from api.cli.exits import Failed
from api.cli.extension import extension_of
from api.cli.labels import recorded, sentence
from api.cli.options import HERE, AsJson, Fields, Key, TeamFile, Version, Where
from api.cli.orchestrate import ANYHOW, Origin, Talk
from api.cli.stall import StallWatch
from api.cli.start import (
    PLAIN,
    AsEnd,
    StartOptions,
    say_warnings,
    say_where,
    say_who,
    say_who_goes_on,
    started,
    started_here,
)
from api.cli.terminal import put_json, say
from api.cli.texts import text_from
from api.cli.watch import follow_to_end
from domain.triage import intent

if TYPE_CHECKING:
    from api.cli.answers import ChannelView, MessageAnswer, Receipt, Session, SessionAnswer

_REJECTED: Final = {
    "busy": "a run of this conversation is active; you can continue it once it pauses.",
    "duplicate": "the same message just arrived; duplicates are ignored.",
    "nothing_runs": "nothing is running in this conversation. For new work, say what to do.",
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
    words = text_from(text, None, what="message")
    folder = options.folder(where) if intent(words) else options.working_folder(where)
    body = {"prompt": words, "origin": origin} | talk.body() | options.body(folder) | started_here(where)
    use: Use = "start" if options.detach else "work"
    async with connected(where, use, team=team, example=options.example) as api:
        answer: MessageAnswer = await api.post("/api/message", body, key=options.idempotency_key)
        if answer["action"] == "rejected":
            return _rejected(answer, json=json)
        if answer["action"] == "unclear":
            return _unclear(answer, json=json)
        say_warnings(answer)
        say(_received(answer))
        if answer.get("reset"):
            return put_answer(answer, json=json)
        if not answer.get("continued"):
            say_where(options, folder)
        if options.detach:
            await say_who(api, options)
            return await started(api, answer, json=json)
        if answer["action"] == "queued":
            await _wait_for_start(api, str(answer["sessionId"]), origin or "")
        return await see_latest_run(api, str(answer["sessionId"]), json=json)


Which = Annotated[
    str | None,
    Parameter(help="The orchestration: an id, a unique prefix, or `latest`; default: the conversation's latest."),
]
OriginOfLatest = Annotated[
    str | None, Parameter(help="The conversation whose latest run is meant; default: the unnamed one.")
]

_BEGINNINGS: Final = ("orchestration.session_started", "orchestration.continued", "orchestration.rounds_added")


async def continue_(
    session: Which = None,
    /,
    *,
    origin: OriginOfLatest = None,
    detach: bool = False,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Resume an orchestration that stopped, for example at a checkpoint or out of rounds; it gets as many rounds again.

    Exit code: 0 done, 1 reset, invalid plan, failed agent, or no agent available for the rest, 4 nothing to continue,
    6 at a checkpoint or waiting for your decision, 7 out of rounds.

    Parameters
    ----------
    detach
        Do not wait. Without a server, start `hansard serve` on this log to run it.
    """
    async with connected(where, "start" if detach else "work", team=team) as api:
        path, body = await _target(api, session, "continue", origin=origin, version=if_version)
        answer: Receipt = await api.post(path, body, key=idempotency_key, version=if_version)
        say(sentence("Resumed session {session_id}.", session_id=answer["sessionId"]))
        if detach:
            return await started(api, answer, json=json)
        return await see_latest_run(api, str(answer["sessionId"]), json=json)


async def reset(
    session: Which = None,
    /,
    *,
    origin: OriginOfLatest = None,
    reason: Annotated[str | None, Parameter(allow_leading_hyphen=True, help="Why; this is recorded.")] = None,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """End an orchestration for good, even while it runs. The record stays."""
    async with connected(where, "all") as api:
        path, body = await _target(api, session, "reset", origin=origin, version=if_version)
        answer: Receipt = await api.post(path, body | {"reason": reason}, key=idempotency_key, version=if_version)
    say(sentence("Reset session {session_id}.", session_id=answer["sessionId"]))
    return put_answer(answer, json=json)


async def see_latest_run(api: Api, session_id: str, *, json: bool) -> int:
    """See an orchestration through from where it was last started or continued."""
    await say_who_goes_on(api, session_id)
    events, _ = await api.pages(f"{path_of(session_id)}/events", limit=1_000_000)
    begun = [int(event["version"]) for event in events if event["type"] in _BEGINNINGS]
    return await follow_to_end(api, session_id, after=max(begun, default=1) - 1, json=json)


def put_answer(answer: object, *, json: bool) -> int:
    if json:
        put_json(answer)
    return exits.OK


def _received(answer: "MessageAnswer") -> str:
    name = answer["sessionId"]
    if answer["action"] == "queued":
        return sentence(
            "Queued: {name} starts when the current run ends or pauses; {n} waiting.", name=name, n=answer["pending"]
        )
    if answer.get("continued"):
        return sentence("Continued session {name}.", name=name)
    return sentence("Reset session {session_id}." if answer.get("reset") else "Session {session_id}", session_id=name)


def _rejected(answer: "MessageAnswer", *, json: bool) -> int:
    reason = str(answer.get("reason"))
    first = ""
    if answer.get("sessionId"):
        first = " " + sentence("It started session {name}.", name=answer["sessionId"])
    say(sentence("Rejected: {rejected}{first}", rejected=sentence(_REJECTED.get(reason, reason)), first=first))
    put_answer(answer, json=json)
    return exits.REFUSED


def _unclear(answer: "MessageAnswer", *, json: bool) -> int:
    likely = ", ".join(_SUGGESTIONS[suggestion] for suggestion in answer["suggestions"] or ())
    say(sentence("Unclear, so nothing was started. Did you mean: {likely}", likely=likely))
    put_answer(answer, json=json)
    return exits.REFUSED


async def _wait_for_start(api: Api, session_id: str, origin: str) -> None:
    """Wait until the queued message becomes a session."""
    line, stall, before = "", StallWatch(api.system), -1
    while not await _exists(api, session_id):
        channel: ChannelView = await api.get("/api/message", origin=origin)
        busy = channel["busy"]
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


async def _and_below(api: Api, session_id: str) -> "list[Session]":
    """The session, and the reviews and debates that it has opened."""
    session = (await api.session(session_id))["session"]
    return [session, *[(await api.session(child))["session"] for child in session["children"]]]


async def _target(
    api: Api, session: str | None, verb: str, *, origin: str | None, version: int | None
) -> tuple[str, Fields]:
    """Path and body: of one session, or of the latest orchestration of an origin."""
    if session is None or (session == "latest" and origin is not None):
        if version is not None:
            raise Failed(sentence("--if-version needs a session id."), code=exits.USAGE)
        return f"/api/orchestrate/{verb}", {"origin": origin}
    if origin is not None:
        raise Failed(sentence("Give a session or --origin, not both."), code=exits.USAGE)
    session_id = await resolve_to_change(api, session)
    answer = await api.session(session_id)
    if answer["session"]["kind"] != "orchestration" and verb not in answer["availableCommands"]:
        raise _other_kind(answer, verb)
    return f"{path_of(session_id)}/{verb}", {}


def _other_kind(answer: "SessionAnswer", verb: str) -> Failed:
    """Names the command that the session takes instead: only orchestrations reset, and only they and held forks
    continue."""
    name, kind = answer["session"]["id"], answer["session"]["kind"]
    instead = {
        "decision": "`, `".join(f"hansard decide {name} {each}" for each in answer["session"].get("choices") or ()),
        "retry": f"hansard retry {name}",
        "budget": extension_of(answer["session"]),
        "cancel": f"hansard cancel {name}",
    }
    fit = [f"`{command}`" for action, command in instead.items() if action in answer["availableCommands"]]
    hint = sentence("Use {commands}.", commands=", ".join(fit)) if fit else sentence("It has ended.")
    return Failed(
        sentence(
            "Session {name} is a {kind}; `{verb}` is only for orchestrations. {hint}",
            name=name,
            kind=recorded("kind", kind),
            verb=verb,
            hint=hint,
        ),
        code=exits.REFUSED,
    )
