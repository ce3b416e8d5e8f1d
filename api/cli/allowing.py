"""`allow`, `deny`: what agents did or want to do, and a person has to agree to."""

from typing import Annotated, Final, Literal

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.exits import Failed
from api.cli.options import HERE, AsJson, Id, Json, Key, TeamFile, Where
from api.cli.start import say_who_goes_on
from api.cli.terminal import put_json, say
from api.cli.watch import follow_to_end

NEEDS: Final = ("scope",)
"""What is answered in this way, by its name in the inbox and in the address."""
Answer = Literal["allow", "deny"]
Request = Annotated[str | None, Parameter(help="Which request, where several wait.")]
Detach = Annotated[bool, Parameter(help="Do not see the session through, which then goes on.")]


async def allow(
    session: Id,
    request: Request = None,
    /,
    *,
    detach: Detach = False,
    idempotency_key: Key = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Allow the changes outside the scope for which a session waits. It then goes on.

    Exit code: 4 where nothing waits; else how the session ends.
    """
    return await _answer("allow", session, request, detach, idempotency_key, json=json, where=where, team=team)


async def deny(
    session: Id,
    request: Request = None,
    /,
    *,
    detach: Detach = False,
    idempotency_key: Key = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Deny the changes outside the scope for which a session waits: the developer has to undo them.

    Exit code: 4 where nothing waits; else how the session ends.
    """
    return await _answer("deny", session, request, detach, idempotency_key, json=json, where=where, team=team)


async def _answer(
    answer: Answer,
    session: str,
    request: str | None,
    detach: bool,
    key: str | None,
    *,
    json: bool,
    where: Where,
    team: TeamFile,
) -> int:
    async with connected(where, "all" if detach else "work", team=team) as api:
        session_id = await resolve(api, session)
        item = await _open(api, session_id, request)
        body: Json = {"requestId": item["requestId"], "decision": answer}
        told = await api.post(f"{path_of(session_id)}/{item['waitsFor']}", body, key=key)
        say(f"{'Allowed' if answer == 'allow' else 'Denied'}: {item['requestId']}.")
        if detach:
            if json:
                put_json(told)
            return exits.OK
        await say_who_goes_on(api, session_id)
        return await follow_to_end(api, session_id, after=int(item["version"]), json=json)


async def _open(api: Api, session_id: str, request: str | None) -> Json:
    """The request that is meant. Raises Failed where there is none."""
    items, _ = await api.pages("/api/decisions", limit=10_000, needs=list(NEEDS))
    found = [item for item in items if item["sessionId"] == session_id and request in (None, item["requestId"])]
    if not found:
        raise Failed(f"Session {session_id} has no such request that waits for you.", code=exits.REFUSED)
    return found[0]
