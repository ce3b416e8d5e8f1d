"""POST /chat, /chat/{origin}: a message to the team, or what an unclear one was meant to be."""

from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api import actions
from api.http.guards import check_scope
from api.http.idempotency import Action
from api.http.problems import of_field
from api.http.requests import only
from api.web.chat_page import ChatSent, shown
from api.web.forms.commands import KEY
from api.web.forms.passing import FormOutcome, fields, hand_over, key_of
from api.web.forms.sent import placed, told_of
from api.web.rendering import explicit, language_of, linker
from domain.values.sentences import Sentence
from domain.values.words import Words

FIELDS: Final = ("origin", "prompt", "workspace", "triage")
MEANT: Final[dict[str, tuple[str, Action]]] = {
    "continue": ("/api/orchestrate/continue", actions.continue_latest),
    "reset": ("/api/orchestrate/reset", actions.reset_latest),
}
"""What a message may have been meant to be, according to the form."""


async def say_something(request: Request) -> Response:
    """POST /chat, /chat/{origin}: sent twice it is one message"""
    only(request, "lang")
    form = await fields(request)
    unknown = [name[:40] for name in form if name not in (*FIELDS, "key", "meant", "session")]
    if unknown or not KEY.fullmatch(form.get("key", "")):
        name, sentence = (unknown[0], "unknown_field") if unknown else ("key", "form_key_unknown")
        raise of_field(name, Sentence(sentence), status=400)
    origin = request.path_params.get("origin") or form.get("origin", "").strip()
    outcome = await _carried_out(request, form, origin)
    sent = _outcome_of(language_of(request), outcome, form)
    if sent is not None:
        return await shown(request, sent)
    return RedirectResponse(linker(explicit(request))("chat", origin), 303)


async def _carried_out(request: Request, form: dict[str, str], origin: str) -> FormOutcome:
    meant, key = form.get("meant", ""), form["key"]
    if meant == "cancel":
        name = form.get("session", "")
        path = f"/api/sessions/{quote(name, safe='')}/cancel"
        check_scope(request, "POST", "/api/sessions/{id}/cancel")
        return await hand_over(request, actions.cancel, path, {}, key=key_of(key, path), session=name)
    path, action = MEANT.get(meant, ("/api/message", actions.message))
    check_scope(request, "POST", path)
    body = {"origin": origin} if meant in MEANT else _body(form, origin)
    return await hand_over(request, action, path, body, key=key_of(key, path, body))


def _body(form: dict[str, str], origin: str) -> dict[str, str]:
    """An empty field counts as missing."""
    typed = {name: form.get(name, "").strip() for name in ("prompt", "workspace", "triage")}
    return {"origin": origin} | {name: value for name, value in typed.items() if value or name == "prompt"}


def _outcome_of(say: Words, outcome: FormOutcome, form: dict[str, str]) -> ChatSent | None:
    """None if it was accepted."""
    answer, typed = outcome.told, {name: form.get(name, "") for name in FIELDS}
    action = answer.get("action")
    if action == "unclear":
        return ChatSent(words=say("chat_unclear"), suggestions=tuple(answer["suggestions"]), typed=typed)
    if action == "rejected":
        return ChatSent(status=409, words=say.of("chat_rejected", str(answer.get("reason"))), typed=typed)
    if outcome.done:
        return None
    errors, elsewhere = placed(answer, FIELDS)
    words = " ".join([told_of(say, outcome, elsewhere, ""), *errors.values()]).strip()
    key = form["key"] if outcome.status >= 500 else ""
    return ChatSent(outcome.status, words, typed=typed, key=key)
