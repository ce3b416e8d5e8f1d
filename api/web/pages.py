"""`/`: what needs attention, what is running, and earlier sessions."""

import asyncio
from collections.abc import Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from api.actions.changing import fix_task
from api.http.problems import of_field
from api.http.requests import only, system
from api.node.marking import marked_list
from api.web import model
from api.web.doing import doing
from api.web.forms.sent import NOTHING
from api.web.presets import PRESETS
from api.web.rendering import language_of, page, render
from api.web.start_form import FORMS, NAMES, Filled, forms
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.values.sentences import Sentence
from projections.record.status import phrase

LOOKED = ("kind", "status", "q", "label", "owner", "repository", "from", "to", "cursor")
"""The filters of the list."""


async def home(request: Request) -> Response:
    """GET /: what needs somebody, what runs, what was; or what was looked for"""
    only(request, *LOOKED, "lang", "preset", "start", "key", *NAMES)
    return page(await _shown(request, _forms(await asyncio.to_thread(_fixing, request))))


async def again(request: Request, starting: tuple[Filled, ...], *, status: int, key: str) -> Response:
    """The page again, with a refused form."""
    return page(await _shown(request, starting), status=status, key=key)


async def _shown(request: Request, starting: tuple[Filled, ...]) -> str:
    query = request.query_params
    looked = {name: query.get(name) or None for name in LOOKED}
    if looked["kind"] is not None and looked["kind"] not in KINDS:
        raise of_field("kind", Sentence("not_one_of", choices=list(KINDS)))
    inside, say = system(request), language_of(request)
    after = inside.follower.position

    def build() -> str:
        with inside.reading() as db, inside.search.reading(looked["q"]) as index:
            home = model.home_page(db, looked, index=index, mark=partial(marked_list, inside))
        example = inside.team.example
        open_now = any(query.get(name) for name in ("preset", "start")) or any(form.words for form in starting)
        more = {"example": example, "forms": starting, "starting": open_now, "chosen": query.get("preset")}
        now = {
            "doing": partial(doing, inside.live, say),
            "phrase": partial(phrase, language=say.language),
            "after": after,
        }
        return render(request, say, "home.html", page=home, looked=looked, sent=NOTHING, **now, **more)

    return await asyncio.to_thread(build)


def _fixing(request: Request) -> Mapping[str, str]:
    """The address; with the task of a delivery that applies a review, where it names one.

    Raises Invalid for one that asks for no fix.
    """
    query = request.query_params
    if not query.get("fixes") or query.get("task"):
        return query
    name = query["fixes"]
    session = system(request).sessions.get(name) if kind_of(name) in KINDS else None
    return {**query, "task": fix_task(session)} | (
        {"workspace": session.workspace} if session and session.workspace else {}
    )


def _forms(query: Mapping[str, str]) -> tuple[Filled, ...]:
    for name, allowed in (("preset", PRESETS), ("start", FORMS)):
        if query.get(name) and query[name] not in allowed:
            raise of_field(name, Sentence("not_one_of", choices=list(allowed)))
    return forms(query)
