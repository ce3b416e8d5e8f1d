"""`revise`: what a person wants changed in the result of a session."""

from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.asking import is_interactive
from api.cli.client import Api, connected, path_of, resolve_to_change
from api.cli.comments import comment_body, edit_remarks
from api.cli.editor import RemarkPlace
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Fields, Id, Key, TeamFile, Version, Where
from api.cli.steer import follow_posted, post_action
from api.cli.terminal import say

_ALL: Final = 1_000


async def revise(
    session: Id,
    /,
    *,
    message: Annotated[str | None, Parameter(name=["--message", "-m"], allow_leading_hyphen=True)] = None,
    iterations: int | None = None,
    minutes: int | None = None,
    rounds: int | None = None,
    wait: bool = False,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Request changes to a session's result; the same session goes on, on the same branch.

    A session that still runs takes the request up with its next turn that writes. Open comments are part of the
    request. On a terminal without --message, your editor opens with the diff, each line after `> `: write what has to
    change above everything, or below the lines that you mean.

    Parameters
    ----------
    message
        What has to change. Not needed where comments are open.
    iterations
        Additional iterations of a delivery [default: 2 where it has finished].
    minutes
        Additional minutes of a delivery [default: 15 where it has finished].
    rounds
        Additional rounds of an orchestration [default: as many as at its start where it has finished].
    wait
        Wait until it finishes, like `hansard run`; without a server, run it in this process.
    """
    amounts: Fields = {"addIterations": iterations, "addMinutes": minutes, "addRounds": rounds}
    async with connected(where, "work" if wait else "all", team=team) as api:
        session_id = await resolve_to_change(api, session)
        body = amounts | (await _edited(api, session_id) if message is None and is_interactive() else {"text": message})
        if "comments" in body and not body["text"] and not body["comments"]:
            say(sentence("Nothing was written, so nothing was recorded."))
            return exits.OK
        posted = await post_action(api, session_id, "revise", body, key=idempotency_key, version=if_version)
        done = sentence("Requested changes to session {session_id}.", session_id=posted.session_id)
        return await follow_posted(api, posted, done, wait=wait, json=json)


async def _edited(api: Api, session_id: str) -> Fields:
    """Returns what the person writes above the diff, and the comments: the open ones, and what is written below its
    lines."""
    remarks, head = await edit_remarks(api, session_id)
    items, _ = await api.pages(f"{path_of(session_id)}/comments", limit=_ALL)
    waiting = [item["commentId"] for item in items if item["status"] in ("open", "unchanged")]
    text = "\n\n".join(each.text for each in remarks if each.place == RemarkPlace())
    made = [comment_body(each, None, head) for each in remarks if each.place != RemarkPlace()]
    return {"text": text or None, "comments": [*waiting, *made]}
