"""Renders templates into pages: the template environment, and the languages of pages."""

import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.http.problems import of_field
from api.http.requests import answer_headers, system
from api.node.scopes import includes
from api.web import model, svg, waiting_item
from api.web.assets import SCRIPT, SHEET
from api.web.plain_text import in_line, shown
from api.web.sentences import in_words, words
from domain.kinds import KINDS
from domain.values.sentences import Sentence
from domain.values.words import LANGUAGES, Language, Words, preferred
from projections.sessions import inbox

Link = Callable[..., str]

_APART: Final = frozenset({"error.html", "login.html"})
"""Pages without data from the log: strangers see them, too, and they work if the log cannot be read."""

KEY: Final = secrets.token_hex(16)
"""The placeholder for the key of a page's forms: one page is rendered for many tabs, each of which has a separate
key."""


def _printed(value: Any) -> Any:
    """Whatever a template prints, but the HTML that was made safe already."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _compiled() -> FileSystemBytecodeCache | None:
    """Templates compiled at an earlier start, in a folder that only this user can write."""
    with suppress(RuntimeError):  # Jinja found no such folder: they are compiled again
        return FileSystemBytecodeCache()
    return None


_TEMPLATES = Environment(
    loader=PackageLoader("api.web"),
    bytecode_cache=_compiled(),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_printed,
    trim_blocks=True,
    lstrip_blocks=True,
)


def warm() -> None:
    """Compile every template, which takes half a second in total, before anyone waits for a page. Those that no page
    has needed yet stay on the disk."""
    templates = _TEMPLATES.overlay(cache_size=0) if _TEMPLATES.bytecode_cache else _TEMPLATES
    for name in templates.list_templates(extensions=["html"]):
        templates.get_template(name)


def language_of(request: Request) -> Words:
    """`?lang=` overrides the browser's preference. Raises Problem for a language that is not in the catalogue."""
    choice = request.query_params.get("lang")
    if not choice:
        return words(preferred(request.headers.get("accept-language", "")))
    for language in LANGUAGES:
        if choice == language:
            return words(language)
    raise of_field("lang", Sentence("not_one_of", choices=list(LANGUAGES)))


def scripted(request: Request) -> bool:
    """True if a page's own script asks: it names JSON, while browsers name HTML."""
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def may_send(request: Request) -> Callable[[str], bool]:
    """Return what says of a command's verb whether the caller's key may send it: pages show no other forms."""
    held, scopes = getattr(request.state, "scope", None), request.app.state.scopes
    return lambda verb: includes(held, scopes[verb])


def explicit(request: Request) -> Language | None:
    """The language in the address itself; links keep it."""
    choice = request.query_params.get("lang")
    return next((language for language in LANGUAGES if choice == language), None)


def render(request: Request, say: Words, template: str, **more: Any) -> str:
    """A page; links keep a language that was asked for."""
    named, path = explicit(request), quote(request.url.path)
    switched = [(key, value) for key, value in request.query_params.multi_items() if key != "lang"]
    return fragment(
        say,
        named,
        template,
        explicit=named,
        here=f"{path}?{request.url.query}" if request.url.query else path,
        switch=f"{path}?{urlencode([*switched, ('lang', say.other)])}",
        key=KEY,
        may=may_send(request),
        keyed=system(request).logins is not None,
        who=model.owner(getattr(request.state, "actor", "")),
        sheet=SHEET,
        script=SCRIPT,
        as_of=_stale(request),
        **({} if template in _APART else {"needs": needs(request)}),
        **more,
    )


def _stale(request: Request) -> int | None:
    """The position of the views while they cannot follow the log."""
    follower = system(request).follower
    return None if follower.failing is None else follower.position


def needs(request: Request) -> int:
    """The number of items that wait for a person; of decisions by several, those in which the reader has a part."""
    actor = getattr(request.state, "actor", "")
    with system(request).views.reading() as db:
        theirs = sum(waiting_item.waits_for_others(actor, approval) for approval in inbox.ballots(db))
        return sum(inbox.counts(db).values()) - theirs


def fragment(say: Words, named: Language | None, template: str, **more: Any) -> str:
    """A part of a page: a pure function of what it is given."""
    loaded = _TEMPLATES.get_template(template)
    return loaded.render(
        say=say,
        link=linker(named),
        kinds=tuple(KINDS),
        icons=model.ICONS,
        icon_of=model.icon_of,
        drawn=svg,
        own=partial(in_words, say),
        in_line=in_line,
        **more,
    )


def linker(language: Language | None) -> Link:
    def link(*path: str, **query: object) -> str:
        parameters = {name: value for name, value in query.items() if value not in (None, "", ())}
        if language:
            parameters["lang"] = language
        address = "/" + "/".join(quote(part, safe="") for part in path)
        return f"{address}?{urlencode(parameters, doseq=True)}" if parameters else address

    return link


def page(html: str, *, status: int = 200, key: str = "") -> Response:
    """The answer; its forms get that key, or a new one."""
    made = html.replace(KEY, key or secrets.token_hex(16))
    return HTMLResponse(made, status_code=status, headers=answer_headers(Vary="Accept-Language, Accept"))
