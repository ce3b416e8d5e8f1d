"""`hansard replay`: a recorded session, event by event, or checked against today's rules."""

import asyncio
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Id, Where
from api.cli.progress import agents_of, describe
from api.cli.tables import columns
from api.cli.terminal import one_line, put, put_json, put_json_line, say
from domain.values.base import milliseconds

if TYPE_CHECKING:
    from api.cli.answers import Event, ReplayAnswer

Speed = Annotated[float, Parameter(help="Speed factor; 0 prints everything at once.")]
_LONGEST_PAUSE = 3.0


async def replay(
    session: Id,
    /,
    *,
    assert_: Annotated[bool, Parameter(name="--assert")] = False,
    speed: Speed = 0.0,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Replay a past session event by event. No agent runs again.

    Parameters
    ----------
    assert_
        Check the whole history against today's rules and report the first difference (exit code 8).
    """
    if not speed >= 0:
        raise Failed(sentence("--speed must be 0 or more."), code=exits.USAGE)
    async with connected(where) as api:
        session_id = await resolve(api, session)
        if assert_:
            return _asserted(session_id, await api.get(f"{path_of(session_id)}/replay"), json=json)
        items, _ = await api.pages(f"{path_of(session_id)}/events", limit=1_000_000)
        agents = agents_of((await api.session(session_id))["session"])
    await _play(items, agents, speed=speed, json=json)
    return exits.OK


async def _play(items: "list[Event]", agents: list[str], *, speed: float, json: bool) -> None:

    before = milliseconds(items[0]["timestamp"]) if items else 0
    for event in items:
        at = milliseconds(event["timestamp"])
        if speed:
            await asyncio.sleep(min(_LONGEST_PAUSE, (at - before) / 1000 / speed))
        before = at
        if json:
            put_json_line(event)
        else:
            words = one_line(describe(event, agents))
            put(f"{event['version']:>5}  {event['timestamp'][11:23]}  {event['type']:<38} {words}")


def _asserted(session_id: str, answer: "ReplayAnswer", *, json: bool) -> int:
    difference = answer["difference"]
    if json:
        put_json(answer)
    elif difference is None:
        say(
            sentence(
                "{session_id}: {version} events, decided the same way today.",
                session_id=session_id,
                version=answer["version"],
            )
        )
    else:
        put(sentence("version {version} ({command})", version=difference["version"], command=difference["command"]))
        sides = columns([[sentence("recorded:"), difference["expected"]], [sentence("today:"), difference["actual"]]])
        put(indent(sides, "  "))
    return exits.OK if difference is None else exits.NOT_VERIFIED


# Two sessions side by side.
