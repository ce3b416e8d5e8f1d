"""POST on the pages themselves: a command from a form, for browsers without scripts, and for clicks before the script
has loaded. 303 if it succeeded; otherwise the page again, with what was typed and what was wrong, and with the status
that a program would get. The page's script, which asks for JSON, only gets `{"to"}`, or `{"words", "errors"}`."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response

from api.actions.catalogue import ACTIONS
from api.actions.declaration import Action, FormOf
from api.actions.start import start_session
from api.http.guards import check_scope
from api.http.problems import of_field
from api.http.requests import NUMBER, answer_headers, only, system
from api.web import home_page, inbox_page
from api.web.form_body import body_of, command_body, places
from api.web.form_data import fields
from api.web.renderer import explicit, language_of, linker, scripted
from api.web.sent_forms import FormOutcome, Sent, hand_over, key_of, placed, told_of
from api.web.session import routes
from api.web.session.context import badge_of
from api.web.start_form import FORMS, forms
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.values.sentences import Sentence

KEY: Final = re.compile("[0-9a-f]{32}")
LONGEST: Final = 200
"""Maximum length of a session's name or state."""
TRIES: Final = 3
ENVELOPE: Final = frozenset({"key", "verb", "session", "part", "version", "state", "really"})
"""Fields that say which command it is and what its sender saw."""


VERBS: Final = {action.verb: (action, action.form) for action in ACTIONS if action.form is not None}
"""The actions that forms name, and how they do."""


class Asked(NamedTuple):
    """A command from a form: for which session, and the version and state that its sender saw."""

    action: Action[Any]
    form: FormOf
    session: str
    values: dict[str, str]
    key: str
    version: int | None
    state: str
    really: bool
    part: str

    @property
    def name(self) -> str:
        return self.action.verb

    @property
    def body(self) -> dict[str, Any]:
        return command_body(self.form, self.action.model({}), self.values)


async def start(request: Request) -> Response:
    """POST /: start a session of any kind"""
    only(request, "lang")
    form, say = await fields(request), language_of(request)
    key, kind = _key(form), form.get("start", "")
    if kind not in FORMS:
        raise of_field("start", Sentence("not_one_of", choices=list(FORMS)), status=400)
    names = [field.name for field in (*FORMS[kind].fields, *FORMS[kind].more)]
    _check_fields(form, {*names, "key", "start", "lang"})
    body, errors = body_of(FORMS[kind], form, say)
    status, words = 422, say.of("form", "not_started")
    if not errors:
        outcome = await hand_over(request, start_session, body, key=key_of(key, start_session.path, body))
        if outcome.done:
            return _to(request, "sessions", outcome.answer["sessionId"])
        errors, elsewhere = placed(outcome.answer, names)
        status, words = outcome.status, told_of(say, outcome, elsewhere, words)
    if scripted(request):
        return _redirect_with_notice(status, words, errors)
    typed = {name: form.get(name, "") for name in names} | {"start": kind}
    again = forms(typed, errors=errors, words=words)
    return await home_page.again(request, again, status=status, key=_next_key(key, status))


async def command(request: Request) -> Response:
    """POST /sessions/{id}: a command of its page"""
    only(request, "at", "lang", "tab", "by")
    sent_command = _command_of(await fields(request), request.path_params["id"])
    sent = await _carried_out(request, sent_command)
    if isinstance(sent, Sent):
        return _told_of(sent) if scripted(request) else await routes.again(request, sent)
    session = sent.answer["sessionId"] if sent_command.name == "fork" else request.path_params["id"]
    query = request.query_params
    return _to(request, "sessions", session, tab=query.get("tab"), by=query.get("by"))


async def answer(request: Request) -> Response:
    """POST /decisions: an answer to one of those that wait"""
    only(request, "cursor", "needs", "lang")
    sent = await _carried_out(request, _command_of(await fields(request), ""))
    if isinstance(sent, Sent):
        return _told_of(sent) if scripted(request) else await inbox_page.again(request, sent)
    return _to(request, "decisions", **{name: request.query_params.get(name) for name in ("cursor", "needs")})


