"""`/`: what needs somebody, what runs, what was."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from api.intake import number, only, system
from api.web import model
from api.web.rendering import invalid, language_of, page, render
from domain.base import Unknown
from domain.sessions import KINDS


async def home(request: Request) -> Response:
    """GET /: what needs somebody, what runs, what was; or what was looked for"""
    only(request, "kind", "status", "q", "cursor", "lang")
    query = request.query_params
    looked = {name: query.get(name) or None for name in ("kind", "status", "q", "cursor")}
    if looked["kind"] is not None and looked["kind"] not in KINDS:
        raise invalid("kind", f"should be one of {', '.join(KINDS)}")
    inside, say = system(request), language_of(request)
    after = inside.follower.position

    def build() -> str:
        with inside.views.reading() as db:
            found = model.home_page(db, **looked)
        return render(request, say, "home.html", page=found, looked=looked, after=after, example=inside.team.example)

    return page(await asyncio.to_thread(build))


async def session(request: Request) -> Response:
    """GET /sessions/{id}: the session now, or as it stood after its event `?at=`"""
    only(request, "at", "lang")
    inside, say = system(request), language_of(request)
    session_id, at = request.path_params["id"], number(request, "at", least=1)
    head = await asyncio.to_thread(inside.store.head)
    await inside.follower.wait_for(head, inside.settings.read_after_seconds)

    def build() -> str:
        now = inside.sessions.get(session_id)
        if now is None:
            raise Unknown(f"There is no session {session_id!r}.")
        found = now if at is None else inside.sessions.get(session_id, at)
        if found is None:
            raise Unknown(f"Session {now.id} has no version {at}; it is at {now.version}.")
        with inside.views.reading() as db:
            made = model.session_page(db, found, newest=now.version, replay=at is not None)
        return render(request, say, "session.html", page=made)

    return page(await asyncio.to_thread(build))
