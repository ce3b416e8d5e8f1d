"""POST: every command comes in here, is parsed, carried out by the writer, and answered after its commit."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from adapters.writer import Answer, Order, fingerprint
from api import starting
from api.bodies import Cancel, DeliveryStart, Extend
from api.intake import answer_headers, idempotency_key, if_match, raw_body, read, read_object, system
from domain.base import Command, Invalid
from domain.delivery.commands import ExtendBudget
from domain.record import kind_of
from domain.sessions import KINDS
from domain.strict import JSON

Starter = Callable[[Mapping[str, JSON], Request], Command]


def _start_delivery(found: Mapping[str, JSON], request: Request) -> Command:
    inside = system(request)
    return starting.delivery(read(DeliveryStart, found), inside.team, inside.settings)


STARTERS: dict[str, Starter] = {"delivery": _start_delivery}


async def start_session(request: Request) -> Response:
    """POST /api/sessions"""
    raw = await raw_body(request)
    found = read_object(raw)
    kind = found.get("kind", "delivery")
    starter = STARTERS.get(kind) if isinstance(kind, str) else None
    if starter is None:
        raise Invalid({"/kind": f"should be one of {', '.join(STARTERS)}"})
    command = starter(found, request)
    answer = await carry_out(request, raw, starting.new_id(str(kind)), command, starts=True)
    return respond(answer)


async def cancel_session(request: Request) -> Response:
    """POST /api/sessions/{id}/cancel"""
    raw = await raw_body(request)
    body = read(Cancel, read_object(raw))
    session_id = request.path_params["id"]
    kind = KINDS.get(kind_of(session_id), KINDS["delivery"])
    return respond(await carry_out(request, raw, session_id, kind.cancel(reason=body.reason)))  # type: ignore[call-arg]


async def extend_budget(request: Request) -> Response:
    """POST /api/sessions/{id}/budget"""
    raw = await raw_body(request)
    body = read(Extend, read_object(raw))
    amounts = body.model_dump(exclude={"reason"}, exclude_none=True)
    if not amounts:
        raise Invalid({"": "give at least one of addIterations, addMinutes, addTokens, addCostMicros"})
    command = ExtendBudget(reason=body.reason, **amounts)
    return respond(await carry_out(request, raw, request.path_params["id"], command))


async def carry_out(request: Request, raw: bytes, session_id: str, command: Command, *, starts: bool = False) -> Answer:
    """Hand a command to the writer, under the request's key and bound to the version it names."""
    key = idempotency_key(request)
    actor: str = request.state.actor
    order = Order(
        session_id=session_id,
        command=command,
        actor=actor,
        command_id=key or str(uuid.uuid4()),
        starts=starts,
        expected=if_match(request),
        key=None if key is None else f"{actor} {key}",
        fingerprint=fingerprint(request.method.encode(), request.url.path.encode(), raw),
    )
    return await system(request).writer.do(order)


def respond(answer: Answer, **more: Any) -> Response:
    """202 with Location for a new session, 200 for other commands; the body is the receipt, byte for byte."""
    headers = answer_headers(ETag=f'"{answer.version}"')
    if answer.status == 202:
        headers["Location"] = f"/api/sessions/{answer.session_id}"
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
