"""Pages about one thing in a session: an event as a table, the output of a command or a program with numbered lines and
a search, and why the session is in its state, as a chain of commands and what each of them led to.

`/sessions/{id}/event`, `/sessions/{id}/log`, `/sessions/{id}/why`. The page's script unfolds an event in the list.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.spelling import spelled_out
from api.http.problems import of_field
from api.http.requests import answer_headers, number, only
from api.node.session_answers import allowed
from api.system import System
from api.web.plain_text import cut
from api.web.rendering import explicit, fragment, language_of, page, render, scripted
from api.web.sentences import in_words
from api.web.session.context import SENTENCE, badge_of
from api.web.session.history import MESSAGE, worded
from api.web.session.reading import as_of, reading, words_of
from api.web.session.validation_report import in_lines, looks_bad, printed, uncoloured
from domain.delivery.commands import CancelDelivery, DecideScope, ExtendBudget
from domain.discussion.commands import CancelDiscussion
from domain.orchestration.commands import AddRounds, ContinueOrchestration, ResetOrchestration
from domain.orchestration.state import Orchestration
from domain.session.actions import refusal
from domain.session.children import NO_DECISION
from domain.session.state import Session
from domain.session.turns import RetryTurn
from domain.values.sentences import Sentence, sentence_of
from domain.values.words import Words
from projections.record.describe import describe, person
from projections.record.explain import CAUSES, explain
from projections.record.session import view

FIELDS, FIELD = 80, 600
"""Fields that are shown, and characters of each."""


async def show_event(request: Request) -> Response:
    """GET /sessions/{id}/event: the event `?at=`, with its fields, its cause and its hash"""
    only(request, "at", "lang")
    say, at = language_of(request), number(request, "at", least=1)
    if at is None:
        raise of_field("at", Sentence("should_be_given"))

    def build(inside: System, now: Session, _: int) -> str:
        as_of(inside, now, at)
        card = _event(inside, now, at, say)
        if scripted(request):
            return fragment(say, explicit(request), "session_event.html", e=card)
        it = {"id": now.id, "title": view(now).title or now.id}
        return render(request, say, "session_event_page.html", it=it, e=card)

    html = await reading(request, build, shared=False)
    if not scripted(request):
        return page(html)
    return Response(orjson.dumps({"html": html}), headers=answer_headers(), media_type="application/json")


LINES, LINE, JUMPS = 10_000, 1_000, 40
"""Lines that are shown, characters of a line, and places that are linked above them."""
LONGEST: Final = 200
"""Characters of what is looked for."""


async def show_log(request: Request) -> Response:
    """GET /sessions/{id}/log: a text of the event `?at=` line by line; `q` marks the lines that have these words"""
    only(request, "at", "field", "q", "lang")
    say, at = language_of(request), number(request, "at", least=1)
    field, q = request.query_params.get("field") or None, request.query_params.get("q", "")
    if at is None:
        raise of_field("at", Sentence("should_be_given"))
    if len(q) > LONGEST:
        raise of_field("q", Sentence("too_many_characters", number=LONGEST))

    def build(inside: System, now: Session, _: int) -> str:
        excerpt = _lines(words_of(inside, now, at, field), q.strip())
        title = view(now).title or now.id
        return render(
            request, say, "session_log.html", id=now.id, title=title, at=at, field=field or "", q=q, **excerpt
        )

    return page(await reading(request, build))


_DISCUSSED: Final = (("decision", NO_DECISION), ("retry", RetryTurn.REFUSAL), ("cancel", CancelDiscussion.REFUSAL))
_ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "delivery": (
        ("decision", NO_DECISION),
        ("scope", DecideScope.REFUSAL),
        ("extend", ExtendBudget.REFUSAL),
        ("retry", RetryTurn.REFUSAL),
        ("cancel", CancelDelivery.REFUSAL),
    ),
    "orchestration": (
        ("decision", NO_DECISION),
        ("continue", ContinueOrchestration.REFUSAL),
        ("extend", AddRounds.REFUSAL),
        ("retry", RetryTurn.REFUSAL),
        ("reset", ResetOrchestration.REFUSAL),
    ),
    "review": _DISCUSSED,
    "debate": _DISCUSSED,
}
"""What each kind of session takes from a person, with how it is refused."""
LINKS: Final = 200
"""Commands of the chain that are shown, the last ones."""


async def show_why(request: Request) -> Response:
    """GET /sessions/{id}/why: the chain of causes, now or as of the event `?at=`"""
    only(request, "at", "lang", "check")
    say, at = language_of(request), number(request, "at", least=1)
    checks = request.query_params.get("check") == "1"

    def build(inside: System, now: Session, _: int) -> str:
        from adapters.proof.chain import check_chain

        then = as_of(inside, now, at)
        it = {"id": then.id, "title": view(then).title or then.id, "badge": badge_of(then), "version": then.version}
        checked = check_chain(inside.store, now.id) if checks else None
        possible = () if at else _possible(inside, now, say)
        chain = _chain(inside, then, say)
        return render(request, say, "session_why.html", it=it, at=at, checked=checked, possible=possible, **chain)

    return page(await reading(request, build, shared=not checks))


def _event(inside: System, session: Session, at: int, say: Words) -> dict[str, Any]:
    [recorded] = inside.store.history(session.id, after=at - 1, upto=at)
    data = spelled_out(inside.store, recorded).event.model_dump(mode="json", by_alias=True)
    digest = inside.store.rows.hash_of(session.id, at)
    fields = [(name, cut(str(value), FIELD)) for name, value in _flat(data) if value not in (None, "", (), {})]
    return {
        "id": session.id,
        "version": at,
        "words": worded(recorded.event, session, say.language),
        "type": recorded.event.TOPIC,
        "who": cut(person(recorded.causation.actor, say.language), 80),
        "fields": fields[:FIELDS],
        "more": len(fields) > FIELDS,
        "turn": data.get("turnId") or "",
        "command": recorded.causation.command_id,
        "cause": recorded.causation.causation_id or "",
        "hash": digest.hex() if digest else "",
    }


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its path; of a long text what the event itself holds."""
    match value:
        case {"head": str(head), "length": int(), **more} if not set(more) - {"digest", "derived"}:
            yield name, head
        case dict():
            for key, inner in value.items():
                yield from _flat(inner, f"{name}.{key}" if name else str(key))
        case list():
            for place, inner in enumerate(value):
                yield from _flat(inner, f"{name}.{place}")
        case _:
            yield name, value


