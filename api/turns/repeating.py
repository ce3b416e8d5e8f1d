"""`Idempotency-Key` at doors that are no commands on a session: what was given out under one is not given out twice.

Refusals are kept where those of all doors are (`api.keys`); that nothing waited is not, it may be asked again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response

from adapters.answers import first_answer, same
from adapters.store import Conflict, Receipt, Write
from api.intake import answer_headers, idempotency_key, system
from api.keys import mark, own

_ANSWERING: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def once(request: Request, raw: bytes, answered: Callable[[], Awaitable[Response]]) -> Response:
    """The answer; under a key the one that it had first. Raises the refusal that it had."""
    given = idempotency_key(request)
    if given is None:
        return await answered()
    key, printed = own(request, given), mark(request, raw)
    async with _ANSWERING.setdefault(key, asyncio.Lock()):
        store = system(request).store
        known = await asyncio.to_thread(store.receipt, key)
        if known is not None:
            return _again(known, printed)
        answer = await answered()
        if answer.status_code == 200:
            receipt = Receipt(key, printed, answer.status_code, bytes(answer.body), system(request).clock())
            try:
                await asyncio.to_thread(store.append, [Write(receipt=lambda _: receipt)])
            except Conflict:  # through another server the same was asked at the same time
                first = await asyncio.to_thread(store.receipt, key)
                return answer if first is None else _again(first, printed)
        return answer


def _again(known: Receipt, printed: str) -> Response:
    same(known.fingerprint, printed)
    if not 200 <= known.status < 300:
        first_answer(known)
    headers = answer_headers(**{"Idempotency-Replayed": "true"})
    return Response(known.body, status_code=known.status, headers=headers, media_type="application/json")
