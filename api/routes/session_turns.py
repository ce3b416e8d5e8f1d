"""GET: the turns of a session, and what an agent does, live or kept (contract-2 §11)."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from adapters.store.port import Store
from adapters.store.texts import whole
from api.http.requests import answer_headers, limit, number, only, read_after, system
from api.http.streams import ALIVE, END, HEADERS, OPENING, RETRY, wants_stream
from api.routes.views import answer, endpoint, record_of, session_of
from api.system import System
from domain.session.past_commands import Whole
from domain.session.state import Session
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from projections.record import turn_views
from projections.record.turn_views import Running
from projections.record.turns import TurnEntry
from projections.views.turns import ActivityFrame, ActivityList, TurnList

PAUSE_SECONDS = 0.1
"""The least time between two deliveries of new frames, so that a busy agent does not keep the server busy, too."""


@endpoint("version", "limit", "cursor")
def list_turns(request: Request) -> Response:
    """GET /api/sessions/{id}/turns"""
    session = session_of(request)
    after, most = number(request, "cursor", default=0) or 0, limit(request)
    entries = turn_views.turns_upto(record_of(request, session).turns, session.version)
    page = [entry for entry in entries if entry.version > after][: most + 1]
    items = tuple(
        turn_views.summary(*_reading(request), session.id, entry, session.version, _now(request, session, entry))
        for entry in page[:most]
    )
    return answer(TurnList(items=items, next_cursor=str(page[most - 1].version) if len(page) > most else None))


@endpoint("version")
def show_turn(request: Request) -> Response:
    """GET /api/sessions/{id}/turns/{turnId}"""
    session = session_of(request)
    entry = _entry(request, session)
    now = _now(request, session, entry)
    return answer(turn_views.detail(*_reading(request), session.id, entry, session.version, now))


async def show_activity(request: Request) -> Response:
    """GET /api/sessions/{id}/turns/{turnId}/activity: what the agent did; as events while it runs"""
    if not wants_stream(request):
        return await _list_activity(request)
    only(request, "after")
    await read_after(request)
    after = number(request, "after", default=_last_id(request)) or 0
    session = await asyncio.to_thread(session_of, request)
    entry = await asyncio.to_thread(_entry, request, session)
    frames = await asyncio.to_thread(_frames, request, session, entry)
    stream = _frame_events(system(request), session.id, entry.turn_id, after, frames)
    return StreamingResponse(stream, headers={name.decode(): value.decode() for name, value in HEADERS})


show_activity.parameters = ("after", "version")  # type: ignore[attr-defined]  # the OpenAPI document reads it


@endpoint("after", "version")
def _list_activity(request: Request) -> Response:
    session = session_of(request)
    after = number(request, "after", default=0) or 0
    frames = _frames(request, session, _entry(request, session))
    return answer(ActivityList(items=tuple(frame for frame in frames if frame.seq > after), next_cursor=None))


@endpoint("version")
def show_transcript(request: Request) -> Response:
    """GET /api/sessions/{id}/turns/{turnId}/transcript: what the agent's program printed"""
    session = session_of(request)
    entry = _entry(request, session)
    store = system(request).store
    text = turn_views.transcript(store, session.id, entry, session.version)
    if text is None:
        raise Unknown(Sentence("transcript_not_found", turn=entry.turn_id))
    return Response(whole(store, text), headers=answer_headers(), media_type="text/plain; charset=utf-8")


# -- live ------------------------------------------------------------------------------------------------------------


async def _frame_events(
    inside: System, session_id: str, turn_id: str, seq: int, stored: tuple[ActivityFrame, ...]
) -> AsyncIterator[bytes]:
    """Frames as they come, until the turn has ended; of one that did not run here, those that are recorded."""
    live, beat = inside.live, inside.settings.sse_heartbeat_seconds
    yield OPENING
    look = True
    with live.listening(turn_id) as bell:
        while not live.closed:
            look = bell.hush() or look
            frames = _seen(inside, turn_id, after=seq)
            over = not frames and look and not await asyncio.to_thread(_is_open, inside, session_id, turn_id)
            if over:
                frames = _seen(inside, turn_id, after=seq) or tuple(frame for frame in stored if frame.seq > seq)
            if frames:
                yield b"".join(b"id: %d\ndata: %b\n\n" % (frame.seq, frame.json_bytes()) for frame in frames)
                seq = frames[-1].seq
            if over:
                yield END
                return
            if frames:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            look = not await _rung(bell.rung, beat)  # without a sign of life, another process may have ended it
            if look:
                yield ALIVE
    yield RETRY


async def _rung(rung: asyncio.Event, seconds: float) -> bool:
    try:
        return await asyncio.wait_for(rung.wait(), seconds)
    except TimeoutError:
        return False


def _is_open(inside: System, session_id: str, turn_id: str) -> bool:
    session = inside.sessions.get(session_id)
    return session is not None and turn_id in session.outstanding


def _last_id(request: Request) -> int:
    text = request.headers.get("last-event-id", "").strip()
    return int(text) if text.isdecimal() else 0


# -- reading ---------------------------------------------------------------------------------------------------------


def _reading(request: Request) -> tuple[Store, Whole]:
    store = system(request).store
    return store, partial(whole, store)


def _entry(request: Request, session: Session) -> TurnEntry:
    turn_id = request.path_params["turn"]
    entries = turn_views.turns_upto(record_of(request, session).turns, session.version)
    entry = next((entry for entry in entries if entry.turn_id == turn_id), None)
    if entry is None:
        raise Unknown(Sentence("turn_not_found", id=session.id, name=turn_id))
    return entry


def _frames(request: Request, session: Session, entry: TurnEntry) -> tuple[ActivityFrame, ...]:
    now = _now(request, session, entry)
    return turn_views.activity(system(request).store, session.id, entry, session.version, now)


def _now(request: Request, session: Session, entry: TurnEntry) -> Running:
    """A turn's state now; for a past version its holder is unknown."""
    inside = system(request)
    if not turn_views.is_open(entry, session.version):
        return turn_views.QUEUED
    if "version" in request.query_params:
        return Running(attempt=1)
    held = inside.store.turns.attempts([entry.turn_id]).get(entry.turn_id)
    frames = _seen(inside, entry.turn_id)
    turn = session.outstanding.get(entry.turn_id)
    asks = any(question.turn_id == entry.turn_id for question in session.questions.values())
    waits = asks or (held is None and turn is not None and (turn.tries.until or 0) > inside.clock())
    return Running(waits=waits, attempt=held, since=inside.live.since(entry.turn_id) if held else None, frames=frames)


def _seen(inside: System, turn_id: str, *, after: int = 0) -> tuple[ActivityFrame, ...]:
    frames = inside.live.frames(turn_id, after=after)
    return tuple(ActivityFrame(**dict(frame) | {"paths": frame.paths or None}) for frame in frames)
