"""Carrying out an action: its command goes to the writer, and the answer follows the commit."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import uuid4

import orjson
from starlette.responses import Response

from adapters.writer.writer import CommandAnswer, CommandEnvelope
from api.http.idempotency import ApiCall, refusal
from api.http.requests import answer_headers
from domain.values.base import Command, HansardError


@dataclass(frozen=True, slots=True)
class Intent:
    """A command for a session. `starts`: the session is new; `ok`: the answer also contains `{"ok": true}`."""

    session_id: str
    command: Command
    starts: bool = False
    status: int = 200
    tagged: bool = True
    ok: bool = False


Action = Callable[[ApiCall], Awaitable[Intent]]


async def perform(call: ApiCall, action: Action) -> Response:
    """Run it, only once per key. Raises HansardError for refusals that are not kept."""
    try:
        intent = await action(call)
        envelope = _envelope(call, intent)
    except HansardError as error:
        return await refusal(call, error)
    return _response(await call.system.writer.do(envelope), intent)


def _envelope(call: ApiCall, intent: Intent) -> CommandEnvelope:
    """The command with the call's key, bound to the version of the session that the call names."""
    return CommandEnvelope(
        session_id=intent.session_id,
        command=intent.command,
        actor=call.actor,
        command_id=call.key or str(uuid4()),
        starts=intent.starts,
        status=intent.status,
        expected=call.version if intent.session_id == (call.session or intent.session_id) else None,
        key=call.owned_key,
        fingerprint="" if call.key is None else call.fingerprint,
        trace=call.trace,
    )


def _response(answer: CommandAnswer, intent: Intent) -> Response:
    """202 with Location for a new session, 200 for other commands; the body is the receipt, byte for byte."""
    if intent.ok:
        answer = replace(answer, body=orjson.dumps({"ok": True, **orjson.loads(answer.body)}))
    headers = answer_headers(ETag=f'"{answer.version}"') if intent.tagged else answer_headers()
    if answer.status == 202:
        headers["Location"] = f"/api/sessions/{answer.session_id}"
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
