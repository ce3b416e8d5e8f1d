"""`hansard fork`: try another way from an earlier version."""

from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.client import connected, path_of, resolve_to_change
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Id, TeamFile, Where
from api.cli.start import say_who_goes_on
from api.cli.terminal import put_json, say, visible
from api.cli.watch import follow_to_end

Pairs = Annotated[list[str] | None, Parameter(negative="")]


async def fork(
    session: Id,
    /,
    *,
    at: Annotated[PositiveInt, Parameter(help="The last version the fork shares; `hansard cuts` lists them.")],
    snap: Annotated[bool, Parameter(negative="")] = False,
    decision: Literal["apply_fix", "skip", "revise", "accept"] | None = None,
    answer: str | None = None,
    iterations: int | None = None,
    minutes: int | None = None,
    rounds: int | None = None,
    profile: str | None = None,
    agent: Annotated[Pairs, Parameter(metavar="ROLE=NAME")] = None,
    model: Annotated[Pairs, Parameter(metavar="AGENT=MODEL")] = None,
    mode: Literal["live", "stop", "ask"] = "live",
    detach: bool = False,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Start a session from a version of another. Recorded answers are reused, free, until the histories diverge.

    Parameters
    ----------
    snap
        Between two cuts, begin at the next one.
    decision
        A different decision at that point.
    answer
        A different agent answer at that point.
    iterations
        Additional iterations.
    minutes
        Additional minutes.
    rounds
        Additional rounds.
    profile
        The convergence profile that judges a review or debate from there on.
    agent
        Another agent for a role, in everything that is asked anew; may be repeated.
    model
        Another model for an agent, in everything that is asked anew; may be repeated.
    mode
        live: ask the agents once no recorded answer fits; stop: wait there for `hansard continue`; ask: reuse none.
    detach
        Start it without waiting.
    """
    budget = {"addIterations": iterations, "addMinutes": minutes, "addRounds": rounds}
    changes: dict[str, Any] = {
        "decision": decision,
        "answer": None if answer is None else {"text": answer},
        "budget": {name: amount for name, amount in budget.items() if amount is not None} or None,
        "profile": profile,
    }
    substitute = {name: value for name, value in changes.items() if value is not None}
    anew = {"agents": _pairs("--agent", agent), "model": _pairs("--model", model)}
    async with connected(where, "start" if detach else "work", team=team) as api:
        session_id = await resolve_to_change(api, session)
        body: dict[str, Any] = {"atVersion": at, "mode": mode}
        body |= {"snap": True} if snap else {}
        body |= {"substitute": substitute} if substitute else {}
        body |= {name: pairs for name, pairs in anew.items() if pairs}
        made = await api.post(f"{path_of(session_id)}/fork", body)
        begun = (await api.get(path_of(made["sessionId"])))["session"]["forkedAt"]
        say(
            sentence(
                "Forked {session_id} at version {at}: session {session_id_}.",
                session_id=session_id,
                at=begun or at,
                session_id_=made["sessionId"],
            )
        )
        if detach:
            if json:
                put_json(made)
            return exits.OK
        await say_who_goes_on(api, made["sessionId"])
        return await follow_to_end(api, made["sessionId"], after=begun or at, json=json)


def _pairs(option: str, words: list[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in words or ():
        name, equals, value = each.partition("=")
        if not (equals and name.strip() and value.strip()) or name.strip() in pairs:
            wanted = sentence("{option} takes NAME=VALUE, each name once: {given}", option=option, given=visible(each))
            raise Failed(wanted, code=exits.USAGE)
        pairs[name.strip()] = value.strip()
    return pairs
