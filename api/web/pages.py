"""`/`: what needs somebody, what runs, what was."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from api.intake import only, system
from api.web import model
from api.web.rendering import invalid, language_of, page, render
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
