"""A connection of our server: uvicorn's, lent to event streams: else each event would cost a hundred calls a client."""

import asyncio
from typing import Any, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from api.http.guards import HEADERS
from api.http.problems import Problem, problem
from api.http.streams import WIRE
from domain.values.sentences import Sentence


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


class HttpProtocol(H11Protocol):
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
        self._part(Problem(408, Sentence("request_too_slow", number=self._patience)))

    def send_400_response(self, _: str) -> None:
        """Where uvicorn would answer in plain text, or try to answer twice."""
        self._part(Problem(400, Sentence("malformed_http")))

    def _part(self, error: Problem) -> None:
        """The last word on this connection; where another answer has begun, only the end."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(self._last(error))
        if self.cycle is not None:  # the client is gone
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _last(self, error: Problem) -> bytes:
        """An answer as it goes over the wire."""
        answer = problem(error)
        answer.headers.update({**HEADERS, "Connection": "close"})
        head = [*self.server_state.default_headers, *answer.raw_headers]
        lines = [
            b"HTTP/1.1 %d %b" % (error.status, STATUS_PHRASES[error.status]),
            *(b"%b: %b" % found for found in head),
        ]
        return b"\r\n".join([*lines, b"", bytes(answer.body)])

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
