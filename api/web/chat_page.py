"""`/chat` and `/chat/{origin}`: conversations as threads, with their runs, and a box for the next message: to the team,
or what an unclear one was meant to be."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.actions.control import cancel_session
from api.actions.conversation import continue_latest, receive_message, reset_latest
from api.actions.declaration import Action
from api.http.guards import check_scope
from api.http.problems import of_field
from api.http.requests import caught_up, only, system
from api.system import System
from api.web import model
from api.web.form_commands import KEY
from api.web.form_data import fields
from api.web.plain_text import cut
from api.web.renderer import explicit, language_of, linker, page, render
from api.web.sent_forms import FormOutcome, hand_over, key_of, placed, told_of
from api.web.session.context import SENTENCE, tame
from api.web.step import doing
from domain.channel import Channel, channel_id
from domain.orchestration.state import Orchestration
from domain.values.base import Unknown, iso
from domain.values.sentences import Sentence
from domain.values.words import Language, Words
from projections.engine.ports import Database
from projections.record.session import view
from projections.record.status import outcome
from projections.sessions import conversations, overview
from projections.views.conversations import ConversationView

LISTED: Final = 100
"""Conversations in the list."""
NAME: Final = 48
"""Characters of the first message that name a conversation without a name."""
LONG: Final = 8_000
"""Characters of a message that are shown."""


@dataclass(frozen=True, slots=True)
class ChatSent:
    """The result of a message that started nothing: what it may mean, or why not. Empty if nothing was sent."""

    status: int = 200
    words: str = ""
    suggestions: tuple[str, ...] = ()
    typed: Mapping[str, str] = field(default_factory=dict)
    key: str = ""


NOTHING_SENT: Final = ChatSent()


async def show(request: Request) -> Response:
    """GET /chat, /chat/{origin}: the conversations, and one of them"""
    only(request, "lang")
    return await shown(request, NOTHING_SENT)


async def shown(request: Request, sent: ChatSent) -> Response:
    """The page, after a message that started nothing, with the reason."""
    inside, say = system(request), language_of(request)
    origin = request.path_params.get("origin", "")
    await caught_up(request, await asyncio.to_thread(inside.store.head))
    after = inside.follower.position

    def build() -> str:
        with inside.reading() as db:
            recent = conversations.newest_first(db).items[:LISTED]
            thread = _thread(db, inside, origin, say.language) if origin else None
        return render(
            request,
            say,
            "chat.html",
            origin=origin,
            listed=recent,
            found=thread,
            after=after,
            sent=sent,
            doing=partial(doing, inside.live, say),
            language=explicit(request) or "",
        )

    return page(await asyncio.to_thread(build), status=sent.status, key=sent.key)


FIELDS: Final = ("origin", "prompt", "workspace", "triage")
MEANT: Final[dict[str, Action[Any]]] = {action.verb: action for action in (continue_latest, reset_latest)}
"""The possible meanings of a message, according to the form."""


async def say_something(request: Request) -> Response:
    """POST /chat, /chat/{origin}: sent twice it is one message"""
    only(request, "lang")
    form = await fields(request)
    unknown = [name[:40] for name in form if name not in (*FIELDS, "key", "meant", "session")]
    if unknown or not KEY.fullmatch(form.get("key", "")):
        name, sentence = (unknown[0], "unknown_field") if unknown else ("key", "form_key_unknown")
        raise of_field(name, Sentence(sentence), status=400)
    origin = request.path_params.get("origin") or form.get("origin", "").strip()
    origin = origin or _new_name(form.get("prompt", ""), form["key"])
    outcome = await _carried_out(request, form, origin)
    sent = _outcome_of(language_of(request), outcome, form)
    if sent is not None:
        return await shown(request, sent)
    return RedirectResponse(linker(explicit(request))("chat", origin), 303)


def _new_name(prompt: str, key: str) -> str:
    """The beginning of the message, and a mark of the form: sent twice it is one conversation, and no other has its
    name. "" of a message without words."""
    line = " ".join(prompt.replace("/", " ").split())
    if not line:
        return ""
    return f"{line if len(line) <= NAME else f'{line[: NAME - 1].rstrip()}…'} · {key[:4]}"


class RunCard(NamedTuple):
    """A run: what it is and its result; `rounds` are the present one and the last."""

    id: str
    title: str
    badge: str
    mode: str
    rounds: tuple[int | None, int | None] | None
    at_work: Sequence[tuple[str, str]]
    cost: str
    time: str
    began: str
    branch: str
    files: int
    lines: model.LineCount
    error: str


class Bubble(NamedTuple):
    """A message of a person or of the team; `queued`: it waits for the run before it."""

    who: Literal["person", "team"]
    at: str
    text: Markup | str
    name: str = ""
    run: RunCard | None = None
    queued: bool = False


class RunNamed(NamedTuple):
    id: str
    title: str
    badge: str


class ThreadResult(NamedTuple):
    branch: str
    files: int
    lines: model.LineCount
    session: str


class Thread(NamedTuple):
    messages: Sequence[Bubble]
    waiting: RunNamed | None
    running: RunNamed | None
    result: ThreadResult | None
    workspace: str
    runs: int
    cost: str
    time: str


def _thread(db: Database, inside: System, origin: str, language: Language) -> Thread:
    """Raises Unknown for a conversation without messages."""
    channel = inside.sessions.get(channel_id(origin))
    conversation = conversations.conversation(
        db, origin, inside.sessions.get, channel if isinstance(channel, Channel) else None
    )
    if conversation is None:
        raise Unknown(Sentence("conversation_not_found", origin=origin))
    ids = list(dict.fromkeys(line.session_id for line in conversation.messages))
    sessions = [loaded for name in ids if isinstance(loaded := inside.sessions.get(name), Orchestration)]
    return Thread(
        messages=_messages(db, conversation, {session.id: session for session in sessions}, language),
        waiting=_run(db, conversation.waiting) if conversation.waiting else None,
        running=_run(db, conversation.running) if conversation.running else None,
        result=_result(conversation),
        workspace=next((session.workspace for session in reversed(sessions) if session.workspace), ""),
        runs=len(sessions),
        cost=model.money(_sum(session.spent.cost_micros for session in sessions)),
        time=model.clock(sum(session.updated_at - session.created_at for session in sessions)),
    )


def _messages(
    db: Database, conversation: ConversationView, sessions: Mapping[str, Orchestration], language: Language
) -> list[Bubble]:
    """The messages, each request of a person followed by the team's answer."""
    answers = {line.session_id: line for line in conversation.messages if line.author == "team"}
    bubbles: list[Bubble] = []
    for line in conversation.messages:
        if line.author == "team":
            continue
        answer, session = answers.get(line.session_id), sessions.get(line.session_id)
        queued = session is None and answer is None
        bubbles.append(Bubble("person", line.at, cut(line.text, LONG), name=_name(db, line.session_id), queued=queued))
        if session is not None:
            text = tame(cut(outcome(view(session).wire(), language), LONG)) if answer else ""
            bubbles.append(Bubble("team", answer.at if answer else line.at, text, run=_card(db, session)))
    return bubbles


