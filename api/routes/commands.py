"""POST: every command of the API. What each does is in `api.actions`."""

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from api import actions
from api.actions import changing
from api.actions.changing import redact
from api.actions.command_bodies import Redact, TrustProject
from api.actions.projects import grant, within_roots
from api.http.idempotency import call_of, perform, remember_answers
from api.http.requests import answer_headers, read


async def start_session(request: Request) -> Response:
    """POST /api/sessions"""
    return await perform(await call_of(request), actions.start)


async def cancel_session(request: Request) -> Response:
    """POST /api/sessions/{id}/cancel"""
    return await perform(await call_of(request), actions.cancel)


async def retry_turn(request: Request) -> Response:
    """POST /api/sessions/{id}/retry"""
    return await perform(await call_of(request), actions.retry)


async def answer_permission(request: Request) -> Response:
    """POST /api/sessions/{id}/permission: of a tool that an agent waits to use"""
    return await perform(await call_of(request), actions.permit)


@remember_answers
async def trust_project(request: Request) -> Response:
    """POST /api/trust: no session's command, and no event: trust belongs to this machine."""
    call = await call_of(request)
    actions.may_name_workspace(call)
    body = read(TrustProject, call.fields)
    within_roots(Path(body.workspace), call.system.settings)
    granted = await asyncio.to_thread(grant, Path(body.workspace), call.system.settings, by="http")
    return Response(granted.json_bytes(), media_type="application/json", headers=answer_headers())


@remember_answers
async def redact_text(request: Request) -> Response:
    """POST /api/redact"""
    call = await call_of(request)
    body = read(Redact, call.fields)
    done = await redact(call.system, body.digest, reason=body.reason, actor=call.actor)
    return Response(done.json_bytes(), media_type="application/json", headers=answer_headers())


async def extend_budget(request: Request) -> Response:
    """POST /api/sessions/{id}/budget"""
    return await perform(await call_of(request), actions.extend)


async def continue_session(request: Request) -> Response:
    """POST /api/sessions/{id}/continue"""
    return await perform(await call_of(request), actions.continue_)


async def reset_session(request: Request) -> Response:
    """POST /api/sessions/{id}/reset"""
    return await perform(await call_of(request), actions.reset)


async def decide(request: Request) -> Response:
    """POST /api/sessions/{id}/decision: of the review or debate itself, or of the one that its parent waits for"""
    return await perform(await call_of(request), actions.decide)


async def decide_scope(request: Request) -> Response:
    """POST /api/sessions/{id}/scope: whether changes outside the scope may stay"""
    return await perform(await call_of(request), changing.scope)


async def land_session(request: Request) -> Response:
    """POST /api/sessions/{id}/land: merge the result into a branch, if its validation passes there"""
    return await perform(await call_of(request), changing.land)


async def fork_session(request: Request) -> Response:
    """POST /api/sessions/{id}/fork: another way on from a version; the source is untouched"""
    return await perform(await call_of(request), actions.fork)


async def receive_message(request: Request) -> Response:
    """POST /api/message: started, queued, rejected (and why), or unclear (and what it may mean)"""
    return await perform(await call_of(request), actions.message)


async def continue_latest(request: Request) -> Response:
    """POST /api/orchestrate/continue: continue the latest orchestration of the origin"""
    return await perform(await call_of(request), actions.continue_latest)


async def reset_latest(request: Request) -> Response:
    """POST /api/orchestrate/reset: the latest orchestration of the origin is ended"""
    return await perform(await call_of(request), actions.reset_latest)
