"""Handing a command to the writer, and its answer to whoever sent it."""

import uuid

from starlette.requests import Request
from starlette.responses import Response

from adapters.writer.writer import CommandAnswer, CommandEnvelope
from api.http.idempotency import handed_over, mark, own
from api.http.requests import answer_headers, idempotency_key, if_match, system
from domain.values.base import Command


async def carry_out(
    request: Request, raw: bytes, session_id: str, command: Command, *, starts: bool = False, status: int = 200
) -> CommandAnswer:
    """Hand a command to the writer, under the request's key and bound to the version it names."""
    key = idempotency_key(request)
    actor: str = request.state.actor
    order = CommandEnvelope(
        session_id=session_id,
        command=command,
        actor=actor,
        command_id=key or str(uuid.uuid4()),
        starts=starts,
        status=status,
        expected=if_match(request) if session_id == request.path_params.get("id", session_id) else None,
        key=None if key is None else own(request, key),
        fingerprint="" if key is None else mark(request, raw),
    )
    handed_over(request)
    return await system(request).writer.do(order)


def respond(answer: CommandAnswer, *, tagged: bool = True) -> Response:
    """202 with Location for a new session, 200 for other commands; the body is the receipt, byte for byte."""
    headers = answer_headers(ETag=f'"{answer.version}"') if tagged else answer_headers()
    if answer.status == 202:
        headers["Location"] = f"/api/sessions/{answer.session_id}"
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
