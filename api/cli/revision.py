"""`revise`: what a person wants changed in the result of a session."""

from typing import Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Id, Json, Key, TeamFile, Version, Where
from api.cli.steer import follow_posted, post_action


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

    A session that still runs takes the request up with its next turn that writes.

    Parameters
    ----------
    message
        What has to change.
    iterations
        Additional iterations of a delivery [default: 2 where it has finished].
    minutes
        Additional minutes of a delivery [default: 15 where it has finished].
    rounds
        Additional rounds of an orchestration [default: as many as at its start where it has finished].
    wait
        Wait until it finishes, like `hansard run`; without a server, run it in this process.
    """
    if message is None or not message.strip():
        raise Failed(sentence("Say what has to change: --message TEXT."), code=exits.USAGE)
    body: Json = {"text": message, "addIterations": iterations, "addMinutes": minutes, "addRounds": rounds}
    async with connected(where, "work" if wait else "all", team=team) as api:
        posted = await post_action(api, session, "revise", body, key=idempotency_key, version=if_version)
        done = sentence("Requested changes to session {session_id}.", session_id=posted.session_id)
        return await follow_posted(api, posted, done, wait=wait, json=json)
