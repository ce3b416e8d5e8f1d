"""Errors for people: a page where a browser asks for a page; every other client gets the problem itself."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api import problems
from api.web.rendering import language_of, render
from api.web.words import words


async def on_error(request: Request, error: Exception) -> Response:
    """Starlette's exception handler for everything but its own HTTPException."""
    answer = await problems.on_error(request, error)
    return _page(request, answer, str(problems.of(error))) if _wants_page(request) else answer


async def on_http_exception(request: Request, error: Exception) -> Response:
    """404 and 405 of the router."""
    answer = await problems.on_http_exception(request, error)
    assert isinstance(error, HTTPException)
    detail = "" if error.status_code in (404, 405) else error.detail
    return _page(request, answer, detail) if _wants_page(request) else answer


def _wants_page(request: Request) -> bool:
    """Browsers name text/html; the API answers problems to everybody."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def _page(request: Request, problem: Response, detail: str) -> Response:
    """The same status and headers; only the body is another."""
    try:
        say = language_of(request)
    except problems.Problem:  # a language that we lack is what the page tells, in English
        say = words("en")
    named = f"error.{problem.status_code}"
    title = say(named) if named in say.messages else say("error.other")
    html = render(request, say, "error.html", title=title, status=problem.status_code, detail=detail[:2_000])
    kept = {name: value for name, value in problem.headers.items() if name not in ("content-type", "content-length")}
    return HTMLResponse(html, status_code=problem.status_code, headers={"Cache-Control": "no-store", **kept})
