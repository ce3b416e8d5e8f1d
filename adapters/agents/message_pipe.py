"""A program's input and output lines as JSON-RPC messages: the transport of `adapters.agents.peer`, and its errors."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import orjson

from adapters.agents.activity import Activity, tail
from adapters.processes.input import Input
from domain.values.base import HansardError

Json = dict[str, Any]
LINE: Final = 16 * 1_048_576
"""Maximum length of a message; longer ones are ignored."""


class MessagePipe:
    """Receives a program's lines, with secrets removed; a line that is not a message is shown as a notice."""

    def __init__(
        self, *, scrub: Callable[[str], str], observe: Callable[[Activity], None], transcribe: Callable[[str], None]
    ) -> None:
        self.input = Input()
        self.over = asyncio.Event()
        """Set after the last message has been received."""
        self._scrub, self._observe, self._transcribe = scrub, observe, transcribe
        self._messages: asyncio.Queue[Json | None] = asyncio.Queue()

    def line(self, stream: int, text: str) -> None:
        """The program printed a line."""
        line = self._scrub(text)
        self._transcribe(line)
        message = _message(line) if stream == 1 and len(line) <= LINE else None
        if message is not None:
            self._messages.put_nowait(message)
        elif line.strip():
            self._observe(Activity(kind="notice", text=tail(line)))

    def end(self) -> None:
        """The program's output has ended."""
        self._messages.put_nowait(None)

    async def send(self, message: Json) -> None:
        self.input.write(json.dumps(message).encode() + b"\n")  # prompts may contain half a surrogate pair

    async def receive(self) -> Json | None:
        message = await self._messages.get()
        if message is None:
            self.over.set()
        return message

    async def close(self) -> None:
        self.input.close()


def _message(line: str) -> Json | None:
    """A request, a notification or a response; anything that could break the connection is rejected."""
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(message, dict) or not isinstance(message.get("id"), int | str | None):
        return None
    if "method" in message:
        return message if isinstance(message["method"], str) else None
    error = message.get("error")
    if "id" not in message or not isinstance(error, dict | None):
        return None
    return message if error is None or isinstance(error.get("message", ""), str) else None


class PeerError(HansardError):
    """The agent answered a request with an error."""

    def __init__(self, message: str, code: int, data: object = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Unsupported(HansardError):
    """The agent asks for something that we do not have."""
