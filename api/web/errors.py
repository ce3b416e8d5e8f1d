"""Errors for people: a page if a browser asks for one, the problem in the reader's language for the page's script. All
other clients, and all API requests, get the problem itself."""

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.http import problems
from api.web import login_page
from api.web.renderer import language_of, needs, render, scripted
from api.web.sentences import told_in, words
from domain.values.words import Words


async def on_error(request: Request, error: Exception) -> Response:
    """Starlette's exception handler for everything but its own HTTPException."""
    return _respond(request, await problems.on_error(request, error))


async def on_http_exception(request: Request, error: Exception) -> Response:
    """404 and 405 of the router: the title is enough for their page."""
    answer = await problems.on_http_exception(request, error)
    return _respond(request, answer, shown=answer.status_code not in (404, 405))


def _respond(request: Request, problem: Response, *, shown: bool = True) -> Response:
    """The same status and headers, only with another body. `shown`: the page contains more than its title."""
    paged = "text/html" in request.headers.get("accept", "")
    if request.url.path.startswith("/api/") or not (paged or scripted(request)):
        return problem
    say = _language(request)
    data = orjson.loads(bytes(problem.body))
    body = told_in(say, data)
    if paged:
        session = data["params"]["id"] if data.get("code") == "session_version_beyond" else ""
        return _page(request, say, problem, body["detail"] if shown else "", session)
    headers = _without(problem, "content-length")
    return Response(orjson.dumps(body), status_code=problem.status_code, headers=headers)


def _language(request: Request) -> Words:
    try:
        return language_of(request)
    except problems.Problem:  # an unsupported language falls back to English
        return words("en")


def _page(request: Request, say: Words, problem: Response, detail: str, session: str = "") -> Response:
    if problem.status_code == 401:
        html = login_page.login_form(request, say)
    else:
        named = f"error.{problem.status_code}"
        title = say(named) if named in say.messages else say("error.other")
        words = detail[:2_000]
        html = render(
            request,
            say,
            "error.html",
            title=title,
            status=problem.status_code,
            detail=words,
            session=session,
            **({"needs": needs(request)} if problem.status_code == 404 else {}),
        )
    headers = _without(problem, "content-type", "content-length") | _once_more(request, problem)
    return HTMLResponse(html, status_code=problem.status_code, headers={"Cache-Control": "no-store", **headers})


def _once_more(request: Request, problem: Response) -> dict[str, str]:
    """A link on another site carries no cookie: the answer makes the browser load the address again, from here, with
    the cookie. It then says that it comes from the same site, and is not redirected again."""
    foreign = request.headers.get("sec-fetch-site") == "cross-site" and request.method == "GET"
    return {"Refresh": "0"} if problem.status_code == 401 and foreign else {}


def _without(problem: Response, *names: str) -> dict[str, str]:
    return {name: value for name, value in problem.headers.items() if name not in names}
