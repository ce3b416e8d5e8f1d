"""Idempotency keys: what was answered once under a key is answered again, byte for byte (contract §3).

The writer sees to it for every command that reaches it, in the transaction of its events. Here is what never reaches
it: bodies that are not taken, sessions that are not there, and the doors that are no commands on a session. What went
wrong is looked up only then, so that a command that goes well costs no look-up of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Final
from weakref import WeakValueDictionary

import orjson
from starlette.requests import Request
from starlette.responses import Response

from adapters.store import Conflict, Receipt, Store, Write
from adapters.writer.answers import KeyReused, fingerprint, first_answer, same
from api.http.problems import of, problem
from api.http.requests import answer_headers, idempotency_key, raw_body, system
from domain.values.base import HansardError

Handler = Callable[[Request], Awaitable[Response]]

LASTING: Final = frozenset({400, 404, 409, 422})
"""The errors that are the answer to a request. Others tell of its envelope, or of how we are just now."""
KEPT_BYTES: Final = 1_048_576
"""A longer answer of a door that writes nothing is made again, not kept: the same, for as long as the rules are."""
_NOTHING: Final = 204
"""That there is nothing is no answer for good: it may be asked again."""
_ANSWERING: Final[WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock]] = WeakValueDictionary()
"""A lock for each key that is being answered, by its event loop; gone with the last request that wants it."""


def own(request: Request, key: str) -> str:
    """A key belongs to whoever sends it."""
    return f"{request.state.actor} {key}"


def mark(request: Request, raw: bytes) -> str:
    """What identifies the request beside its key."""
    return fingerprint(request.method.encode(), request.url.path.encode(), raw)


def handed_over(request: Request) -> None:
    """From here on the writer sees to the key."""
    request.state.handed_over = True


def keyed(handler: Handler) -> Handler:
    """A door of commands."""

    @wraps(handler)
    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except HansardError as error:
            key = _key(request, error)
            if key is None:
                raise
            return await _first(request, key, await raw_body(request), problem(of(error)))

    return answered


def kept(handler: Handler) -> Handler:
    """A door that writes nothing: its answers are kept here, good or bad; requests that bring one key wait in line."""
    return _keeping(handler, whole=False)


def once(handler: Handler) -> Handler:
    """A door that gives something out: what was given out under a key is not given out twice, however long it is."""
    return _keeping(handler, whole=True)


def _keeping(handler: Handler, *, whole: bool) -> Handler:
    @wraps(handler)
    async def answered(request: Request) -> Response:
        key = idempotency_key(request)
        if key is None:
            return await handler(request)
        raw, ours = await raw_body(request), own(request, key)
        async with _ANSWERING.setdefault((asyncio.get_running_loop(), ours), asyncio.Lock()):
            known = await asyncio.to_thread(system(request).store.receipt, ours)
            if known is not None:
                same(known.fingerprint, mark(request, raw))
                return _again(known) if known.body else _marked(await _outcome(handler, request))
            answer = await _outcome(handler, request)
            if answer.status_code == _NOTHING:
                return answer
            return await _first(request, key, raw, answer, whole=whole)

    return answered


async def _outcome(handler: Handler, request: Request) -> Response:
    """What the door answers, an error that lasts among it. Raises those that do not."""
    try:
        return await handler(request)
    except HansardError as error:
        if _key(request, error) is None:
            raise
        return problem(of(error))


def _key(request: Request, error: HansardError) -> str | None:
    """The key under which an error is the answer for good; None where it is not."""
    if getattr(request.state, "handed_over", False) or isinstance(error, KeyReused):
        return None
    return idempotency_key(request) if of(error).status in LASTING else None


async def _first(request: Request, key: str, raw: bytes, answer: Response, *, whole: bool = False) -> Response:
    """Keep the answer; where another was kept under the key before, that is the one."""
    body = bytes(answer.body)
    inside = system(request)
    receipt = Receipt(
        own(request, key),
        mark(request, raw),
        answer.status_code,
        body if whole or len(body) <= KEPT_BYTES else b"",
        inside.clock(),
    )
    first = await asyncio.to_thread(_entered, inside.store, receipt)
    if first is receipt:
        return answer
    same(first.fingerprint, receipt.fingerprint)
    return _again(first) if first.body else _marked(answer)


def _entered(store: Store, receipt: Receipt) -> Receipt:
    """The receipt that holds for the key: the first."""
    known = store.receipt(receipt.key)
    if known is not None:
        return known
    try:
        store.append([Write(receipt=lambda _: receipt)])
    except Conflict:
        return store.receipt(receipt.key) or receipt
    return receipt


def _again(receipt: Receipt) -> Response:
    """The first answer, once more."""
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
