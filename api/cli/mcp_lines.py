"""The lines of the Model Context Protocol on standard input: each that cannot be read gets an answer, and only messages
get further."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from domain.values.json import MAX_DEPTH, Malformed, decode

if TYPE_CHECKING:
    from anyio.abc import ObjectSendStream

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
_AROUND: Final = 3
"""How much deeper a message is than the arguments in it."""
_NAMED: Final = 5
"""Of what is wrong with a message so many parts are named."""


class MessageLines:
    """An asynchronous file of the lines that are messages. `answers` is where others are answered; until it is set,
    nothing is read."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = anyio.wrap_file(source)
        self._answers: ObjectSendStream[SessionMessage] | None = None
        self._set = anyio.Event()

    def begin(self, answers: "ObjectSendStream[SessionMessage]") -> None:
        """Read, and answer there what is no message."""
        self._answers = answers
        self._set.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        await self._set.wait()
        assert self._answers is not None, "it is set together with the event"
        async for raw in self._source:
            if not raw.strip():
                continue
            problem = problem_of(raw)
            if problem is None:
                yield raw.decode()
            else:
                await self._answers.send(SessionMessage(problem))


def problem_of(raw: bytes) -> JSONRPCError | None:
    """The answer to a line that is no message; None for one that is."""
    try:
        decode(raw, max_depth=MAX_DEPTH + _AROUND)
    except Malformed as error:
        return _error(_id_of(raw), str(error.placed), PARSE_ERROR)
    try:
        jsonrpc_message_adapter.validate_json(raw, by_name=False)
    except ValidationError as error:
        places = {".".join(map(str, each["loc"][1:])): each["msg"] for each in error.errors(include_url=False)}
        words = "; ".join(": ".join(filter(None, named)) for named in list(places.items())[:_NAMED])
        return _error(_id_of(raw), f"This is not a JSON-RPC message. {words}", INVALID_REQUEST)
    if _has_unfit_id(raw):
        return _error(None, "The id of a request should be a text or an integer.", INVALID_REQUEST)
    return None


def _error(identity: str | int | None, words: str, code: int) -> JSONRPCError:
    """With an id that can be read, the line was JSON, and it is the request that is refused."""
    code = INVALID_REQUEST if identity is not None else code
    return JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData(code=code, message=words))


def _lenient(raw: bytes) -> Any:
    """Returns what any JSON reader would make of the line; None if nothing."""
    with suppress(ValueError, RecursionError):
        return json.loads(raw.decode("utf-8-sig", errors="replace"))
    return None


def _id_of(raw: bytes) -> str | int | None:
    message = _lenient(raw)
    identity = message.get("id") if isinstance(message, dict) else None
    if not isinstance(identity, str | int) or isinstance(identity, bool):
        return None
    if isinstance(identity, str):
        return identity if identity.isprintable() else None
    return identity if abs(identity) <= 2**53 else None


def _has_unfit_id(raw: bytes) -> bool:
    """The library takes a request whose id is null or a fraction for a notification, and would not answer it."""
    message = _lenient(raw)
    return isinstance(message, dict) and "method" in message and "id" in message and _id_of(raw) is None


@contextmanager
def private_input() -> Iterator[BinaryIO]:
    """Standard input for this process alone: programs that are started read nothing from it."""
    own = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    # Not closed: a thread may still wait for a line when the protocol has ended.
    yield os.fdopen(own, "rb", closefd=False)
