"""Idempotency keys: the first answer under a key is returned again, byte for byte (contract §3).

The writer keeps the answer of every command that reaches it, in the transaction of its events. This module keeps the
answers that never reach it: rejected bodies, unknown sessions, and endpoints that are not commands to a session. The
receipt is only looked up after an error, so that a successful command costs no separate look-up.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Final
from uuid import uuid4
from weakref import WeakValueDictionary

import orjson
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.errors import Conflict
from adapters.store.port import Store, StoredReceipt, Write
from adapters.writer.answers import KeyReused, fingerprint, first_answer, same
from adapters.writer.writer import CommandAnswer, CommandEnvelope
from api.http.problems import of, problem
from api.http.requests import (
    answer_headers,
    header,
    idempotency_key,
    raw_body,
    read_object,
    system,
    traceparent,
    version_of,
)
from api.node.access import Scope
from api.system import System
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.values.base import Command, HansardError, Unknown
from domain.values.json import JSON
from domain.values.sentences import Sentence

Handler = Callable[[Request], Awaitable[Response]]

LASTING: Final = frozenset({400, 404, 409, 422})
"""The errors that are answers to a request. Others concern its envelope or the momentary state of the server."""
KEPT_BYTES: Final = 1_048_576
"""A longer answer of an endpoint that writes nothing is computed again instead of kept."""
_NOTHING: Final = 204
""""Nothing there" is not a final answer: the client may ask again."""
_ANSWERING: Final[WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock]] = WeakValueDictionary()
"""A lock for each key in progress, by event loop; removed with the last request for it."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """An incoming POST, from a program or a page's form: who sends what to which path, with which key."""

    system: System
    actor: str
    path: str
    raw: bytes
    key: str | None = None
    if_match: str | None = None
    session: str = ""
    """The session that the path names."""
    trace: str = ""
    """The caller's `traceparent`."""
    scope: Scope | None = None
    """What the caller's key may do; everything if no key is required."""

    @property
    def fields(self) -> dict[str, JSON]:
        """The body. Raises Malformed or Problem if it is not a JSON object."""
        return read_object(self.raw)

    @property
    def version(self) -> int | None:
        """The version that the command is bound to. Raises Problem if it is not a version."""
        return version_of(self.if_match)

    @property
    def owned_key(self) -> str | None:
        """Each sender has separate keys."""
        return None if self.key is None else f"{self.actor} {self.key}"

    @property
    def fingerprint(self) -> str:
        """What identifies the request, together with its key."""
        return fingerprint(b"POST", self.path.encode(), self.raw)

    @property
    def session_id(self) -> str:
        """The session in the path. Raises Unknown if it is not a session: channels take no commands from outside."""
        if kind_of(self.session) not in KINDS:
            raise Unknown(Sentence("session_not_found", id=self.session))
        return self.session

    def receipt(self) -> StoredReceipt | None:
        """The earlier answer under the key."""
        return None if self.owned_key is None else self.system.store.receipt(self.owned_key)


async def call_of(request: Request) -> ApiCall:
    """The call of a request. Raises Problem for an invalid body or key."""
    raw = await raw_body(request)
    return ApiCall(
        system=system(request),
        actor=request.state.actor,
        path=request.scope["path"],
        raw=raw,
        key=idempotency_key(request),
        if_match=header(request, "if-match"),
        session=request.path_params.get("id", ""),
        trace=traceparent(request),
        scope=request.state.scope,
    )


async def refusal(call: ApiCall, error: HansardError) -> Response:
    """The answer to a call that never reached the writer, kept under its key. Raises the error if it is only
    temporary."""
    if call.key is None or isinstance(error, KeyReused) or of(error).status not in LASTING:
        raise error
    return await _first(call, problem(of(error)))


def remember_answers(handler: Handler) -> Handler:
    """An endpoint that writes nothing: its answers are kept here, good or bad. Requests with the same key wait for each
    other."""
    return _keeping(handler, whole=False)


def once(handler: Handler) -> Handler:
    """An endpoint that hands something out: never twice under a key, however long the answer is."""
    return _keeping(handler, whole=True)


def _keeping(handler: Handler, *, whole: bool) -> Handler:
    @wraps(handler)
    async def answered(request: Request) -> Response:
        if idempotency_key(request) is None:
            return await handler(request)
        call = await call_of(request)
        assert call.owned_key is not None, "it has a key"
        async with _ANSWERING.setdefault((asyncio.get_running_loop(), call.owned_key), asyncio.Lock()):
            receipt = await asyncio.to_thread(call.receipt)
            if receipt is not None:
                same(receipt.fingerprint, call.fingerprint)
                return _again(receipt) if receipt.body else _marked(await _outcome(handler, request))
            answer = await _outcome(handler, request)
            if answer.status_code == _NOTHING:
                return answer
            return await _first(call, answer, whole=whole)

    return answered


async def _outcome(handler: Handler, request: Request) -> Response:
    """The answer of the endpoint, including lasting errors. Raises temporary ones."""
    try:
        return await handler(request)
    except HansardError as error:
        if isinstance(error, KeyReused) or of(error).status not in LASTING:
            raise
        return problem(of(error))


async def _first(call: ApiCall, answer: Response, *, whole: bool = False) -> Response:
    """Keep the answer; if the key already has one, that one counts."""
    assert call.owned_key is not None, "only answers under a key are kept"
    body = bytes(answer.body)
    receipt = StoredReceipt(
        call.owned_key,
        call.fingerprint,
        answer.status_code,
        body if whole or len(body) <= KEPT_BYTES else b"",
        call.system.clock(),
    )
    first = await asyncio.to_thread(_entered, call.system.store, receipt)
    if first is receipt:
        return answer
    same(first.fingerprint, receipt.fingerprint)
    return _again(first) if first.body else _marked(answer)


def _entered(store: Store, receipt: StoredReceipt) -> StoredReceipt:
    """The receipt that counts for the key: the first."""
    existing = store.receipt(receipt.key)
    if existing is not None:
        return existing
    try:
        store.append([Write(receipt=lambda _: receipt)])
    except Conflict:
        return store.receipt(receipt.key) or receipt
    return receipt


def _again(receipt: StoredReceipt) -> Response:
    """The first answer, again."""
    if not 200 <= receipt.status < 300:
        try:
            first_answer(receipt)
        except HansardError as error:
            return problem(of(error))
    headers = answer_headers()
    if receipt.status == 202:
        headers["Location"] = f"/api/sessions/{orjson.loads(receipt.body)['sessionId']}"
    return _marked(Response(receipt.body, receipt.status, headers, media_type="application/json"))


def _marked(answer: Response) -> Response:
    answer.headers["Idempotency-Replayed"] = "true"
    return answer


# -- running an action: its command goes to the writer, and the answer follows the commit ------------------------------


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
        return await refusal(call, await _unless_unknown(call, error))
    return _response(await call.system.writer.do(envelope), intent)


async def _unless_unknown(call: ApiCall, error: HansardError) -> HansardError:
    """What to say first: that there is no such session, whatever else is wrong with the request."""
    if not call.session or of(error).status != 422:
        return error
    version = await asyncio.to_thread(call.system.store.version, call.session)
    return error if version else Unknown(Sentence("session_not_found", id=call.session))


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
        answer = answer._replace(body=orjson.dumps({"ok": True, **orjson.loads(answer.body)}))
    headers = answer_headers(ETag=f'"{answer.version}"') if intent.tagged else answer_headers()
    if answer.status == 202:
        headers["Location"] = f"/api/sessions/{answer.session_id}"
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
