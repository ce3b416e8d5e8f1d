"""`hansard replay`, `fork`, `diff`, `explain`: what a record is for, once it is history."""

import asyncio
from textwrap import indent
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.activity import say_wait
from api.cli.client import Api, connected, path_of, resolve, resolve_to_change
from api.cli.discussion import Pairs
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, At, Id, Json, TeamFile, Where
from api.cli.progress import agents_of, describe
from api.cli.session import details, more_lines, why_stopped
from api.cli.start import say_who_goes_on
from api.cli.terminal import columns, one_line, put, put_json, put_json_line, put_pairs, say, shortened, visible
from api.cli.watch import follow_to_end

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


async def _play(items: list[Json], agents: list[str], *, speed: float, json: bool) -> None:
    from domain.values.base import milliseconds

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


def _asserted(session_id: str, answer: Json, *, json: bool) -> int:
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


async def diff(
    first: Id,
    second: Id,
    /,
    *,
    at_first: Annotated[PositiveInt | None, Parameter(name="--at-a")] = None,
    at_second: Annotated[PositiveInt | None, Parameter(name="--at-b")] = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show where two sessions diverge and how each ended.

    Parameters
    ----------
    at_first
        The first session at this version.
    at_second
        The second session at this version.
    """
    async with connected(where) as api:
        one, other = await resolve(api, first), await resolve(api, second)
        answer = await api.get(f"{path_of(one)}/diff/{other}", atA=at_first, atB=at_second)
        ours, theirs = await api.session(one, at=at_first), await api.session(other, at=at_second)
        first_apart = await _first_apart(api, {"a": one, "b": other}, answer["firstDivergence"])
    if json:
        put_json(answer)
        return exits.OK
    put("\n".join(first_apart))
    _put_sides(ours["session"], theirs["session"], answer["cost"])
    return exits.OK


async def explain(
    session: Id,
    /,
    *,
    at: At = None,
    wish: Annotated[str | None, Parameter(help="Also explain what is missing to reach this state.")] = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show why a session is in its state: the chain of causes, across sessions."""
    async with connected(where) as api:
        session_id = await resolve(api, session)
        answer = await api.get(f"{path_of(session_id)}/explain", version=at, wish=wish)
        before = await _causes(api, answer)
        then = await api.session(session_id, at=at)
        if at is None and not json:
            await say_wait(api, then["session"])
    if json:
        put_json(answer | {"causedBy": before})
        return exits.OK
    for cause in before:
        put(sentence("{session}, version {version}:", session=cause["sessionId"], version=cause["version"]))
        put(visible("\n".join(f"  {line}" for line in cause["text"].splitlines())))
    if before:
        put(f"{session_id}:")
    put(visible(answer["text"]))
    put_pairs(why_stopped(then["session"], then["availableCommands"], answer["cause"]))
    if wish is not None:
        put(visible(answer["whyNot"]["text"]))
    return exits.OK


async def _causes(api: Api, link: Json) -> list[Json]:
    """The events in other sessions that led to this, first cause first; what is not there any more ends the chain."""
    causes: list[Json] = []
    seen = set[str]()
    while link["chain"]:
        event_id = link["chain"][0]["causationId"]
        cause, _, version = event_id.rpartition(":")
        if not cause or not version.isdecimal() or event_id in seen:
            break
        seen.add(event_id)
        try:
            link = await api.get(f"{path_of(cause)}/explain", version=int(version))
        except Failed as error:
            if error.code != exits.NOT_FOUND:
                raise
            break
        causes.insert(0, link)
    return causes


# Two sessions side by side.


_WIDTH: Final = 100
"""Cells of a terminal that a line of a field takes at most; `hansard show` has the whole."""
_DIFF_LINES: Final = 6
_OWN: Final = frozenset({"session", "parent", "discussed in", "workspace", "created", "updated", "version", "can now"})
"""What any two sessions have of their own."""


async def _first_apart(api: Api, sessions: dict[str, str], divergence: Json | None) -> list[str]:
    """The first event of each that the other does not have, a line each."""
    if divergence is None:
        return [sentence("Both have the same events.")]
    lines = []
    for name, session_id in sessions.items():
        words = sentence("nothing more")
        if at := divergence[name]:
            [event] = await api.events(session_id, after=at["version"] - 1, limit=1)
            words = f"{sentence('version {n}', n=event['version'])}, {event['type']}: {describe(event)}"
        lines.append(f"{name}: {shortened(words, _WIDTH)}")
    return lines


def _put_sides(one: Json, other: Json, cost: Json) -> None:
    """Every field of which they say different things, that of `a` above that of `b`."""
    sides = dict(details(one, [])), dict(details(other, []))
    tokens = [cost[name]["tokens"] for name in ("a", "b")]
    spent: Pairs = [("tokens", _beside(*("" if used is None else f"{used:,}" for used in tokens)))]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if name not in _OWN]
    rows = [(name, _beside(sides[0].get(name, ""), sides[1].get(name, ""))) for name in names]
    put_pairs([("session", _beside(one["id"], other["id"])), *rows, *spent])


def _beside(one: str, other: str) -> str:
    return "" if one == other else f"a  {_cut(one)}\nb  {_cut(other)}"


def _cut(text: str) -> str:
    lines = text.rstrip().splitlines() or ["-"]
    more = [more_lines(len(lines) - _DIFF_LINES)] if len(lines) > _DIFF_LINES else []
    return "\n   ".join([*(shortened(line, _WIDTH) for line in lines[:_DIFF_LINES]), *more])
