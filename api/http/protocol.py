"""A server connection: uvicorn's on httptools, strict about headers and time, and available to event streams directly.

A request must arrive, headers and body, within `patience` seconds of its beginning (P25): uvicorn would wait forever.
Lines and size of its head are limited, and anything that is not HTTP/1 is answered at once. Streams write to the
connection directly: otherwise each event would cost a hundred calls per client.
"""

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from api.http.headers import HEADERS
from api.http.problems import Problem, problem
from api.http.streams import WIRE
from domain.values.sentences import Sentence

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

MOST_HEADERS: Final = 100
HEAD_BYTES: Final = 65_536
VERSIONS: Final = ("1.0", "1.1")
METHOD: Final = re.compile(rb"(?:\r\n)?([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?= [^ \r\n]+ HTTP/1\.[01]\r\n)")
"""The method at the start of a request, known or not (RFC 9110 §9.1)."""
_ABSOLUTE: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
STAND_IN: Final = b"DELETE"
"""A method that the parser reads and no address takes."""
LINGER_SECONDS: Final = 0.5
"""How long a rejected client may take to read the answer: closing at once would discard what it has not read."""


class HttpProtocol(HttpToolsProtocol):
    """HTTP/1 with httptools, whatever other parsers are installed, because this one was tested."""

    def __init__(self, *positional: Any, patience: float = 30.0, **named: Any) -> None:
        super().__init__(*positional, **named)
        self._patience = patience
        self._waiting: asyncio.TimerHandle | None = None
        self._in_head, self._complete, self._deaf = True, False, False
        self._head = self._requests = self._body = 0
        self._refusal: Problem | None = None
        self._method: str | None = None

    # -- time ------------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))  # which a protocol of streams is given
        self._waiting = self.loop.call_later(self._patience, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._at_ease()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        self._complete = False
        self._feed(data)
        if self._complete or self._deaf:
            self._at_ease()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self._patience, self._too_slow)

    def _at_ease(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_slow(self) -> None:
        if self.flow.read_paused:  # we have stopped reading ourselves
            self._waiting = self.loop.call_later(self._patience, self._too_slow)
        else:
            self._refuse(Problem(408, Sentence("request_too_slow", number=self._patience)))

    # -- parsing ---------------------------------------------------------------------------------------------------

    def _feed(self, data: bytes) -> None:
        requests, body = self._requests, self._body
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # we support no other protocol, and continue with this one
            rest = data[upgrade.args[0] :]
            if rest:
                self._feed(rest)
        except httptools.HttpParserInvalidMethodError:
            fresh = self._requests == requests or (body > 0 and self._requests == requests + 1)
            unknown = METHOD.match(data, body) if fresh and not self._head else None
            if unknown is None:
                return self._refuse(Problem(400, Sentence("malformed_http")))
            self._feed_unknown(unknown[1].decode("ascii"), data[unknown.end() :])
        except httptools.HttpParserError:
            self._refuse(self._refusal or Problem(400, Sentence("malformed_http")))
        else:
            if self._in_head and self._requests == requests:
                self._head += len(data)
                if self._head > HEAD_BYTES:
                    self._refuse(_too_much())

    def _feed_unknown(self, method: str, rest: bytes) -> None:
        """A request with a method that the parser does not know: the application answers it, as it answers methods
        that an address does not take."""
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
        self._method = method
        self._feed(STAND_IN + rest)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._complete, self._head = True, False, 0
        self.scope["extensions"] = {WIRE: self}  # type: ignore[dict-item]  # an extension of our own

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MOST_HEADERS:
            self._refusal = _too_much()
            raise ValueError("too many headers")

    def on_headers_complete(self) -> None:
        """Raises ValueError, which the parser passes on as its own error."""
        self._in_head, self._head = False, 0
        size, hosts, version = len(self.url), 0, self.parser.get_http_version()
        self._body = 0
        for name, value in self.headers:
            size += len(name) + len(value)
            hosts += name == b"host"
            if name == b"content-length":  # the parser has checked it
                self._body = int(value)
            if name == b"transfer-encoding" and value.lower() != b"chunked":
                raise ValueError("an encoding that is not supported")
        if size > HEAD_BYTES:
            self._refusal = _too_much()
            raise ValueError("too long a head")
        if version not in VERSIONS or hosts > 1 or (version == "1.1" and not hosts):
            raise ValueError("another version, or not one name of ours")
        if _ABSOLUTE.match(self.url):
            self._heed_target()
        super().on_headers_complete()
        if self._method is not None:
            self.scope["method"], self._method = self._method, None
        if version == "1.0":
            self.cycle.__class__ = _Unchunked

    def _heed_target(self) -> None:
        """Take the server's name from a target that names one, whatever `Host` says (RFC 9112 §3.2.2). Raises
        ValueError."""
        try:
            target = httptools.parse_url(self.url)
        except httptools.HttpParserInvalidURLError as error:
            raise ValueError("a target that is no address") from error
        host = target.host if b":" not in target.host else b"[%b]" % target.host
        authority = host if target.port is None else b"%b:%d" % (host, target.port)
        self.headers[:] = [(b"host", authority), *(header for header in self.headers if header[0] != b"host")]
        self.url = (target.path or b"/") + (b"?%b" % target.query if target.query else b"")

    def on_body(self, body: bytes) -> None:
        self._body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._complete = self._in_head = True
        self._requests += 1
        super().on_message_complete()

    # -- the last word ---------------------------------------------------------------------------------------------

    def send_400_response(self, _: str) -> None:
        """Answers where uvicorn would do so in plain text, or twice."""
        self._refuse(Problem(400, Sentence("malformed_http")))

    def _refuse(self, error: Problem) -> None:
        """Report the reason and end this connection. If an earlier request on it is complete, that is answered
        instead."""
        self._deaf = True
        self._at_ease()
        if self.transport.is_closing():  # an answer before this one is still on its way
            return
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body and not cycle.response_started:
                cycle.keep_alive = False
                return
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                return self.transport.close()
        self.transport.write(self._last(error))
        self._linger()

    def _linger(self) -> None:
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()

    def _last(self, error: Problem) -> bytes:
        """An answer as it goes over the wire."""
        answer = problem(error)
        answer.headers.update({**HEADERS, "Connection": "close"})
        head = [*self.server_state.default_headers, *answer.raw_headers]
        lines = b"".join(b"%b: %b\r\n" % header for header in head)
        return b"%b%b\r\n%b" % (STATUS_LINE[error.status], lines, bytes(answer.body))

    # -- as a wire -------------------------------------------------------------------------------------------------

    def push(self, data: bytes) -> bool:
        """A chunk of the response (RFC 9112 §7.1), if the other end keeps reading."""
        if self.flow.write_paused or self.transport.is_closing() or not self.cycle.chunked_encoding:
            return False
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def cut(self) -> None:
        """Closing politely would wait for the other end to read."""
        self.transport.abort()


class _Unchunked(RequestResponseCycle):
    """A client of HTTP/1.0 does not support chunks: an answer of unknown length ends with the connection."""

    async def send(self, message: "ASGISendEvent") -> None:
        self.chunked_encoding = False
        if message["type"] == "http.response.body":
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)


def _too_much() -> Problem:
    return Problem(431, Sentence("head_too_large", number=MOST_HEADERS, most=HEAD_BYTES))