def _lines(words: str, q: str) -> dict[str, Any]:
    """Numbered lines; `errors` and `matches` are the numbers of those that stand out."""
    text = uncoloured(printed(words) or in_lines(words))
    whole = text.rstrip("\n").split("\n")
    wanted = q.lower()
    lines = [
        {
            "number": place,
            "words": cut(line, LINE),
            "bad": looks_bad(line),
            "match": bool(wanted) and wanted in line.lower(),
        }
        for place, line in enumerate(whole[:LINES], start=1)
    ]
    return {
        "lines": lines,
        "count": len(whole),
        "errors": [line["number"] for line in lines if line["bad"]][:JUMPS],
        "matches": [line["number"] for line in lines if line["match"]],
        "jumps": JUMPS,
    }


def _possible(inside: System, session: Session, say: Words) -> list[tuple[str, str]]:
    """What a person may do now, and why not what the kind of session takes besides: an action, and the reason."""
    can = allowed(session, inside.sessions.get)
    return [(action, "" if action in can else _reason(session, code, say)) for action, code in _ACTIONS[session.kind]]


def _reason(session: Session, code: str, say: Words) -> str:
    return in_words(say, sentence_of(refusal(session, code, ("none",))))


def _chain(inside: System, session: Session, say: Words) -> dict[str, Any]:
    history = inside.store.history(session.id, upto=session.version)
    explanation = explain(history, session)
    events = {recorded.version: recorded.event for recorded in history}
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    links = []
    for link in explanation.chain[-LINKS:]:
        decisive = [event for event in link.events if event.state or "pass" in event.inputs or event.type in CAUSES]
        for event in decisive or link.events[:1]:
            data = events[event.version].model_dump(mode="json", by_alias=True)
            links.append(
                {
                    "version": event.version,
                    "at": link.timestamp,
                    "who": cut(person(link.actor, say.language), 80),
                    "words": cut(describe(event.type, data, say.language, agents=agents), MESSAGE),
                    "state": event.state or "",
                    "cause": event.type in CAUSES,
                }
            )
    cause = explanation.cause
    return {
        "links": links,
        "cause": cause and {"version": cause.version, "lines": [cut(line, SENTENCE) for line in cause.lines[:20]]},
    }
