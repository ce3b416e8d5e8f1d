"""`hansard explain`: why a session is where it is."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, At, Id, Where
from api.cli.session import why_stopped
from api.cli.silence import say_wait
from api.cli.tables import put_pairs
from api.cli.terminal import put, put_json, visible
from api.cli.waits import below, say_decision

if TYPE_CHECKING:
    from api.cli.answers import Explanation


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
        answer: Explanation = await api.get(f"{path_of(session_id)}/explain", version=at, wish=wish)
        before = await _causes(api, answer)
        then = await api.session(session_id, at=at)
        if at is None and not json:
            await say_wait(api, then["session"])
            for name in below(then["session"]):
                say_decision((await api.session(name))["session"])
    if json:
        put_json({**answer, "causedBy": before})
        return exits.OK
    for cause in before:
        put(sentence("{session}, version {version}:", session=cause["sessionId"], version=cause["version"]))
        put(visible("\n".join(f"  {line}" for line in cause["text"].splitlines())))
    if before:
        put(f"{session_id}:")
    put(visible(answer["text"]))
    put_pairs(why_stopped(then["session"], then["availableCommands"], answer["cause"]))
    if why_not := answer.get("whyNot"):
        put(visible(why_not["text"]))
    return exits.OK


async def _causes(api: Api, link: "Explanation") -> "list[Explanation]":
    """The events in other sessions that led to this, first cause first; what is not there any more ends the chain."""
    causes: list[Explanation] = []
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
