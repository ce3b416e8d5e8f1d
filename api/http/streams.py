"""Server-sent events: history and live events on one path. The id is the position in the log; nothing is missed or
repeated.

Every client is a cursor. New events come from the hub, encoded once for all; a client further back reads the log
itself. A stream ends politely: for a finished session with `event: end`, at shutdown with `retry:`, and if the log
cannot be read with `event: problem`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adapters.store.errors import DamagedEvent
from api.http.problems import Problem, document, of
from api.http.requests import NUMBER, number, system, weights_of
from api.node.frames import Interest, Piece, pieces
from api.node.hub import Hub, Reader
from api.system import System
from domain.kinds import KINDS, allowed_actions
from domain.session.record import Recorded, kind_of
from domain.values.base import HansardError, Unknown
from domain.values.sentences import Sentence

PAGE: Final = 100
OPENING: Final = b"retry: 1000\n"
"""Without an empty line: simple clients would take it for an event without data."""
RETRY: Final = OPENING + b"\n"
ALIVE: Final = b": alive\n\n"
ACTIVE: Final = b"event: activity\ndata: {}\n\n"
END: Final = b"event: end\ndata: {}\n\n"
PROBLEM: Final = b"event: problem\ndata: %b\n\n"
LATER: Final = b"retry: 30000\n\n"
"""Clients return to the same server, so they should wait a moment."""
WIRE: Final = "hansard.wire"
"""The ASGI extension through which our server gives a stream direct access to its connection."""
HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]

PAGES: Final = ("application/json", "application/*", "*/*")
"""Media ranges of `Accept` that include a page, the most specific first."""

Read = Callable[[int, int | None], list[Recorded]]
"""A page of matching events after a position."""


def begin_after(request: Request) -> int:
    """Where to begin: after `?after=` or `?cursor=`, whichever is further, because a client may send the same `after`
    with every page."""
    return max(number(request, name, default=0) or 0 for name in ("after", "cursor"))


def wants_stream(request: Request) -> bool:
    """Whether `Accept` names events, and JSON does not have a larger weight (RFC 9110 §12.5.1)."""
    weights = weights_of(request, "accept")
    events = weights.get("text/event-stream", 0.0)
    page = next((weights[media] for media in PAGES if media in weights), 0.0)
    return events > 0 and events >= page


def stream_session(request: Request, session_id: str) -> Response:
    """A session's events from the first, after `?after=` (a version), or after `Last-Event-ID`.

    It is not folded first: readable events are sent even if later ones are damaged. It ends where nothing is left to
    do: a session that can be retried or extended may continue. Raises Unknown.
    """
    inside = system(request)
    newest = inside.store.version(session_id) if kind_of(session_id) in KINDS else 0
    if not newest:
        raise Unknown(Sentence("session_not_found", id=session_id))
    after = begin_after(request)
    begin, version, above = _last_event_id(request), None, 0
    if begin is None:
        begin = _position_of(inside, session_id, after)
        version, above = (after, 0) if after <= newest else (None, after)

    def read_events(position: int, version: int | None) -> list[Recorded]:
        if version is None:
            return inside.store.log(after=position, limit=PAGE, session_id=session_id)
        return inside.store.history(session_id, after=version, upto=version + PAGE)

    def end() -> int | None:
        now = inside.sessions.get(session_id)
        if now is None or now.outstanding or allowed_actions(now):
            return None
        return _position_of(inside, session_id, now.version)

    return EventStream(inside.hub, Interest(session_id, above=above), (begin, version), read_events, end)


def stream_log(request: Request, *, kind: str | None, topic: str | None, lively: bool) -> Response:
    """The whole log, or events of a kind or type, after `?after=` (a position) or `Last-Event-ID`. A lively one also
    says when agents are active, at most once a second."""
    inside = system(request)
    begin = _last_event_id(request)
    if begin is None:
        begin = begin_after(request)

    def read_events(position: int, _: int | None) -> list[Recorded]:
        return inside.store.log(after=position, limit=PAGE, kind=kind, topic=topic)

    return EventStream(inside.hub, Interest(kind=kind, topic=topic), (begin, None), read_events, lively=lively)


def _last_event_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id")
    if text is None or not text.strip():
        return None
    if not NUMBER.fullmatch(text.strip()):
        raise Problem(400, Sentence("last_event_id_malformed"))
    return int(text)


def _position_of(inside: System, session_id: str, version: int) -> int:
    if version == 0:
        return 0
    stretch = inside.store.history(session_id, after=version - 1, upto=version)
    return stretch[0].position if stretch else inside.store.head()


class EventStream(Response):
    """A plain ASGI response that writes frames until the client disconnects, the session ends or the server closes."""

    def __init__(
        self,
        hub: Hub,
        interest: Interest,
        begin: tuple[int, int | None],
        source: Read,
        end: Callable[[], int | None] = lambda: None,
        *,
        lively: bool = False,
    ) -> None:
        super().__init__()
        self._lively = lively
        self._hub, self._interest, self._begin = hub, interest, begin
        self._read, self._end = source, end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        wire = scope.get("extensions", {}).get(WIRE) or _Borrowed()
        reader = Reader(self._interest, *self._begin, self._end, wire, lively=self._lively)
        leaving = asyncio.create_task(_gone(receive))
        leaving.add_done_callback(lambda _: reader.leave())
        self._hub.join(reader)
        try:
            await self._write(reader, send)
        finally:
            self._hub.part(reader)
            leaving.cancel()

    async def _write(self, reader: Reader, send: Send) -> None:
        async for chunk in self._chunks(reader):
            reader.sending, reader.missed = True, 0
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            reader.sending = False
        if not reader.gone:
            await send({"type": "http.response.body", "body": b""})

    async def _chunks(self, reader: Reader) -> AsyncIterator[bytes]:
        yield OPENING
        try:
            async for chunk in self._send_pieces(reader):
                yield chunk
        except HansardError as error:
            problem = of(error)
            yield (LATER if problem.status == 500 else b"") + PROBLEM % document(problem)

    async def _send_pieces(self, reader: Reader) -> AsyncIterator[bytes]:
        hub = self._hub
        while not (hub.closed or reader.gone):
            reader.rung.clear()
            piece = hub.take(reader.interest, reader.position)
            if piece is None:
                search = partial(self._search, reader.position, reader.version, hub.position)
                piece = await hub.find(reader.interest, reader.position, search)
            reader.advance(piece)
            if piece.data:
                yield piece.data
            if reader.beat:
                reader.beat = False
                yield ALIVE
            if reader.stirred:
                reader.stirred = False
                yield ACTIVE
            if reader.position < hub.position:
                continue
            if hub.has_ended(reader):
                yield END
                return
            await reader.rest()
        if hub.closed:
            yield RETRY

    def _search(self, position: int, version: int | None, upto: int) -> list[Piece]:
        """A page of the log up to the hub's position; the hub sends what follows."""
        try:
            page = self._read(position, version)
            end = page[-1].position if len(page) >= PAGE else upto
        except DamagedEvent as error:
            page, end = error.readable, min(error.position - 1, upto)
            if end <= position:
                raise
        frames = [self._hub.frame(recorded) for recorded in page if recorded.position <= upto]
        return list(pieces(frames, self._interest, min(end, upto)))


class _Borrowed:
    """The connection of a server without direct access: everything goes through `send`."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "a request is served in a task"
        self._task = task

    def push(self, _: bytes) -> bool:
        return False

    def cut(self) -> None:
        self._task.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
