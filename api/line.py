"""A connection of our server: uvicorn's, lent to event streams: else each event would cost a hundred calls a client."""

import asyncio
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.stream import WIRE

_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class _Joined(h11.Connection):
    """Sends the head of an answer with the first of its body, as ASGI asks: one packet and one call less for each."""

    _head = b""

    def send(self, event: Any) -> Any:
        data = super().send(event)
        if isinstance(event, h11.Response):
            self._head = data or b""
            return b""
        if self._head:
            data, self._head = self._head + (data or b""), b""
        return data


class Line(H11Protocol):
    """HTTP/1.1 by h11, whatever other parsers are installed: what runs is what was tested.

    A request has to be there, head and body, `patience` seconds after its beginning (P25): uvicorn would wait for ever.
    """

    def __init__(self, *given: Any, patience: float = 30.0, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn = _Joined(h11.SERVER)
        self._patience = patience
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))  # which a protocol of streams is given
        self.app = self._lent(self.app)
        self._waiting = self.loop.call_later(self._patience, self._too_slow)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._waiting = self._waiting or self.loop.call_later(self._patience, self._too_slow)
        else:
            self._at_ease()

    def connection_lost(self, exc: Exception | None) -> None:
        self._at_ease()
        super().connection_lost(exc)

    def _at_ease(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_slow(self) -> None:
        if self.conn.our_state is h11.IDLE:
            self.transport.write(_LATE)
        self.transport.close()

    def _lent(self, app: ASGIApp) -> ASGIApp:
        async def lent(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("extensions", {})[WIRE] = self
            await app(scope, receive, send)

        return lent

    def push(self, data: bytes) -> bool:
        """A chunk of the response that is being sent (RFC 9112 §7.1), if the other end keeps up."""
        if self.flow.write_paused or self.transport.is_closing() or self.conn.their_http_version != b"1.1":
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def cut(self) -> None:
        """Closing politely would wait for the other end to read."""
        self.transport.abort()
