"""`cancel` and `extend`: what a person tells a session."""

from typing import Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import HERE, Json, TeamFile, Where, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.listed import micros
from api.cli.outcome import see_through
from api.cli.reading import AsJson, Id
from api.cli.starting import say_who_goes_on
from api.cli.terminal import put_json, say

Key = Annotated[str | None, Parameter(help="The same command with the same key is carried out once.")]
Version = Annotated[int | None, Parameter(help="Only if the session still stands at this version; else exit code 4.")]

_REASON: Final = "A person asked for it on the command line."


async def cancel(
    session: Id,
    /,
    *,
    reason: Annotated[str, Parameter(allow_leading_hyphen=True)] = _REASON,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Cancel a session. What it has recorded stays; what its agents answer now is ignored.

    Parameters
    ----------
    reason
        Why; it goes into the record.
    """
    async with connected(where) as api:
        session_id = await resolve(api, session)
        path = f"{path_of(session_id)}/cancel"
        answer = await api.post(path, {"reason": reason}, key=idempotency_key, version=if_version)
    return _answered(answer, f"Session {session_id} is cancelled.", json=json)


async def extend(
    session: Id,
    /,
    *,
    reason: Annotated[str, Parameter(allow_leading_hyphen=True)],
    iterations: int | None = None,
    minutes: int | None = None,
    tokens: int | None = None,
    cost: str | None = None,
    cost_micros: int | None = None,
    rounds: int | None = None,
    wait: bool = False,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Give a delivery more budget, or an orchestration more rounds; one that had run out goes on.

    Parameters
    ----------
    reason
        Why; it goes into the record.
    iterations
        So many more iterations.
    minutes
        So many more minutes.
    tokens
        So many more tokens.
    cost
        So many more US dollars, as in 2.50.
    cost_micros
        The same in millionths of a dollar.
    rounds
        So many more rounds of an orchestration.
    wait
        See it through like `hansard run`; directly on the log, work on it here.
    """
    amounts: Json = {
        "addIterations": iterations,
        "addMinutes": minutes,
        "addTokens": tokens,
        "addCostMicros": micros(cost, cost_micros, option="--cost"),
        "addRounds": rounds,
    }
    if all(amount is None for amount in amounts.values()):
        raise Failed(
            "Say how much more: --iterations, --minutes, --tokens or --cost; --rounds of an orchestration.",
            code=exits.USAGE,
        )
    async with connected(where, "work" if wait else "read", team=team) as api:
        session_id = await resolve(api, session)
        path = f"{path_of(session_id)}/budget"
        before = int((await api.session(session_id))["session"]["version"])
        answer = await api.post(path, amounts | {"reason": reason}, key=idempotency_key, version=if_version)
        if wait:
            await say_who_goes_on(api, session_id)
            return await see_through(api, session_id, after=before, json=json)
    return _answered(answer, f"Session {session_id} has more budget.", json=json)


def _answered(answer: Json, sentence: str, *, json: bool) -> int:
    say(sentence)
    if json:
        put_json(answer)
    return exits.OK
