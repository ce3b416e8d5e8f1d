"""`hansard decide`: a person's decision of a review or a debate."""

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve_to_change
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Fields, Id, Key, TeamFile, Version, Where
from api.cli.start import say_who_goes_on, say_who_works
from api.cli.terminal import put_json, say
from api.cli.votes import votes_missing, whole_digest
from api.cli.watch import follow_to_end, say_fix

if TYPE_CHECKING:
    from api.cli.answers import Receipt, Session

Choice = Literal["apply_fix", "skip", "revise", "accept"]

_DISCUSSIONS = ("review", "debate")
_REMARK: Final = re.compile(
    r"(?P<path>\S+?):(?P<line>[1-9][0-9]{0,8})(?:-(?P<end>[1-9][0-9]{0,8}))?:?\s+(?P<words>\S.*)", re.DOTALL
)


async def decide(
    session: Id,
    choice: Annotated[Choice, Parameter(help="apply_fix or skip for a review, revise or accept for a debate.")],
    /,
    *,
    rationale: Annotated[str | None, Parameter(allow_leading_hyphen=True, help="Why; this is recorded.")] = None,
    seen: str | None = None,
    comment: Annotated[list[str] | None, Parameter(name="--comment", allow_leading_hyphen=True)] = None,
    detach: bool = False,
    idempotency_key: Key = None,
    if_version: Version = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Decide a review or a debate. Name it or the session that waits for it, which then continues.

    Exit code: 0 decided or voted (or the exit code of the session that continues), 4 nothing to decide, invalid
    choice, or changed content, 5 not allowed to decide.

    Parameters
    ----------
    seen
        Digest of what you decide on, or its first 8 characters, from `hansard show`. Required if several people decide.
    comment
        A remark that the agents get with it, as yours: "PATH:LINE WORDS", or words about the whole. May be repeated.
    detach
        Do not wait for the session that continues.
    """
    body: Fields = {"decision": choice, "rationale": rationale}
    body |= {"comments": [_remark(words) for words in comment]} if comment else {}
    async with connected(where, "all") as api:
        session_id = await resolve_to_change(api, session)
        parent = await _goes_on(api, session_id)
        body |= {"seen": await whole_digest(api, session_id, seen)} if seen else {}
        answer: Receipt = await api.post(
            f"{path_of(session_id)}/decision", body, key=idempotency_key, version=if_version
        )
        if await votes_missing(api, str(answer["sessionId"]), choice):
            if json:
                put_json(answer)
            return exits.OK
        say(sentence("Decided: {choice} for {session_id}.", choice=choice, session_id=answer["sessionId"]))
        if parent is None or detach:
            if parent is not None:
                await say_who_works(api, str(parent["id"]))
            elif choice == "apply_fix":
                say_fix(str(answer["sessionId"]))
            if json:
                put_json(answer)
            return exits.OK
    say(sentence("Session {id} continues.", id=parent["id"]))
    async with connected(where, "work", team=team) as api:
        await say_who_goes_on(api, str(parent["id"]))
        return await follow_to_end(api, str(parent["id"]), after=int(parent["version"]), json=json)


def _remark(words: str) -> Fields:
    """`src/shop.py:12-14 Name this.`, or words about the whole."""
    match = _REMARK.fullmatch(words)
    if match is None:
        return {"text": words}
    end = {"endLine": int(match["end"])} if match["end"] else {}
    return {"text": match["words"], "path": match["path"], "line": int(match["line"]), **end}


async def _goes_on(api: Api, session_id: str) -> "Session | None":
    """The session that continues after the decision, as it is before; None if none waits for it, or if the log lacks
    it because only the review or debate was imported."""
    session = (await api.session(session_id))["session"]
    if session["kind"] not in _DISCUSSIONS:
        return session
    try:
        return (await api.session(str(session["parent"])))["session"] if session.get("parent") else None
    except Failed as problem:
        if problem.code != exits.NOT_FOUND:
            raise
        return None
