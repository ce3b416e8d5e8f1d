"""`/login`: exchanges a key for a cookie, if the server uses keys; shows who is signed in, and signs out."""

import asyncio
import re
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import Problem
from api.http.requests import answer_headers, only, system
from api.node.access import Logins
from api.web.form_data import fields
from api.web.renderer import explicit, language_of, linker, page, render
from domain.values.base import iso
from domain.values.sentences import Sentence
from domain.values.words import Words

HOME: Final = "/"
LONGEST: Final = 4_000
"""Maximum length of an address to return to."""
_OURS: Final = re.compile(r"/(?![/\\])[!-~]*")
"""A path on this server: one that begins with two slashes would be on another one."""
_AHEAD: Final = ("sec-purpose", "purpose", "x-purpose", "x-moz")
"""The headers that browsers send when they load a page before anybody asks for it."""
_NO_PERSON: Final = re.compile(r"bot\b|crawl|spider|preview|externalhit|whatsapp|unfurl|scanner", re.IGNORECASE)
"""In the names of programs that look at links in messages."""


async def show(request: Request) -> Response:
    """GET /login: who one is, or the form; `once` is the token of a link that signs in"""
    only(request, "lang", "once")
    logins, token = system(request).logins, request.query_params.get("once")
    if logins is None:
        return _away(linker(explicit(request))())
    if token is None or _is_preview(request):
        early = token is not None and any(name in request.headers for name in _AHEAD)
        return page(_shown(request, language_of(request)), status=503 if early else 200)  # 503: not to be kept
    name = await asyncio.to_thread(logins.redeem, token)
    if name is None:
        return page(_shown(request, language_of(request), wrong="login_used"), status=401)
    return _signed_in(request, logins, name, HOME)


def _is_preview(request: Request) -> bool:
    """Returns whether nobody has opened the link yet: such a look at it does not use it up."""
    headers = request.headers
    return (
        request.method == "HEAD"
        or any(name in headers for name in _AHEAD)
        or headers.get("sec-fetch-mode", "navigate") != "navigate"
        or _NO_PERSON.search(headers.get("user-agent", "")) is not None
    )


async def sign_in(request: Request) -> Response:
    """POST /login: a cookie for the owner of the key"""
    only(request, "lang")
    logins = system(request).logins
    if logins is None:
        return _away(linker(explicit(request))())
    form = await fields(request)
    back = _ours(form.get("back", ""))
    address = request.client.host if request.client else ""
    name = logins.keys.name_of(form.get("apiKey", "").strip())
    if name is None:
        # Only a wrong key is slowed down: behind a proxy, people with good ones share the address of who guesses.
        if wait := logins.guesses.wait(address):
            raise Problem(429, Sentence("too_many_sign_ins", seconds=wait), headers={"Retry-After": str(wait)})
        logins.guesses.wrong(address)
        return page(_shown(request, language_of(request), back=back, wrong="login_wrong"), status=401)
    return _signed_in(request, logins, name, back)


def _signed_in(request: Request, logins: Logins, name: str, back: str) -> Response:
    answer = _away(back)
    _give(request, answer, logins, logins.issue(name), logins.seconds)
    return answer


async def sign_out(request: Request) -> Response:
    """POST /logout: the cookie is taken back"""
    only(request, "lang")
    await fields(request)
    logins = system(request).logins
    answer = _away(linker(explicit(request))("login"))
    if logins is not None:
        _give(request, answer, logins, "", 0)
    return answer


def login_form(request: Request, say: Words) -> str:
    """The form in place of a page that requires a key; data that was sent there has to be sent again."""
    path, query = quote(request.scope["path"]), request.url.query
    seen = request.method in ("GET", "HEAD")
    return _shown(request, say, back=_ours(f"{path}?{query}" if query else path) if seen else HOME)


def _shown(request: Request, say: Words, *, back: str = HOME, wrong: str = "") -> str:
    """`wrong` names the message that says why one is not signed in."""
    person = getattr(request.state, "actor", "").removeprefix("person:")
    logins = system(request).logins
    key = logins.keys.named(person) if logins is not None and person else None
    end = logins.end_of(request.cookies.get(logins.cookie, "")) if logins is not None else None
    return render(
        request,
        say,
        "login.html",
        person=person,
        scope=key.scope if key else "",
        expires=_moment(key.expires) if key else "",
        until=_moment(end),
        back=back,
        wrong=wrong,
    )


def _moment(seconds: int | None) -> str:
    return "" if seconds is None else iso(seconds * 1000)


def _ours(back: str) -> str:
    return back if len(back) <= LONGEST and _OURS.fullmatch(back) else HOME


def _away(to: str) -> Response:
    return Response(status_code=303, headers=answer_headers(Location=to))


def _give(request: Request, answer: Response, logins: Logins, value: str, seconds: int) -> None:
    """Scripts cannot read the cookie, and pages of other sites cannot send commands with it."""
    secure = request.url.scheme == "https"
    answer.set_cookie(logins.cookie, value, max_age=seconds, secure=secure, httponly=True, samesite="strict")
