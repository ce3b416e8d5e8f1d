"""Server-sent events: history and live events on one path. The id is the position in the log; nothing is missed or
repeated. Once the log has gone back, the id also has its epoch.

Every client is a cursor. New events come from the hub, encoded once for all; a client further back reads the log
itself. A stream ends politely: for a finished session with `event: end`, at shutdown with `retry:`, if the log
has gone back with `event: rewound`, and if it cannot be read with `event: problem`. A cursor that the log does not
have, because it is beyond its end or from before it went back, gets `event: rewound` and then what follows the head.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adapters.store.errors import DamagedEvent
from api.http.problems import Problem, document, of, problem
from api.http.requests import number, system, weights_of
from api.node.frames import Interest, Piece, StreamId, pieces
from api.node.hub import Hub, Reader
from api.system import System
from domain.kinds import KINDS, is_over
from domain.session.record import Recorded, kind_of
from domain.values.base import HansardError, Unknown
from domain.values.sentences import Sentence

PAGE: Final = 100
MOST_STREAMS: Final = 100
"""Open streams of one key: each takes memory and a connection from all others."""
OPENING: Final = b"retry: 1000\n"
"""Without an empty line: simple clients would take it for an event without data."""
RETRY: Final = OPENING + b"\n"
ALIVE: Final = b": alive\n\n"
ACTIVE: Final = b"event: activity\ndata: {}\n\n"
END: Final = b"event: end\ndata: {}\n\n"
REWOUND: Final = b'event: rewound\nid: %b\ndata: {"head":%d}\n\n'
"""With the id from which a client that reconnects continues: of the head that the log went back to, or of the last
event that the client has got, where that one is earlier."""
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
    """The position to begin at: after `?after=` or `?cursor=`, whichever is further, because a client may send the
    same `after` with every page.
    """
    return max(number(request, name, default=0) or 0 for name in ("after", "cursor"))


def wants_stream(request: Request) -> bool:
    """True if `Accept` names events, and JSON does not have a larger weight (RFC 9110 §12.5.1)."""
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
    cursor, after, version = _last_event_id(request), begin_after(request), None
    if cursor is None and after <= newest:
        start, version = StreamStart(_position_of(inside, session_id, after)), after
    else:
        start = _start(inside, cursor)

    def read_events(position: int, version: int | None) -> list[Recorded]:
        if version is None:
            return inside.store.log(after=position, limit=PAGE, session_id=session_id)
        return inside.store.history(session_id, after=version, upto=version + PAGE)

    def end() -> int | None:
        now = inside.sessions.get(session_id)
        if now is None or not is_over(now):
            return None
        return _position_of(inside, session_id, now.version)

    return EventStream(inside.hub, Interest(session_id), start, read_events, end, version=version)


def stream_log(request: Request, *, kind: str | None, topic: str | None, lively: bool) -> Response:
    """The whole log, or events of a kind or type, after `?after=` (a position) or `Last-Event-ID`. A lively one also
    says when agents are active, at most once a second."""
    inside = system(request)
    cursor = _last_event_id(request)
    start = _start(inside, cursor or StreamId(begin_after(request), inside.hub.epoch))

    def read_events(position: int, _: int | None) -> list[Recorded]:
        return inside.store.log(after=position, limit=PAGE, kind=kind, topic=topic)

    return EventStream(inside.hub, Interest(kind=kind, topic=topic), start, read_events, lively=lively)


class StreamStart(NamedTuple):
    """After which position a stream begins; `rewound` if the client is told that this is the head of the log, which
    does not have its cursor. None if this server does not know yet that the log has gone back: the client soon asks
    again."""

    position: int | None
    rewound: bool = False


def _start(inside: System, cursor: StreamId | None) -> StreamStart:
    """Returns where to begin for the cursor of a client; None for a version that its session does not have."""
    sight = inside.store.sight()
    if sight.epoch != inside.hub.epoch:
        inside.follower.wake()
        return StreamStart(None)
    if cursor is None or cursor.epoch != sight.epoch or cursor.position > sight.head:
        return StreamStart(sight.head, rewound=True)
    return StreamStart(cursor.position)


def check_cursor(cursor: int, newest: int) -> None:
    """Raise Problem (422) for a cursor of a page that is beyond the end of what it reads."""
    if cursor > newest:
        detail = Sentence("cursor_beyond", number=cursor, newest=newest)
        raise Problem(
            422, detail, errors=[{"pointer": "/after", "detail": Sentence("beyond_the_log_end", number=newest)}]
        )


def _last_event_id(request: Request) -> StreamId | None:
    text = request.headers.get("last-event-id")
    if text is None or not text.strip():
        return None
    cursor = StreamId.parse(text.strip())
    if cursor is None:
        raise Problem(400, Sentence("last_event_id_malformed"))
    return cursor


def _position_of(inside: System, session_id: str, version: int) -> int:
    if version == 0:
        return 0
    stretch = inside.store.history(session_id, after=version - 1, upto=version)
    return stretch[0].position if stretch else inside.store.head()


def _owner(scope: Scope) -> str | None:
    """Whose key the request has; None on a server without keys."""
    return scope["state"]["actor"] if scope["app"].state.system.logins is not None else None


class EventStream(Response):
    """A plain ASGI response that writes frames until the client disconnects, the session ends or the server closes."""

    def __init__(
        self,
        hub: Hub,
        interest: Interest,
        start: StreamStart,
        source: Read,
        end: Callable[[], int | None] = lambda: None,
        *,
        version: int | None = None,
        lively: bool = False,
    ) -> None:
        super().__init__()
        self._lively = lively
        self._hub, self._interest, self._start, self._version = hub, interest, start, version
        self._read, self._end = source, end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = _owner(scope)
        if owner is not None and self._hub.streams_of(owner) >= MOST_STREAMS:
            detail = Sentence("too_many_streams", most=MOST_STREAMS)
            await problem(Problem(429, detail, headers={"Retry-After": "30"}))(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        wire = scope.get("extensions", {}).get(WIRE) or _Borrowed()
        position = self._start.position or 0
        reader = Reader(self._interest, position, self._version, self._end, wire, lively=self._lively, owner=owner)
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
        if self._start.position is None:
            return
        if self._start.rewound:
            yield self._rewound(self._start.position, self._start.position)
        try:
            async for chunk in self._send_pieces(reader):
                yield chunk
        except HansardError as error:
            failure = of(error)
            yield (LATER if failure.status == 500 else b"") + PROBLEM % document(failure)

    async def _send_pieces(self, reader: Reader) -> AsyncIterator[bytes]:
        hub = self._hub
        while not (hub.closed or reader.gone or reader.rewound is not None):
            reader.rung.clear()
            piece = hub.take(reader.interest, reader.position)
            if piece is None:
                search = partial(self._search, reader.position, reader.version, hub.position)
                piece = await hub.find(reader.interest, reader.position, search)
                if reader.rewound is not None:
                    break
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
        if reader.rewound is not None:
            yield self._rewound(reader.rewound, min(reader.position, reader.rewound))
        elif hub.closed:
            yield RETRY

    def _rewound(self, head: int, sent: int) -> bytes:
        return REWOUND % (bytes(StreamId(sent, self._hub.epoch)), head)

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