def _name(db: Database, session_id: str) -> str:
    """The sender of the message; empty without keys."""
    item = overview.item(db, session_id)
    return model.owner(item.owner or "") if item else ""


def _card(db: Database, session: Orchestration) -> RunCard | None:
    item = overview.item(db, session.id)
    changed = session.changes.files if session.changes else ()
    if item is None:
        return None
    return RunCard(
        id=item.id,
        title=item.title or item.id,
        badge=model.badge(item),
        mode=session.mode or "",
        rounds=(item.round, item.last_round) if session.mode == "orchestrated" else None,
        at_work=[(cut(turn.agent, 60), turn.turn_id) for turn in item.outstanding_turns if turn.work != "wait"],
        cost=model.money(session.spent.cost_micros),
        time=model.clock(session.updated_at - session.created_at),
        began=iso(session.created_at),
        branch=cut(session.branch or "", 120),
        files=len(changed),
        lines=model.line_count((file.added, file.removed) for file in changed),
        error=cut(session.last_error or "", SENTENCE) if item.status == "partial" else "",
    )


def _run(db: Database, session_id: str) -> RunNamed:
    item = overview.item(db, session_id)
    return RunNamed(session_id, (item and item.title) or session_id, model.badge(item) if item else "")


def _result(conversation: ConversationView) -> ThreadResult | None:
    result = conversation.result
    if result is None:
        return None
    return ThreadResult(
        branch=cut(result.branch or "", 120),
        files=len(result.files),
        lines=model.line_count((file.added, file.removed) for file in result.files),
        session=_of_result(conversation),
    )


def _of_result(conversation: ConversationView) -> str:
    """The session whose branch it is."""
    branch = conversation.result.branch if conversation.result else None
    ids: Sequence[str] = [line.session_id for line in reversed(conversation.messages)]
    return next((name for name in ids if branch and name in branch), "")


def _sum(costs: Iterable[int | None]) -> int | None:
    numbers = [cost for cost in costs if cost is not None]
    return sum(numbers) if numbers else None


async def _carried_out(request: Request, form: dict[str, str], origin: str) -> FormOutcome:
    meant, key = form.get("meant", ""), form["key"]
    if meant == "cancel":
        name = form.get("session", "")
        check_scope(request, cancel_session.scope)
        return await hand_over(request, cancel_session, {}, key=key_of(key, meant, name), session=name)
    action = MEANT.get(meant, receive_message)
    check_scope(request, action.scope)
    body = {"origin": origin} if meant in MEANT else _body(form, origin)
    return await hand_over(request, action, body, key=key_of(key, action.path, body))


def _body(form: dict[str, str], origin: str) -> dict[str, str]:
    """An empty field counts as missing."""
    typed = {name: form.get(name, "").strip() for name in ("prompt", "workspace", "triage")}
    return {"origin": origin} | {name: value for name, value in typed.items() if value or name == "prompt"}


def _outcome_of(say: Words, outcome: FormOutcome, form: dict[str, str]) -> ChatSent | None:
    """None if it was accepted."""
    answer, typed = outcome.answer, {name: form.get(name, "") for name in FIELDS}
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
