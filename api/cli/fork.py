"""`hansard fork`: a new session from a version of another."""

from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.client import connected, path_of, resolve_to_change
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Id, TeamFile, Where
from api.cli.start import say_who_goes_on
from api.cli.terminal import put_json, say
from api.cli.watch import follow_to_end


async def fork(
    session: Id,
    /,
    *,
    at: Annotated[PositiveInt, Parameter(help="The last version the fork shares.")],
    decision: Literal["apply_fix", "skip", "revise", "accept"] | None = None,
    answer: str | None = None,
    iterations: int | None = None,
    minutes: int | None = None,
    rounds: int | None = None,
    profile: str | None = None,
    mode: Literal["live", "stop"] = "live",
    detach: bool = False,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Start a session from a version of another. Recorded answers are reused, free, until the histories diverge.

    Parameters
    ----------
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
    mode
        live: ask the agents once no recorded answer fits; stop: wait there for `hansard continue`.
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
    async with connected(where, "start" if detach else "work", team=team) as api:
        session_id = await resolve_to_change(api, session)
        body = {"atVersion": at, "mode": mode} | ({"substitute": substitute} if substitute else {})
        made = await api.post(f"{path_of(session_id)}/fork", body)
        say(
            sentence(
                "Forked {session_id} at version {at}: session {session_id_}.",
                session_id=session_id,
                at=at,
                session_id_=made["sessionId"],
            )
        )
        if detach:
            if json:
                put_json(made)
            return exits.OK
        await say_who_goes_on(api, made["sessionId"])
        return await follow_to_end(api, made["sessionId"], after=at, json=json)
