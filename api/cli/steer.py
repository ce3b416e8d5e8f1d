"""`hansard extend`, `cancel`, `retry`, `watch`, `resume`: what a person changes in a running session."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve, resolve_to_change
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Fields, Id, Key, TeamFile, Version, Where, micros
from api.cli.progress import Shown
from api.cli.silence import agents_of, say_wait
from api.cli.stall import others_have
from api.cli.start import AsEnd, say_who_goes_on
from api.cli.terminal import put_json, say
from api.cli.watch import follow_to_end

if TYPE_CHECKING:
    from api.cli.answers import Receipt


async def cancel(
    session: Id,
    /,
    *,
    reason: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Cancel a session. Its record stays; later answers of its agents are ignored.

    Parameters
    ----------
    reason
        Why; this is recorded.
    """
    body = {"reason": sentence("A person asked for it on the command line.") if reason is None else reason}
    async with connected(where, "all") as api:
        session_id = await resolve_to_change(api, session)
        path = f"{path_of(session_id)}/cancel"
        answer: Receipt = await api.post(path, body, key=idempotency_key, version=if_version)
    return _answered(answer, sentence("Cancelled session {session_id}.", session_id=session_id), json=json)


async def retry(
    session: Id,
    /,
    *,
    reason: Annotated[str, Parameter(allow_leading_hyphen=True)] = "",
    wait: bool = False,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Retry the waiting or failed turn. Everything before it is kept.

    Parameters
    ----------
    reason
        Why; this is recorded.
    wait
        Wait until it finishes (without a server, do the work in this process).
    """
    async with connected(where, "work" if wait else "all", team=team) as api:
        posted = await post_action(api, session, "retry", {"reason": reason}, key=idempotency_key, version=if_version)
        done = sentence("Retrying session {session_id}.", session_id=posted.session_id)
        return await follow_posted(api, posted, done, wait=wait, json=json)


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
    """Give a delivery more budget or an orchestration more rounds; if it had run out, it continues.

    Parameters
    ----------
    reason
        Why; this is recorded.
    iterations
        Additional iterations.
    minutes
        Additional minutes.
    tokens
        Additional tokens.
    cost
        Additional US dollars, such as 2.50.
    cost_micros
        The same in millionths of a dollar.
    rounds
        Additional rounds of an orchestration.
    wait
        Wait until it finishes, like `hansard run`; without a server, run it in this process.
    """
    amounts: Fields = {
        "addIterations": iterations,
        "addMinutes": minutes,
        "addTokens": tokens,
        "addCostMicros": micros(cost, cost_micros, option="--cost"),
        "addRounds": rounds,
    }
    if all(amount is None for amount in amounts.values()):
        raise Failed(
            sentence(
                "Give at least one of --iterations, --minutes, --tokens, --cost, or --rounds for an orchestration."
            ),
            code=exits.USAGE,
        )
    async with connected(where, "work" if wait else "all", team=team) as api:
        posted = await post_action(
            api, session, "budget", amounts | {"reason": reason}, key=idempotency_key, version=if_version
        )
        done = sentence("Added budget to session {session_id}.", session_id=posted.session_id)
        return await follow_posted(api, posted, done, wait=wait, json=json)


class Posted(NamedTuple):
    """An action that makes a session run again: the version before it, and the API's answer."""

    session_id: str
    before: int
    answer: "Receipt"


async def post_action(
    api: Api, session: str, action: str, body: Fields, *, key: str | None, version: int | None
) -> Posted:
    """Send an action of a session."""
    session_id = await resolve_to_change(api, session)
    before = int((await api.session(session_id))["session"]["version"])
    answer: Receipt = await api.post(f"{path_of(session_id)}/{action}", body, key=key, version=version)
    return Posted(session_id, before, answer)


async def follow_posted(api: Api, posted: Posted, done: str, *, wait: bool, json: bool, shown: Shown = "events") -> int:
    """Follow the session to its end if `wait`; else only say what was done."""
    if not wait:
        code = _answered(posted.answer, done, json=json)
        await say_wait(api, (await api.session(posted.session_id))["session"])
        return code
    await say_who_goes_on(api, posted.session_id)
    return await follow_to_end(api, posted.session_id, after=posted.before, json=json, shown=shown)


def _answered(answer: "Receipt", done: str, *, json: bool) -> int:
    say(done)
    if json:
        put_json(answer)
    return exits.OK


async def watch(session: Id, /, *, json: AsEnd = False, where: Where = HERE) -> int:
    """Follow a session live and exit as `run` does. Runs no turns.

    Ctrl-C only stops watching.
    """
    async with connected(where, "all") as api:
        session_id = await resolve(api, session)
        await say_wait(api, (await api.session(session_id))["session"])
        return await follow_to_end(api, session_id, json=json, works=False)


async def resume(session: Id, /, *, json: AsEnd = False, where: Where = HERE, team: TeamFile = None) -> int:
    """Run a session in this process until it ends, as `run` does.

    If another process with its agents runs turns on this log, it only watches. Ctrl-C cancels nothing.
    """
    async with connected(where, "all") as api:
        session_id = await resolve_to_change(api, session)
        agents = agents_of((await api.session(session_id))["session"])
    # While only commands are run, which any worker does, nobody knows yet who is going to be asked.
    theirs = bool(agents) and await others_have(where.settings(), agents)
    works = where.address() is None and not theirs
    async with connected(where, "work" if works else "all", team=team) as api:
        current = (await api.session(session_id))["session"]
        version = int(current["version"])
        await say_wait(api, current)
        if works:
            await say_who_goes_on(api, session_id)
        return await follow_to_end(api, session_id, after=version, json=json, works=works)
