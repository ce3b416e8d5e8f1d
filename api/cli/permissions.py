"""`allow`, `deny`: what agents did or want to do, and a person has to agree to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve_to_change
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Fields, Id, Key, TeamFile, Where
from api.cli.start import say_who_goes_on
from api.cli.terminal import put_json, say
from api.cli.watch import follow_to_end

if TYPE_CHECKING:
    from api.cli.answers import Receipt, WaitingItem

NEEDS: Final = ("permission", "scope")
"""What is answered in this way, by its name in the inbox and in the address."""
Answer = Literal["allow", "deny"]
Request = Annotated[str | None, Parameter(help="Which request, if several wait.")]
Detach = Annotated[bool, Parameter(help="Do not wait for the session that continues.")]
Remember = Annotated[
    bool, Parameter(help="Also answer the same tool and title of the same agent for the rest of the session.")
]


async def allow(
    session: Id,
    request: Request = None,
    /,
    *,
    remember: Remember = False,
    detach: Detach = False,
    idempotency_key: Key = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Allow what an agent asks permission for, or the changes outside the scope. The session then continues.

    Exit code: 4 if nothing is waiting; for changes outside the scope, the exit code of the session.
    """
    answer = _Asked(answer="allow", session=session, request=request, remember=remember, key=idempotency_key, json=json)
    return await _answer(answer, detach, where, team)


async def deny(
    session: Id,
    request: Request = None,
    /,
    *,
    remember: Remember = False,
    detach: Detach = False,
    idempotency_key: Key = None,
    json: AsJson = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Deny what an agent asks permission for, or the changes outside the scope, which the developer then undoes.

    Exit code: 4 if nothing is waiting; for changes outside the scope, the exit code of the session.
    """
    answer = _Asked(answer="deny", session=session, request=request, remember=remember, key=idempotency_key, json=json)
    return await _answer(answer, detach, where, team)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """An answer as it was typed."""

    answer: Answer
    session: str
    request: str | None
    remember: bool
    key: str | None
    json: bool

    async def send(self, api: Api, session_id: str, item: "WaitingItem") -> "Receipt":
        body: Fields = {"requestId": item["requestId"], "decision": self.answer}
        if item["waitsFor"] == "permission":
            body["remember"] = self.remember
        elif self.remember:
            raise Failed(
                sentence("--remember is for permissions; this is a question about the scope."), code=exits.USAGE
            )
        answer: Receipt = await api.post(f"{path_of(session_id)}/{item['waitsFor']}", body, key=self.key)
        say(sentence("Allowed: {id}." if self.answer == "allow" else "Denied: {id}.", id=item["requestId"]))
        return answer


async def _answer(answer: _Asked, detach: bool, where: Where, team: TeamFile) -> int:
    """An agent that asks runs somewhere already: only a session that rests is worked on from here."""
    async with connected(where, "all") as api:
        session_id = await resolve_to_change(api, answer.session)
        item = await _open(api, session_id, answer.request)
        if detach or item["waitsFor"] == "permission":
            response = await answer.send(api, session_id, item)
            if answer.json:
                put_json(response)
            return exits.OK
    async with connected(where, "work", team=team) as api:
        await answer.send(api, session_id, item)
        await say_who_goes_on(api, session_id)
        return await follow_to_end(api, session_id, after=int(item["version"]), json=answer.json)


async def _open(api: Api, session_id: str, request: str | None) -> "WaitingItem":
    """The request that is meant. Raises Failed where there is none, or where several may be meant."""
    items: list[WaitingItem]
    items, _ = await api.pages("/api/decisions", limit=10_000, needs=",".join(NEEDS))
    matches = [item for item in items if item["sessionId"] == session_id and request in (None, item["requestId"])]
    if not matches:
        raise Failed(
            sentence("Session {session_id} has no such request that waits for you.", session_id=session_id),
            code=exits.REFUSED,
        )
    if len(matches) > 1:
        named = (f"  {item['requestId']}  {item.get('agent')}: {item.get('summary')}" for item in matches)
        raise Failed(sentence("{n} requests wait; name one:", n=len(matches)), *named, code=exits.REFUSED)
    return matches[0]
