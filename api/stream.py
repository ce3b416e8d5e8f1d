"""Server-sent events: history and live on one path. The id is the position in the log; nothing is missed or repeated.

Every client is a cursor. The hub keeps the newest events encoded, once for all clients; whoever is further behind
reads the log itself. A stream ends politely: for a finished session with `event: end`, at shutdown with `retry:`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.hub import Frame
from api.intake import NUMBER, number, system
from api.problems import Problem
from api.system import System
from domain.record import Recorded
from domain.session import Session

PAGE = 500
RETRY = b"retry: 1000\n\n"
Wanted = Callable[[Recorded], bool]


def wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def stream_session(request: Request, session: Session) -> Response:
    """A session's events from the first, from behind `?after=` (a version), or from behind `Last-Event-ID`."""
    inside = system(request)
    after = number(request, "after", default=0) or 0
    begin = _last_event_id(request)
    least = 0 if begin is not None else after
    if begin is None:
        begin = _position_of(inside, session.id, after)

    def wanted(recorded: Recorded) -> bool:
        return recorded.session_id == session.id and recorded.version > least

    def history(position: int, upto: int) -> list[Recorded]:
        page = inside.store.log(after=position, limit=PAGE, session_id=session.id)
        return [recorded for recorded in page if recorded.position <= upto]

    def last() -> int | None:
        now = inside.sessions.get(session.id)
        if now is None or not now.ended or now.outstanding:
            return None
        return _position_of(inside, session.id, now.version)

    return EventStream(inside, begin, wanted, history, last)


def stream_log(request: Request, *, kind: str | None, topic: str | None) -> Response:
    """The whole log, or what of it is of a kind or type, from behind `?after=` (a position) or `Last-Event-ID`."""
    inside = system(request)
    begin = _last_event_id(request)
    if begin is None:
        begin = number(request, "after", default=0) or 0

    def wanted(recorded: Recorded) -> bool:
        return (kind is None or recorded.kind == kind) and (topic is None or topic == recorded.event.TOPIC)

    def history(position: int, upto: int) -> list[Recorded]:
        page = inside.store.log(after=position, limit=PAGE, kind=kind, topic=topic)
        return [recorded for recorded in page if recorded.position <= upto]

    return EventStream(inside, begin, wanted, history, lambda: None)


def _last_event_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id")
    if text is None or not text.strip():
        return None
    if not NUMBER.fullmatch(text.strip()):
        raise Problem(400, "Last-Event-ID should be a position of the log.")
    return int(text)


def _position_of(inside: System, session_id: str, version: int) -> int:
    if version == 0:
        return 0
    found = inside.store.history(session_id, after=version - 1, upto=version)
    return found[0].position if found else inside.store.head()


class EventStream(Response):
    """A plain ASGI response that writes frames until the client goes, the session ends or the server closes."""

    def __init__(
        self,
        inside: System,
        begin: int,
        wanted: Wanted,
        history: Callable[[int, int], list[Recorded]],
        last: Callable[[], int | None],
    ) -> None:
        super().__init__()
        self._system, self._begin = inside, begin
        self._wanted, self._history, self._last = wanted, history, last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_gone(receive))
        hub = self._system.hub
        hub.clients += 1
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hub.clients -= 1
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    async def _write(self, send: Send) -> None:
        async for chunk in self._chunks():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _chunks(self) -> AsyncIterator[bytes]:
        hub, closing, cursor = self._system.hub, self._system.closing, self._begin
        yield RETRY
        while not closing.is_set():
            bell = hub.bell()
            frames = hub.since(cursor)
            if frames is None:
                upto = hub.position
                history = await asyncio.to_thread(self._history, cursor, upto)
                frames = [Frame.of(recorded) for recorded in history if self._wanted(recorded)]
                cursor = history[-1].position if len(history) >= PAGE else max(upto, cursor)
            else:
                cursor = frames[-1].recorded.position if frames else cursor
                frames = [frame for frame in frames if self._wanted(frame.recorded)]
            if frames:
                yield b"".join(frame.data for frame in frames)
            if cursor < hub.position:
                continue
            last = await asyncio.to_thread(self._last)
            if last is not None and cursor >= last:
                yield b"event: end\ndata: {}\n\n"
                return
            async for comment in self._wait(bell):
                yield comment
        yield RETRY

    async def _wait(self, bell: asyncio.Event) -> AsyncIterator[bytes]:
        """Until the bell rings or the server closes; a comment now and then shows that the line lives."""
        waits = [asyncio.create_task(bell.wait()), asyncio.create_task(self._system.closing.wait())]
        try:
            while not any(wait.done() for wait in waits):
                seconds = self._system.settings.sse_heartbeat_seconds
                done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    yield b": alive\n\n"
        finally:
            for wait in waits:
                wait.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
