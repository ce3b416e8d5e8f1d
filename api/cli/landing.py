"""`land`: finished branches are merged into one branch, one by one, each validated on top of those before it."""

import asyncio
from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Json, Where
from api.cli.stall import StallWatch
from api.cli.terminal import put, put_json, say

_WHY: Final = {
    "conflict": "conflicts in",
    "validation": "the validation fails on the merge",
    "checkout": "uncommitted changes in the checkout are in the way",
}


async def land(
    *sessions: Annotated[str, Parameter(help="The sessions, in the order in which they land.")],
    onto: str | None = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Merge finished branches into one branch, one by one, each validated on top of those before it.

    What conflicts or fails is sent back: the branch does not move, the reason is recorded with the session, and the
    others go on.

    Exit code: 0 all landed, 4 something was sent back.

    Parameters
    ----------
    onto
        The branch. Default: the one that each session began with.
    """
    if not sessions:
        raise Failed(sentence("Name the sessions to land."), code=exits.USAGE)
    landed: list[Json] = []
    sent_back: list[Json] = []
    async with connected(where, "work") as api:
        for name in sessions:
            session_id = await resolve(api, name)
            outcome = await _landed(api, session_id, onto)
            (landed if "commit" in outcome else sent_back).append(outcome)
            put_line = say if json else put
            put_line(_words(outcome))
    for outcome in sent_back:
        if "before" in outcome and outcome["reason"] != "checkout":
            say(
                sentence(
                    "To have it done again on {onto} as it is now: hansard run --fix {session}",
                    onto=outcome["onto"],
                    session=outcome["session"],
                )
            )
    if json:
        put_json({"landed": landed, "sentBack": sent_back})
    return exits.REFUSED if sent_back else exits.OK


async def _landed(api: Api, session_id: str, onto: str | None) -> Json:
    """Land one session, and wait for what comes of it."""
    try:
        answer = await api.post(f"{path_of(session_id)}/land", {"onto": onto})
    except Failed as error:
        if error.code != exits.REFUSED:
            raise
        return {"session": session_id, "onto": onto, "reason": "refused", "detail": " ".join(error.sentences)}
    seen, patience = int(answer["version"]) - 2, StallWatch(api)
    turn: str | None = None
    while True:
        events = await api.events(session_id, after=seen)
        for event in events:
            seen, data = int(event["version"]), event["data"]
            if event["type"] == "turn.requested" and data["work"] == "land":
                turn = data["turnId"]
            elif event["type"] == "session.landed" and turn:
                return {"session": session_id, "onto": data["onto"], "commit": data["commit"]}
            elif event["type"] == "session.sent_back" and turn:
                return {"session": session_id, **data}
            elif event["type"] in ("turn.failed", "turn.cancelled") and data["turnId"] == turn:
                detail = (data.get("failure") or {}).get("detail", "")
                return {"session": session_id, "onto": onto, "reason": "failed", "detail": detail}
        await patience.check([(await api.session(session_id))["session"]], moved=bool(events))
        if not events:
            await asyncio.sleep(api.poll)


def _words(outcome: Json) -> str:
    """One session's line, with the reasons below it."""
    name = outcome["session"]
    if "commit" in outcome:
        return f"{name}  landed on {outcome['onto']} as {outcome['commit'][:10]}"
    why = _WHY.get(outcome["reason"], outcome["detail"])
    paths, author = ", ".join(outcome.get("paths") or ()), outcome.get("author")
    head = f"{name}  sent back{f' to {author}' if author else ''}: {why}{f' {paths}' if paths else ''}"
    reasons = outcome.get("reasons") or (outcome["detail"].splitlines() if outcome["reason"] == "validation" else ())
    return "\n".join([head, *(f"    {reason}" for reason in reasons)])
