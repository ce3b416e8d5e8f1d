"""Shows why a session is in its state: a chain of commands, and what each of them led to."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import number, only
from api.node.session_answers import allowed
from api.system import System
from api.web.plain_text import cut
from api.web.renderer import language_of, page, render
from api.web.sentences import in_words
from api.web.session.context import SENTENCE, badge_of
from api.web.session.history import MESSAGE
from api.web.session.panels import TABS
from api.web.session.reading import as_of, reading
from domain.kinds import KINDS
from domain.orchestration.state import Orchestration
from domain.session.actions import refusal
from domain.session.state import Session
from domain.values.sentences import sentence_of
from domain.values.words import Words
from projections.record.describe import describe, person
from projections.record.explain import CAUSES, explain
from projections.record.important import is_important
from projections.record.session import view

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
        return render(
            request, say, "session_why.html", it=it, at=at, checked=checked, possible=possible, tabs=TABS, **chain
        )

    return page(await reading(request, build, shared=not checks))


def _possible(inside: System, session: Session, say: Words) -> list[tuple[str, str]]:
    """The actions that a person may take now, and why not what the kind of session takes besides: an action, and the
    reason.
    """
    can = allowed(session, inside.sessions.get)
    commands = KINDS[session.kind].from_people
    return [(each.ACTION, "" if each.ACTION in can else _reason(session, each.REFUSAL, say)) for each in commands]


def _reason(session: Session, code: str, say: Words) -> str:
    return in_words(say, sentence_of(refusal(session, code, ("none",))))


def _doer(actor: str, role: str, say: Words) -> str:
    """Says who did what a row says: a person by name; what an agent's answer has caused, Hansard did."""
    kind = actor.partition(":")[0]
    return person(actor, say.language) if kind in ("person", "key") else say.of("acting", role)


def _chain(inside: System, session: Session, say: Words) -> dict[str, Any]:
    history = inside.store.history(session.id, upto=session.version)
    explanation = explain(history, session, language=say.language)
    events = {recorded.version: recorded.event for recorded in history}
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    entries = inside.records.of(session.id, session.version).entries
    links = []
    for link in explanation.chain[-LINKS:]:
        decisive = [event for event in link.events if event.state or "pass" in event.inputs or event.type in CAUSES]
        for event in decisive or link.events[:1]:
            data = events[event.version].model_dump(mode="json", by_alias=True)
            links.append(
                {
                    "version": event.version,
                    "at": link.timestamp,
                    "who": cut(_doer(link.actor, entries[event.version - 1].role, say), 80),
                    "minor": event.type not in CAUSES and not is_important(events[event.version]),
                    "words": cut(describe(event.type, data, say.language, agents=agents, actor=link.actor), MESSAGE),
                    "state": event.state or "",
                    "cause": event.type in CAUSES,
                }
            )
    cause = explanation.cause
    return {
        "links": links,
        "cause": cause and {"version": cause.version, "lines": [cut(line, SENTENCE) for line in cause.lines[:20]]},
    }
