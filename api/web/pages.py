"""`/` and `/sessions/{id}`: each address is a page, `?at=N` the session as it stood after its N-th event."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.intake import answer_headers, number, only, system
from api.problems import Problem
from api.system import System
from api.web import model
from api.web.shown import shown
from api.web.words import LANGUAGES, Language, Words, preferred, words
from domain.base import Unknown
from domain.session import Session
from domain.sessions import KINDS


def _printed(value: Any) -> Any:
    """Whatever a template prints, but the HTML that was made safe already."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = Environment(
    loader=PackageLoader("api.web"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_printed,
    trim_blocks=True,
    lstrip_blocks=True,
)


async def home(request: Request) -> Response:
    """GET /: what needs somebody, what runs, what was; or what was looked for"""
    only(request, "kind", "status", "q", "cursor", "lang")
    query = request.query_params
    looked = {name: query.get(name) or None for name in ("kind", "status", "q", "cursor")}
    if looked["kind"] is not None and looked["kind"] not in KINDS:
        raise _invalid("kind", f"should be one of {', '.join(KINDS)}")
    inside, say = system(request), language_of(request)
    after = inside.follower.position

    def build() -> str:
        with inside.views.reading() as db:
            page = model.home_page(db, **looked)
        return render(request, say, "home.html", page=page, looked=looked, after=after, example=inside.team.example)

    return _answer(await asyncio.to_thread(build))


async def session(request: Request) -> Response:
    """GET /sessions/{id}: the session now, or as it stood after its event `?at=`"""
    only(request, "at", "lang")
    inside, say = system(request), language_of(request)
    session_id, at = request.path_params["id"], number(request, "at", least=1)
    await _caught_up(inside)

    def build() -> str:
        now = inside.sessions.get(session_id)
        if now is None:
            raise Unknown(f"There is no session {session_id!r}.")
        with inside.views.reading() as db:
            page = model.session_page(db, _as_of(inside, now, at), newest=now.version, replay=at is not None)
        return render(request, say, "session.html", page=page)

    return _answer(await asyncio.to_thread(build))


def language_of(request: Request) -> Words:
    """`?lang=` beats what the browser prefers. Raises Problem for a language that the catalogue lacks."""
    asked = request.query_params.get("lang")
    if not asked:
        return words(preferred(request.headers.get("accept-language", "")))
    for language in LANGUAGES:
        if asked == language:
            return words(language)
    raise _invalid("lang", f"should be one of {', '.join(LANGUAGES)}")


def render(request: Request, say: Words, template: str, **more: Any) -> str:
    """A page; links keep a language that was asked for."""
    explicit = say.language if request.query_params.get("lang") in LANGUAGES else None
    switched = {**request.query_params, "lang": say.other}
    return _TEMPLATES.get_template(template).render(
        say=say,
        link=_linker(explicit),
        explicit=explicit,
        switch=f"{quote(request.url.path)}?{urlencode(switched)}",
        kinds=tuple(KINDS),
        icons=model.ICONS,
        **more,
    )


def _linker(language: Language | None) -> Callable[..., str]:
    def link(*path: str, **query: object) -> str:
        found = {name: value for name, value in query.items() if value not in (None, "")}
        if language:
            found["lang"] = language
        address = "/" + "/".join(quote(part, safe="") for part in path)
        return f"{address}?{urlencode(found)}" if found else address

    return link


async def _caught_up(inside: System) -> None:
    """A page shows one version, so the views must have reached what the log has."""
    head = await asyncio.to_thread(inside.store.head)
    if not await inside.follower.wait_for(head, inside.settings.read_after_seconds):
        raise Problem(503, "The views are behind the log; they are catching up.", headers={"Retry-After": "1"})


def _as_of(inside: System, now: Session, at: int | None) -> Session:
    if at is None:
        return now
    found = inside.sessions.get(now.id, at)
    if found is None:
        raise Unknown(f"Session {now.id} has no version {at}; it is at {now.version}.")
    return found


def _answer(html: str) -> Response:
    return HTMLResponse(html, headers=answer_headers(Vary="Accept-Language, Accept"))


def _invalid(name: str, detail: str) -> Problem:
    return Problem(422, f"{name}: {detail}", errors=[{"pointer": f"/{name}", "detail": detail}])
