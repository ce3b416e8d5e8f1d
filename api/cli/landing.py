"""`land`: merge finished branches into one branch, one by one, each validated on top of those before it."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve_to_change
from api.cli.exits import Failed, worded
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Where
from api.cli.result_notes import result_notes
from api.cli.stall import StallWatch
from api.cli.terminal import put, put_json, say, visible_name

if TYPE_CHECKING:
    from api.cli.answers import Receipt

_WHY: Final = {
    "conflict": "conflicts",
    "validation": "the validation fails on the merge",
}
_OUTCOMES: Final = {
    "session.landed": "landed",
    "session.sent_back": "sent_back",
    "session.landing_not_tried": "not_tried",
}
"""How a landing ends, by event."""


Landing = Mapping[str, Any]
"""What came of one session: the fields of the event that says so, with `session` and `status`."""


async def land(
    *sessions: Annotated[str, Parameter(help="The sessions, in the order in which they land.")],
    onto: str | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Merge finished branches into one branch, one by one, each validated on top of those before it.

    A session whose branch conflicts or fails its validation is sent back: the target branch does not move, the reason
    is recorded with the session, and the others continue. Where the checkout or the branch is not ready, nothing is
    tried, and it is said what to do.

    Exit code: 0 all landed, 4 something was sent back or not tried.

    Parameters
    ----------
    onto
        The branch to land on. Default: the one that each session started from.
    """
    if not sessions:
        raise Failed(sentence("Name the sessions to land."), code=exits.USAGE)
    landed: list[Landing] = []
    sent_back: list[Landing] = []
    not_tried: list[Landing] = []
    lists = {"landed": landed, "sent_back": sent_back, "not_tried": not_tried}
    async with connected(where, "work") as api:
        for session_id in [await resolve_to_change(api, name) for name in sessions]:
            for note in result_notes((await api.session(session_id))["session"]):
                say(f"{session_id}  {note}")
            outcome = await _landed(api, session_id, onto)
            lists[outcome["status"]].append(outcome)
            put_line = say if json else put
            put_line(_words(outcome))
    for outcome in sent_back:
        say(
            sentence(
                "To have it done again on {onto} as it is now: hansard run --fix {session}",
                onto=outcome["onto"],
                session=outcome["session"],
            )
        )
    if json:
        put_json({"landed": landed, "sentBack": sent_back, "notTried": not_tried})
    return exits.REFUSED if sent_back or not_tried else exits.OK


async def _landed(api: Api, session_id: str, onto: str | None) -> Landing:
    """Land one session, and wait for what comes of it."""
    try:
        answer: Receipt = await api.post(f"{path_of(session_id)}/land", {"onto": onto})
    except Failed as error:
        if error.code not in (exits.REFUSED, exits.USAGE):
            raise
        return _not_tried(session_id, onto, "refused", " ".join(error.sentences))
    seen, patience = int(answer["version"]) - 2, StallWatch(api.system)
    turn: str | None = None
    while True:
        events = await api.events(session_id, after=seen)
        for event in events:
            seen, data = int(event["version"]), event["data"]
            if event["type"] == "turn.requested" and data["work"] == "land":
                turn = data["turnId"]
            elif turn and (status := _OUTCOMES.get(event["type"])):
                return {"session": session_id, "status": status, **data}
            elif event["type"] in ("turn.failed", "turn.cancelled") and data["turnId"] == turn:
                failure = data.get("failure") or {}
                detail = worded({"why": failure.get("detail"), "whySentence": failure.get("sentence")}, "why")
                return _not_tried(session_id, onto, "failed", detail)
        await patience.check([(await api.session(session_id))["session"]], moved=bool(events))
        if not events:
            await asyncio.sleep(api.poll)


def _not_tried(session_id: str, onto: str | None, reason: str, detail: str) -> Landing:
    return {"session": session_id, "status": "not_tried", "onto": onto, "reason": reason, "paths": [], "detail": detail}


def _words(outcome: Landing) -> str:
    """One session's line, with the reasons below it."""
    name = outcome["session"]
    if outcome["status"] == "landed":
        had = outcome["commit"] == outcome["before"]
        landed = "nothing to land: {branch} already has these changes" if had else "landed on {branch} as {commit}"
        return f"{name}  {sentence(landed, branch=outcome['onto'], commit=outcome['commit'][:10])}"
    if outcome["status"] == "not_tried":
        detail = worded({"why": outcome["detail"], "whySentence": outcome.get("sentence")}, "why")
        return f"{name}  {sentence('not landed: {detail}', detail=detail)}"
    why = sentence(_WHY[outcome["reason"]]) if outcome["reason"] in _WHY else outcome["detail"]
    paths, author = ", ".join(map(visible_name, outcome.get("paths") or ())), outcome.get("author")
    back = sentence("sent back to {author}" if author else "sent back", author=author)
    head = f"{name}  {back}: {': '.join(filter(None, (why, paths)))}"
    reasons = outcome.get("reasons") or (outcome["detail"].splitlines() if outcome["reason"] == "validation" else ())
    return "\n".join([head, *(f"    {reason}" for reason in reasons)])
