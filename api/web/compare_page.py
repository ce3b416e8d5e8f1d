"""`/compare?a=&b=`: two sessions side by side, from their first difference on, and in figures."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.texts import whole
from api.http.requests import caught_up, number, only, system
from api.system import System
from api.web import model
from api.web.plain_text import cut
from api.web.rendering import explicit, language_of, page, render
from api.web.session.context import PanelContext
from api.web.session.history import MESSAGE
from api.web.session.overview import head
from api.web.session.panels import Gallery
from api.web.session.reading import as_of, gallery
from api.web.session.turns import turns_of
from domain.convergence.profiles import PROFILES
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.kinds import KINDS
from domain.orchestration.state import Orchestration
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.describe import describe
from projections.record.diff import EventPair, beside
from projections.record.trail import tone_of
from projections.sessions import overview

FIELDS: Final = 4
"""How many differing fields are named of two events with the same words."""
FORKS: Final = 50
"""How many forks of a session are listed."""


async def show(request: Request) -> Response:
    """GET /compare: where two sessions part; without both, which ones"""
    only(request, "a", "b", "atA", "atB", "lang")
    say, inside = language_of(request), system(request)
    await caught_up(request, await asyncio.to_thread(inside.store.head))
    ids = [request.query_params.get(name, "").strip() for name in ("a", "b")]
    at = [number(request, name, least=1) for name in ("atA", "atB")]

    def build() -> str:
        sides = [_read(inside, name, version) for name, version in zip(ids, at, strict=True)]
        comparison = None if None in sides else _compared(gallery(request), inside, [one for one in sides if one], say)
        family = _family(inside, sides[0]) if sides[0] else ()
        forked = _forkable(sides[0]) if sides[0] else None
        return render(
            request,
            say,
            "compare.html",
            ids=ids,
            found=comparison,
            family=family,
            fork=forked,
            language=explicit(request),
        )

    return page(await asyncio.to_thread(build))


def _read(inside: System, session_id: str, at: int | None) -> Session | None:
    """None if none is named. Raises Unknown."""
    if not session_id:
        return None
    session = inside.sessions.get(session_id) if kind_of(session_id) in KINDS else None
    if session is None:
        raise Unknown(Sentence("session_not_found", id=session_id))
    return as_of(inside, session, at)


def _compared(panels: Gallery, inside: System, sessions: Sequence[Session], say: Words) -> dict[str, Any]:
    sides = [panels.context(session, say) for session in sessions]
    a, b = (inside.store.history(session.id, upto=session.version) for session in sessions)
    aligned = beside(a, b, partial(whole, inside.store))
    return {
        "sides": [_side(context) for context in sides],
        "common": aligned.common,
        "hashes": _hashes(inside, sessions, aligned.common),
        "pairs": [_pair(pair, sides) for pair in aligned.pairs],
        "more": aligned.more,
        "same": not aligned.pairs,
        "figures": _figures(sides),
    }


def _hashes(inside: System, sessions: Sequence[Session], common: int) -> list[str]:
    """The hash of the last event that both have in common, in each; one where they are the same."""
    found = (inside.store.rows.hash_of(session.id, common) for session in sessions) if common else ()
    return list(dict.fromkeys(f"{digest.hex()[:4]}…{digest.hex()[-4:]}" for digest in found if digest))


def _side(context: PanelContext) -> dict[str, Any]:
    session = context.session
    return {
        "id": session.id,
        "kind": session.kind,
        "title": context.it["title"] or session.id,
        "badge": context.badge,
        "version": session.version,
        "forked_from": session.forked_from,
        "head": head(context),
    }


def _pair(pair: EventPair, sides: Sequence[PanelContext]) -> dict[str, Any]:
    a, b = (one and _event_card(one, context) for one, context in zip((pair.a, pair.b), sides, strict=True))
    hidden = not pair.same and a and b and a["words"] == b["words"]
    fields = dict.fromkeys(_SAME_THING.get(field, field) for field in pair.fields) if hidden else ()
    return {"a": a, "b": b, "same": pair.same, "fields": list(fields)[:FIELDS]}


_SAME_THING: Final = {"context": "prompt", "patch": "changes", "finalSummary": "summary", "content": "text"}
"""Fields that have the same name on the page."""


def _event_card(recorded: Recorded, context: PanelContext) -> dict[str, Any]:
    event, session = recorded.event, context.session
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    data, actor = event.model_dump(mode="json", by_alias=True), recorded.causation.actor
    words = describe(event.TOPIC, data, context.language, agents=agents, actor=actor)
    tone = tone_of(event)
    return {"version": recorded.version, "words": cut(words, MESSAGE), "tone": tone, "session": session.id}


# -- figures -----------------------------------------------------------------------------------------------------------


def _figures(sides: Sequence[PanelContext]) -> list[dict[str, Any]]:
    """Each figure of both, and the difference; figures that neither has are left out."""
    a, b = (_counted(context) for context in sides)
    rows = []
    for name, shown in _SHOWN.items():
        one, other = a[name], b[name]
        if one is None and other is None:
            continue
        less = None if one is None or other is None else other - one
        sign = "" if less is None or less == 0 else "+" if less > 0 else "−"
        delta = "" if less is None else sign + shown(abs(less))
        rows.append({"name": name, "a": _or_dash(one, shown), "b": _or_dash(other, shown), "delta": delta})
    return rows


def _or_dash(value: int | None, shown: Any) -> str:
    return "–" if value is None else str(shown(value))


_SHOWN: Final[Mapping[str, Any]] = {
    "rounds": str,
    "time": model.clock,
    "waited": model.clock,
    "cost": model.money,
    "tokens": "{:,}".format,
    "turns": str,
    "blocking": str,
    "failing": str,
    "files": str,
    "added": str,
    "removed": str,
}


def _counted(context: PanelContext) -> dict[str, int | None]:
    session, turns = context.session, turns_of(context)
    outcomes = context.past(context.trail.outcomes)
    entries = context.record.entries[: context.version]
    delivered = isinstance(session, Delivery)
    changed = (context.it.get("result") or {}).get("files")
    return {
        "rounds": _rounds(session),
        "time": context.elapsed_ms,
        "waited": context.waited_ms if delivered else None,
        "cost": session.spent.cost_micros,
        "tokens": session.spent.tokens,
        "turns": len(turns),
        "blocking": sum(len(mark.issues) for mark in outcomes) if delivered else None,
        "failing": sum(entry.topic == "delivery.validation_failed" for entry in entries) if delivered else None,
        "files": len(changed) if changed is not None else None,
        "added": sum(file["added"] or 0 for file in changed) if changed is not None else None,
        "removed": sum(file["removed"] or 0 for file in changed) if changed is not None else None,
    }


def _rounds(session: Session) -> int | None:
    match session:
        case Delivery():
            return session.iteration
        case Orchestration():
            return session.round
        case Discussion():
            return len(session.rounds)
        case _:
            return None


# -- family ------------------------------------------------------------------------------------------------------------


def _family(inside: System, session: Session) -> list[dict[str, Any]]:
    """The session, what it was forked from, and its forks, oldest first."""
    with inside.reading() as db:
        source = overview.item(db, session.forked_from) if session.forked_from else None
        own = overview.item(db, session.id)
        members = [source, own, *overview.forks(db, session.id, FORKS)]
    return [
        {
            "id": item.id,
            "badge": model.badge(item),
            "depth": place if source is None else min(place, 2),
            "self": item.id == session.id,
            "at": item.forked_at,
        }
        for place, item in enumerate(one for one in members if one is not None)
    ]


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {"review": ("apply_fix", "skip"), "debate": ("accept", "revise")}
_MORE: Final[Mapping[str, tuple[tuple[str, str, int], ...]]] = {
    "delivery": (("addIterations", "compare_budget", 20),),
    "orchestration": (("addRounds", "session_more_rounds", 50),),
}
"""Fields of a larger budget, with their labels and the most that can be added."""


def _forkable(session: Session) -> dict[str, Any]:
    """The fields that can be different in a fork of it."""
    return {
        "id": session.id,
        "version": session.version,
        "choices": _CHOICES.get(session.kind, ()),
        "budget": _MORE.get(session.kind, ()),
        "profile": session.profile.name if isinstance(session, Discussion) else "",
        "profiles": tuple(PROFILES) if isinstance(session, Discussion) else (),
    }
