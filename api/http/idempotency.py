"""Idempotency keys: the first answer under a key is returned again, byte for byte (contract §3).

The writer keeps the answer of every command that reaches it, in the transaction of its events. This module keeps the
answers that never reach it: rejected bodies, unknown sessions, and endpoints that are not commands to a session. The
receipt is only looked up after an error, so that a successful command costs no separate look-up.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final
from weakref import WeakValueDictionary

import orjson
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.errors import Conflict
from adapters.store.port import Store, StoredReceipt, Write
from adapters.writer.answers import KeyReused, fingerprint, first_answer, same
from api.actions.declaration import ActionCall
from api.actions.refusals import NotStarted
from api.http.problems import of, problem
from api.http.requests import answer_headers, idempotency_key, raw_body, system, traceparent
from domain.values.base import HansardError

Handler = Callable[[Request], Awaitable[Response]]

LASTING: Final = frozenset({400, 404, 409, 422})
"""The errors that are answers to a request. Others concern its envelope or the momentary state of the server."""
KEPT_BYTES: Final = 1_048_576
"""A longer answer of an endpoint that writes nothing is computed again instead of kept."""
_NOTHING: Final = 204
""""Nothing there" is not a final answer: the client may ask again."""
_ANSWERING: Final[WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock]] = WeakValueDictionary()
"""A lock for each key in progress, by event loop; removed with the last request for it."""


async def call_of(request: Request) -> ActionCall[bytes]:
    """Returns the call of a request, with its body as it was sent. Raises Problem for an invalid body or key."""
    raw, key = await raw_body(request), idempotency_key(request)
    return ActionCall(
        system=system(request),
        actor=request.state.actor,
        scope=request.state.scope,
        body=raw,
        session=request.path_params.get("id", ""),
        part=request.path_params.get("comment", ""),
        key=key,
        fingerprint="" if key is None else fingerprint(b"POST", request.scope["path"].encode(), raw),
        trace=traceparent(request),
    )


async def refusal(call: ActionCall[Any], error: HansardError) -> Response:
    """The answer to a call that never reached the writer, kept under its key. Raises the error if it is only
    temporary."""
    if call.key is None or isinstance(error, KeyReused) or of(error).status not in LASTING:
        raise error
    if isinstance(error, NotStarted) and await asyncio.to_thread(call.receipt) is None:
        raise error  # the team may be there next time
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


async def _first(call: ActionCall[Any], answer: Response, *, whole: bool = False) -> Response:
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
