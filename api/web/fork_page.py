"""`/sessions/{id}/fork`: the form of a fork, as a page of its own; the page's script shows it beside the session."""

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from api.actions.fork import fork_session
from api.http.problems import of_field
from api.http.requests import answer_headers, number, only
from api.system import System
from api.web.form_data import fields
from api.web.renderer import KEY, explicit, language_of, linker, page, render, scripted
from api.web.sent_forms import hand_over, key_of, placed, told_of
from api.web.session.answer_forms import composed
from api.web.session.otherwise import otherwise
from api.web.session.reading import as_of, reading
from domain.session.state import Session
from domain.values.sentences import Sentence

_KEY: Final = re.compile("[0-9a-f]{32}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,15}")
_ANSWERS: Final = frozenset({"approve", "findings", "verdicts", "review", "debate", "text"})
_FIELD: Final = re.compile(
    r"key|at|change|turn|text|summary|verdict|decision|amount|profile|mode|"
    r"row\.[0-9]{1,2}\.(title|detail|agent|subtask|pass|feedback|severity|description)|(agent|model)\.[^\x00-\x1f]{1,200}"
)


async def show(request: Request) -> Response:
    """GET /sessions/{id}/fork: try it differently, from the cut that belongs to the event `?at=`"""
    only(request, "at", "turn", "lang")
    at = number(request, "at", least=1)

    def build(inside: System, now: Session, _: int) -> str:
        as_of(inside, now, at)  # which there must be
        return _page(request, inside, now, at)

    return page(await reading(request, build, shared=False))


def _page(
    request: Request,
    inside: System,
    now: Session,
    at: int | None,
    values: Mapping[str, str] | None = None,
    notice: str = "",
) -> str:
    say = language_of(request)
    turn = request.query_params.get("turn", "")
    return render(
        request,
        say,
        "session_fork.html",
        id=now.id,
        kind=now.kind,
        p=otherwise(inside, now, at, turn, say),
        values=values or {},
        told=notice,
        form_key=KEY,
    )


async def fork(request: Request) -> Response:
    """POST /sessions/{id}/fork: start it, and show both side by side"""
    only(request, "lang")
    form, say, source = await fields(request), language_of(request), request.path_params["id"]
    if unknown := [name[:40] for name in form if not _FIELD.fullmatch(name)]:
        raise of_field(unknown[0], Sentence("unknown_field"), status=400)
    if not _KEY.fullmatch(form.get("key", "")):
        raise of_field("key", Sentence("form_key_unknown"), status=400)
    if not _NUMBER.fullmatch(form.get("at", "")):
        raise of_field("at", Sentence("version_not_shown"), status=400)
    body = body_of(form)
    outcome = await hand_over(
        request, fork_session, body, key=key_of(form["key"], fork_session.path, source, body), session=source
    )
    if outcome.done:
        location = linker(explicit(request))("compare", a=source, b=outcome.answer["sessionId"])
        if scripted(request):
            return _json(200, {"to": location})
        return Response(status_code=303, headers=answer_headers(Location=location))
    errors, elsewhere = placed(outcome.answer, ())
    words = told_of(say, outcome, elsewhere, say("form.marked"))
    if scripted(request):
        return _json(outcome.status, {"words": words, "errors": errors})

    def build(inside: System, now: Session, _: int) -> str:
        return _page(request, inside, now, int(form["at"]), form, words)

    return page(await reading(request, build, shared=False), status=outcome.status)


def body_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The body of the fork that the fields describe."""
    change = form.get("change", "")
    body: dict[str, Any] = {"atVersion": int(form["at"]), "mode": form.get("mode") or "stop"}
    substitute: dict[str, Any] = {}
    if change in _ANSWERS:
        turn = {"turnId": form["turn"]} if form.get("turn") else {}
        substitute = {"answer": {"text": composed(change, form), **turn}}
    elif change == "decision":
        substitute = {"decision": form.get("decision", "")}
    elif change in ("addIterations", "addRounds"):
        amount = form.get("amount", "")
        substitute = {"budget": {change: int(amount) if _NUMBER.fullmatch(amount) else amount}}
    elif change == "profile":
        substitute = {"profile": form.get("profile", "")}
    body |= {"substitute": substitute} if substitute else {}
    agents, models = _named(form, "agent."), _named(form, "model.")
    body |= {"agents": agents} if agents else {}
    return body | ({"model": models} if models else {})


def _named(form: Mapping[str, str], prefix: str) -> dict[str, str]:
    pairs = {name.removeprefix(prefix): value.strip() for name, value in form.items() if name.startswith(prefix)}
    return {name: value for name, value in pairs.items() if value}


def _json(status: int, body: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(body), status, answer_headers(), media_type="application/json")
