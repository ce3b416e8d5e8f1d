"""`revise`: what a person wants changed in the result of a session."""

from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve_to_change
from api.cli.comments import comment_body, edit_remarks
from api.cli.editor import EditedWords, RemarkPlace, save_words
from api.cli.exits import Failed
from api.cli.interview import is_interactive
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Fields, Id, Key, TeamFile, Version, Where
from api.cli.steer import follow_posted, post_action
from api.cli.terminal import say
from api.cli.texts import words_from

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
    quiet: Annotated[bool, Parameter(negative=())] = False,
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
    quiet
        Show only which phase or round it is in.
    """
    amounts: Fields = {"addIterations": iterations, "addMinutes": minutes, "addRounds": rounds}
    async with connected(where, "work" if wait else "all", team=team) as api:
        session_id = await resolve_to_change(api, session)
        asks = message is None and is_interactive()
        words, remarks = (await _edited(api, session_id)) if asks else ({"text": _text(message)}, [])
        if asks and not words:
            say(sentence("Nothing was written, so nothing was recorded."))
            return exits.OK
        try:
            posted = await post_action(
                api, session_id, "revise", amounts | words, key=idempotency_key, version=if_version
            )
        except Failed:
            if remarks:
                say(sentence("Your words are kept in {file}.", file=save_words(remarks)))
            raise
        done = sentence("Requested changes to session {session_id}.", session_id=posted.session_id)
        if not wait and await _is_queued(api, session_id):
            done += f" {sentence('The next turn that writes takes it up.')}"
        return await follow_posted(api, posted, done, wait=wait, json=json, shown="phases" if quiet else "events")


async def _is_queued(api: Api, session_id: str) -> bool:
    """Return whether agents are at work on something else first."""
    revisions = (await api.session(session_id))["session"].get("revisions") or []
    return any(each["status"] == "queued" for each in revisions)


def _text(message: str | None) -> str | None:
    """The words of --message; with `-`, those that come through stdin."""
    return words_from(message, what="request") if message == "-" else message


async def _edited(api: Api, session_id: str) -> tuple[Fields, list[EditedWords]]:
    """Returns what the person writes above the diff, and the comments: the open ones, and what is written below its
    lines. Nothing where they cancel, or say nothing while no comment is open."""
    items, _ = await api.pages(f"{path_of(session_id)}/comments", limit=_ALL)
    waiting = [item["commentId"] for item in items if item["status"] in ("open", "unchanged")]
    lead = sentence("Open comments that go with it: {names}.", names=", ".join(waiting)) if waiting else ""
    remarks, head = await edit_remarks(api, session_id, lead=lead)
    if remarks is None or not (remarks or waiting):
        return {}, []
    text = "\n\n".join(each.text for each in remarks if each.place == RemarkPlace())
    made = [comment_body(each, None, head) for each in remarks if each.place != RemarkPlace()]
    return {"text": text or None, "comments": [*waiting, *made]}, remarks
