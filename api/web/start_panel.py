"""The part of the start form that depends on what is typed: what is known before the start, and the command that does
the same. With the page for those without a script, and by GET /start for the page's script."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from api.actions.projects import within_roots
from api.actions.start import start_session
from api.http.guards import check_scope
from api.http.problems import of_field
from api.http.requests import answer_headers, only, system
from api.node.checkouts import checkout_of
from api.node.scopes import ScopeNeeded
from api.node.settings import Settings
from api.web.before_start import Before, before
from api.web.renderer import explicit, fragment, language_of
from api.web.start_form import FORMS, NAMES, Filled, forms
from domain.values.base import Invalid
from domain.values.sentences import Sentence

OFFERED: Final = 5
"""Folders that are offered by name."""


async def show(request: Request) -> Response:
    """GET /start: what is known before such a session starts, and the command that does the same, as JSON;
    `part=command`: the command alone"""
    only(request, "lang", "start", "part", *NAMES)
    query = request.query_params
    if query.get("start") not in FORMS:
        raise of_field("start", Sentence("not_one_of", choices=list(FORMS)))
    [filled] = [form for form in forms(query) if form.open]
    say, named = language_of(request), explicit(request)

    if query.get("part") == "command":
        return _json({"command": filled.command})

    def build() -> dict[str, Any]:
        facts = known_before(request, filled)
        html = fragment(say, named, "home_before.html", before=facts, kind=filled.form.kind)
        settings = dict(facts.settings) if facts else {}
        return {"before": html, "command": filled.command, "settings": settings}

    return _json(await asyncio.to_thread(build))


def _json(body: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(body), headers=answer_headers(), media_type="application/json")


def known_before(request: Request, filled: Filled) -> Before | None:
    """None for those who may not start sessions: they learn nothing about folders. Blocks: call it in a thread."""
    try:
        check_scope(request, start_session.scope)
    except ScopeNeeded:
        return None
    is_admin = getattr(request.state, "scope", "") == "admin"
    return before(system(request), filled.form.kind, filled.values, is_admin=is_admin)


def known_folders(settings: Settings, repositories: Iterable[str | None]) -> tuple[Path, ...]:
    """The repository that the server was started in, and those of the newest sessions: what is still there, and
    allowed."""
    here = checkout_of(Path.cwd())
    named = [str(here)] if here else []
    named += [repository for repository in repositories if repository]
    return tuple(path for path in map(Path, dict.fromkeys(named)) if _is_fit(path, settings))[:OFFERED]


def _is_fit(path: Path, settings: Settings) -> bool:
    try:
        within_roots(path, settings)
    except (Invalid, OSError):
        return False
    return path.is_dir()
