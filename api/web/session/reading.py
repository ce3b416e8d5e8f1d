"""A session read for its page: in a thread, no older than the log, once for all who ask for the same at once."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from adapters.store.texts import whole
from api.http.problems import Problem
from api.http.requests import system
from api.system import System
from api.web.renderer import language_of
from api.web.session.listing import LISTED
from api.web.session.panels import Gallery
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.session.state import Session
from domain.values.base import Text, Unknown
from domain.values.sentences import Sentence

T = TypeVar("T")


async def reading(request: Request, build: Callable[[System, Session, int], T], *, shared: bool = True) -> T:
    """Once the views have reached what the log has: a page shows one version. Views that cannot be written now are
    shown as they are. `build` is told the log's head from before the session was read, too; what it makes of an address
    is `shared`."""
    inside, session_id = system(request), request.path_params["id"]
    head = await asyncio.to_thread(inside.store.head)
    failing = inside.follower.failing is not None
    if not failing and not await inside.follower.wait_for(head, inside.settings.read_after_seconds):
        raise Problem(503, Sentence("views_catching_up"), headers={"Retry-After": "1"})

    def load() -> T:
        now = inside.sessions.get(session_id) if kind_of(session_id) in KINDS else None
        newest = inside.store.version(session_id) if now is not None else 0
        if now is None or not newest:
            raise Unknown(Sentence("session_not_found", id=session_id))
        if newest < now.version:  # the log has gone back, which the follower is about to notice
            inside.follower.wake()
            raise Problem(503, Sentence("views_catching_up"), headers={"Retry-After": "1"})
        return build(inside, now, head)

    if failing or not shared:
        return await asyncio.to_thread(load)
    reader = (language_of(request).language, request.cookies.get(LISTED, ""), getattr(request.state, "actor", ""))
    address = (request.url.path, request.url.query, *reader)
    return await gallery(request).shared.of((inside.follower.epoch, head), address, load)


def as_of(inside: System, now: Session, at: int | None) -> Session:
    """Raises Unknown for a version that the session does not have."""
    if at is None or at == now.version:
        return now
    state = inside.sessions.get(now.id, at)
    if state is None:
        raise Unknown(Sentence("session_version_beyond", id=now.id, number=at, newest=now.version))
    return state


def gallery(request: Request) -> Gallery:
    """Kept with the application; the first page that is asked for makes it."""
    cache: dict[str, Gallery] = request.app.state.kept
    return cache.get("gallery") or cache.setdefault("gallery", Gallery(system(request)))


def words_of(inside: System, now: Session, at: int, field: str | None) -> str:
    """The first text of an event, or the one of that name. Raises Unknown."""
    stretch = inside.store.history(now.id, after=at - 1, upto=at)
    if not stretch:
        raise Unknown(Sentence("session_version_beyond", id=now.id, number=at, newest=now.version))
    event = stretch[0].event
    texts = {name: getattr(event, name) for name in type(event).model_fields}
    texts = {name: text for name, text in texts.items() if isinstance(text, Text)}
    text = texts.get(field) if field else next(iter(texts.values()), None)
    if text is None:
        raise Unknown(Sentence("text_not_found", number=at, id=now.id))
    return whole(inside.store, text)
