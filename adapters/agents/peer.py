"""A conversation in JSON-RPC, by the library `acp`, with errors of ours. It is loaded with an agent's first turn: the
library takes a second."""

from collections.abc import Awaitable, Callable
from typing import Any

from acp import RequestError
from acp.connection import Connection

from adapters.agents.message_pipe import Json, MessagePipe, PeerError, Unsupported

Handle = Callable[[str, Any, bool], Awaitable[Json | None]]


class Peer:
    """The program at the other end."""

    def __init__(self, handle: Handle, pipe: MessagePipe) -> None:
        self._handle = handle
        self._connection = Connection(self._answer, pipe)

    async def send_request(self, method: str, params: Json) -> Any:
        """Return the answer. Raises PeerError if that is an error, and ConnectionError if the program is gone."""
        try:
            return await self._connection.send_request(method, params)
        except RequestError as error:
            raise PeerError(str(error), error.code, error.data) from None

    async def send_notification(self, method: str, params: Json | None = None) -> None:
        """Say something that takes no answer. Raises ConnectionError if the program is gone."""
        await self._connection.send_notification(method, params)

    async def close(self) -> None:
        """End the conversation."""
        await self._connection.close()

    async def _answer(self, method: str, params: Any, is_notification: bool) -> Json | None:
        try:
            return await self._handle(method, params, is_notification)
        except Unsupported:
            raise RequestError.method_not_found(method[:100]) from None
