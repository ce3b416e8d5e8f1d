"""The way of an action: a request becomes a call, the action says which command that is, the writer carries it out, and
the answer follows the commit."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import orjson
from starlette.requests import Request
from starlette.responses import Response

from adapters.writer.writer import CommandAnswer, CommandEnvelope
from api.actions.declaration import Action, ActionCall, Intent
from api.http.idempotency import call_of, refusal, remember_answers
from api.http.problems import of
from api.http.requests import answer_headers, header, read, read_object, version_of
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.values.base import HansardError, Unknown
from domain.values.json import JSON
from domain.values.sentences import Sentence, wire
from projections.views.base import View

Fill = Callable[[], ActionCall[Any]]
"""Makes the call with its body, or raises what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ActionHandler:
    """The handler of the path of an action."""

    action: Action[Any]

    @property
    def __name__(self) -> str:
        return self.action.name

    async def __call__(self, request: Request) -> Response:
        if self.action.is_recorded:
            return await self._carried_out(request)
        return await remember_answers(self._answered)(request)  # no command of a session, so the writer keeps nothing

    async def _carried_out(self, request: Request) -> Response:
        call, tag = await call_of(request), header(request, "if-match")
        return await perform(self.action, call, lambda: self._filled(call, tag))

    def _filled(self, call: ActionCall[bytes], tag: str | None) -> ActionCall[Any]:
        return replace(filled(self.action, call, read_object(call.body)), version=version_of(tag))

    async def _answered(self, request: Request) -> Response:
        call = await call_of(request)
        answer = await self.action.perform(filled(self.action, call, read_object(call.body)))
        assert isinstance(answer, View), "only commands are carried out by the writer"
        return Response(answer.json_bytes(), media_type="application/json", headers=answer_headers())


def filled(action: Action[Any], call: ActionCall[Any], fields: Mapping[str, JSON]) -> ActionCall[Any]:
    """Returns the call with these fields as its body. Raises Invalid or Problem for what does not fit, and Unknown if
    it is about something other than a session: channels take no commands from outside."""
    body = read(action.model(fields), fields)
    if action.is_of_session and kind_of(call.session) not in KINDS:
        raise Unknown(Sentence("session_not_found", id=call.session))
    return replace(call, body=body)


async def perform(action: Action[Any], call: ActionCall[Any], fill: Fill) -> Response:
    """Perform the action, only once per key. Raises HansardError for refusals that are not kept."""
    try:
        ready = fill()
        intent = await action.perform(ready)
        assert isinstance(intent, Intent), "only commands are carried out by the writer"
    except HansardError as error:
        return await refusal(call, await _unless_unknown(call, error))
    return _response(await call.system.writer.do(_envelope(ready, intent)), intent)


async def _unless_unknown(call: ActionCall[Any], error: HansardError) -> HansardError:
    """Returns what to say first: that there is no such session, whatever else is wrong with the request."""
    if not call.session or of(error).status != 422:
        return error
    version = await asyncio.to_thread(call.system.store.version, call.session)
    return error if version else Unknown(Sentence("session_not_found", id=call.session))


def _envelope(call: ActionCall[Any], intent: Intent) -> CommandEnvelope:
    """Returns the command with the call's key, bound to the version of the session that the call names."""
    return CommandEnvelope(
        session_id=intent.session_id,
        command=intent.command,
        actor=call.actor,
        command_id=call.key or str(uuid4()),
        starts=intent.starts,
        status=intent.status,
        expected=call.version if intent.session_id == (call.session or intent.session_id) else None,
        key=call.owned_key,
        fingerprint=call.fingerprint,
        trace=call.trace,
    )


def _response(answer: CommandAnswer, intent: Intent) -> Response:
    """Returns 202 with Location for a new session, 200 for other commands; the body is the receipt, byte for byte."""
    if intent.ok:
        answer = answer._replace(body=orjson.dumps({"ok": True, **orjson.loads(answer.body)}))
    if intent.warnings:
        notes = [{"detail": str(each), **wire(each)} for each in intent.warnings]
        answer = answer._replace(body=orjson.dumps({**orjson.loads(answer.body), "warnings": notes}))
    headers = answer_headers(ETag=f'"{answer.version}"') if intent.tagged else answer_headers()
    if answer.status == 202:
        headers["Location"] = f"/api/sessions/{answer.session_id}"
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
