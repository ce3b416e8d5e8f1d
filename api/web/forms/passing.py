"""A form goes through the door that programs use, as the JSON that it stands for: one reader, one rule, one answer."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from api.http.problems import of, problem
from api.web.rendering import language_of
from api.web.sentences import told_in
from domain.values.base import HansardError

Handler = Callable[[Request], Awaitable[Response]]


class Outcome(NamedTuple):
    """What the door answered: a receipt, or a problem in the reader's language."""

    status: int
    told: dict[str, Any]
    replayed: bool

    @property
    def done(self) -> bool:
        return self.status < 300


def key_of(key: str, *parts: object) -> str:
    """The idempotency key of a form that says this: sent twice it is one command, changed and sent again another."""
    return f"form-{hashlib.sha256(orjson.dumps([key, *parts])).hexdigest()}"


async def hand_over(
    request: Request,
    handler: Handler,
    path: str,
    body: Mapping[str, Any],
    *,
    key: str,
    session: str = "",
    version: int | None = None,
) -> Outcome:
    """Knock at a door of the API in the name of whoever sent the form."""
    raw = orjson.dumps(body)
    headers = {"content-type": "application/json", "idempotency-key": key}
    if version is not None:
        headers["if-match"] = f'"{version}"'
    try:
        answer = await handler(_inner(request, path, session, raw, headers))
    except HansardError as error:
        answer = problem(of(error))
    replayed = answer.headers.get("idempotency-replayed") == "true"
    told = told_in(language_of(request), orjson.loads(bytes(answer.body)))
    return Outcome(answer.status_code, told, replayed)


def _inner(request: Request, path: str, session: str, raw: bytes, headers: Mapping[str, str]) -> Request:
    scope = dict(request.scope) | {
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "path_params": {"id": session} if session else {},
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "state": {"actor": request.state.actor},
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": raw, "more_body": False}

    return Request(scope, receive)