# -- reading -----------------------------------------------------------------------------------------------------------
def _command_of(form: dict[str, str], here: str) -> Asked:
    """Raises Problem 400 for anything that our forms do not send."""
    name, session = form.get("verb", ""), form.get("session") or here
    if name not in VERBS:
        raise of_field("verb", Sentence("not_one_of", choices=list(VERBS)), status=400)
    action, way = VERBS[name]
    names = places(way, action.model({}))
    _check_fields(form, {*names, *ENVELOPE})
    state, version, part = form.get("state", ""), form.get("version", ""), form.get("part", "")
    if max(len(session), len(state), len(part)) > LONGEST or not session:
        raise of_field("session", Sentence("not_a_session_id"), status=400)
    if way.bound != bool(NUMBER.fullmatch(version)):
        raise of_field("version", Sentence("version_not_shown"), status=400)
    values = {name: value for name, value in form.items() if name in names}
    seen = int(version) if way.bound else None
    return Asked(action, way, session, values, _key(form), seen, state, form.get("really") == "yes", part)


def _key(form: dict[str, str]) -> str:
    key = form.get("key", "")
    if not KEY.fullmatch(key):
        raise of_field("key", Sentence("form_key_unknown"), status=400)
    return key


def _check_fields(form: dict[str, str], names: set[str]) -> None:
    if unknown := [name[:40] for name in form if name not in names]:
        raise of_field(unknown[0], Sentence("unknown_field"), status=400)


# -- carrying out ------------------------------------------------------------------------------------------------------
async def _carried_out(request: Request, command: Asked) -> FormOutcome | Sent:
    """Reports success, or what was wrong."""
    check_scope(request, command.action.scope)
    say = language_of(request)
    if command.form.ends and not command.really:
        errors, outcome = {"really": say("form.really")}, FormOutcome(422, {}, False)
        words = say("form.marked")
    else:
        outcome = await _knocked(request, command)
        if outcome.done:
            return outcome
        errors, elsewhere = placed(outcome.answer, places(command.form, command.action.model({})))
        for field, name in command.form.units.items():
            if field in command.values and name in errors:
                errors[field] = errors.pop(name)
        words = told_of(say, outcome, elsewhere, say("form.marked"))
    key = _next_key(command.key, outcome.status)
    return Sent(command.name, command.session, command.values, errors, words, outcome.status, key, command.part)


async def _knocked(request: Request, command: Asked) -> FormOutcome:
    """Bound to the version seen. A command that only ends or extends is bound to the newest version if the state is
    still the one that was seen: on a busy session, the version alone means little. Each try has a separate key, because
    the writer remembers refusals, too."""
    for attempt in range(TRIES):
        newest = await asyncio.to_thread(_as_seen, request, command) if command.form.again and command.state else None
        key = key_of(command.key, command.name, command.session, command.part, command.body, command.version, attempt)
        outcome = await hand_over(
            request,
            command.action,
            command.body,
            key=key,
            session=command.session,
            part=command.part,
            version=newest or command.version,
        )
        if outcome.status != 412 or (newest is None and not outcome.replayed):
            break
    return outcome


def _as_seen(request: Request, command: Asked) -> int | None:
    """The session's version, if its state is still the one that was seen."""
    is_known = kind_of(command.session) in KINDS
    session = system(request).sessions.get(command.session) if is_known else None
    return session.version if session is not None and badge_of(session) == command.state else None


def _next_key(key: str, status: int) -> str:
    """The key for the next try: a new one, unless the server may have succeeded without being able to say so."""
    return key if status >= 500 else ""


# -- answering ---------------------------------------------------------------------------------------------------------
def _told_of(sent: Sent) -> Response:
    return _redirect_with_notice(sent.status, sent.words, sent.errors)


def _redirect_with_notice(status: int, words: str, errors: Mapping[str, str]) -> Response:
    return _json(status, {"words": words, "errors": dict(errors)})


def _json(status: int, body: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(body), status, answer_headers(), media_type="application/json")


def _to(request: Request, *path: str, **query: str | None) -> Response:
    """See other: reloading the resulting page sends no command."""
    location = linker(explicit(request))(*path, **query)
    if scripted(request):
        return _json(200, {"to": location})
    return Response(status_code=303, headers=answer_headers(Location=location))
