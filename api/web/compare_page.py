"""`/compare?a=&b=`: two sessions side by side, from their first difference on, and in figures."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.texts import whole
from api.http.requests import caught_up, number, only, system
from api.system import System
from api.web import model
from api.web.model import badge
from api.web.plain_text import cut
from api.web.renderer import explicit, language_of, page, render
from api.web.session.context import PanelContext
from api.web.session.context import whole as whole_of
from api.web.session.history import MESSAGE
from api.web.session.overview import Head, head
from api.web.session.panels import Gallery
from api.web.session.reading import as_of, gallery
from api.web.session.turns import turns_of
from api.web.svg import element, svg
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.kinds import KINDS
from domain.orchestration.state import Orchestration
from domain.session.forks import SessionForked
from domain.session.record import Recorded, kind_of
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import Text, Unknown
from domain.values.sentences import Sentence
from domain.values.words import Words
from projections.record.describe import describe
from projections.record.diff import EventPair, beside
from projections.record.important import tone_of
from projections.sessions import overview

FIELDS: Final = 4
"""Differing fields that are named of two events with the same words."""
FORKS: Final = 50
"""Forks of a session that are listed."""


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
        return render(
            request,
            say,
            "compare.html",
            ids=ids,
            found=comparison,
            picks=_picks(inside, sides, family),
            family=family,
            fork=sides[0],
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


class ComparedSide(NamedTuple):
    id: str
    kind: str
    title: str
    badge: str
    version: int
    forked_from: str | None
    head: Head


class EventSide(NamedTuple):
    version: int
    words: str
    tone: str


class DifferentValue(NamedTuple):
    """A value of an event by its name on the page, and its words in both."""

    name: str
    a: str
    b: str


class ComparedPair(NamedTuple):
    """Two events in the same place; `fields` names what differs where their words do not."""

    a: EventSide | None
    b: EventSide | None
    same: bool
    fields: Sequence[str]
    values: Sequence[DifferentValue]


class Figure(NamedTuple):
    name: str
    a: str
    b: str
    delta: str


class Comparison(NamedTuple):
    """`common` is the number of events that both begin with, `hashes` those of the last of them. `fork_of` is the first
    session, where the second is a fork of it."""

    sides: Sequence[ComparedSide]
    common: int
    hashes: Sequence[str]
    pairs: Sequence[ComparedPair]
    more: bool
    strip: Markup
    parted: str
    fork_of: str
    fork_at: int | None
    figures: Sequence[Figure]


def _compared(panels: Gallery, inside: System, sessions: Sequence[Session], say: Words) -> Comparison:
    sides = [panels.context(session, say) for session in sessions]
    a, b = (inside.store.history(session.id, upto=session.version) for session in sessions)
    aligned = beside(a, b, partial(whole, inside.store))
    return Comparison(
        sides=[_side(context) for context in sides],
        common=aligned.common,
        hashes=_hashes(inside, sessions, aligned.common),
        pairs=[_pair(pair, sides) for pair in aligned.pairs if not pair.same],
        more=aligned.more,
        strip=_strip(aligned.common, len(a), len(b), say),
        parted=_parted(a, b, say) if sessions[1].forked_from == sessions[0].id else "",
        fork_of=sessions[0].id if sessions[1].forked_from == sessions[0].id else "",
        fork_at=sessions[1].forked_at,
        figures=_figures(sides),
    )


def _hashes(inside: System, sessions: Sequence[Session], common: int) -> list[str]:
    """The hash of the last event that both have in common, in each; one where they are the same."""
    found = (inside.store.rows.hash_of(session.id, common) for session in sessions) if common else ()
    return list(dict.fromkeys(f"{digest.hex()[:4]}…{digest.hex()[-4:]}" for digest in found if digest))


def _side(context: PanelContext) -> ComparedSide:
    session = context.session
    return ComparedSide(
        id=session.id,
        kind=session.kind,
        title=context.view.title or session.id,
        badge=context.badge,
        version=session.version,
        forked_from=session.forked_from,
        head=head(context),
    )


def _pair(pair: EventPair, sides: Sequence[PanelContext]) -> ComparedPair:
    a, b = (one and _event_card(one, context) for one, context in zip((pair.a, pair.b), sides, strict=True))
    hidden = not pair.same and a and b and a.words == b.words
    named = (_SAME_THING.get(field, field) for field in pair.fields if field not in _NOISE)
    fields = dict.fromkeys(named) if hidden else ()
    values = _values(pair, sides) if pair.a and pair.b else []
    return ComparedPair(a, b, pair.same, list(fields)[:FIELDS], values)


_VALUES: Final = (("reply", "reply"), ("patch", "patch"), ("blocking_issues", "findings"), ("content", "reply"))
"""Fields whose values are shown beside each other, and what they are called."""
_VALUE: Final = 3_000


def _values(pair: EventPair, sides: Sequence[PanelContext]) -> list[DifferentValue]:
    """Returns what differs between two events, in words: old and new."""
    rows = []
    for name, called in _VALUES:
        one, other = (_value(recorded, name, context) for recorded, context in zip(pair[:2], sides, strict=True))
        if one != other and (one or other):
            rows.append(DifferentValue(called, one, other))
    return rows


def _value(recorded: Recorded | None, name: str, context: PanelContext) -> str:
    value = getattr(recorded.event, name, None) if recorded else None
    match value:
        case Text():
            return cut(whole_of(context, value), _VALUE)
        case tuple() | list():
            return "\n".join(str(getattr(each, "title", each)) for each in value)[:_VALUE]
        case _:
            return ""


def _strip(common: int, a: int, b: int, say: Words) -> Markup:
    """Two lanes with their common trunk and the point where they part; lengths in events."""
    longest = max(a, b, 1)
    trunk, ends = 1000 * common / longest, (1000 * a / longest, 1000 * b / longest)
    lanes = [
        element(
            "path",
            d=f"M{trunk:.0f} 24 C{trunk + 20:.0f} 24 {trunk + 10:.0f} {y} {trunk + 30:.0f} {y} H{end:.0f}",
            class_=name,
        )
        for y, end, name in ((10, max(ends[0], trunk + 31), "lane-a"), (38, max(ends[1], trunk + 31), "lane-b"))
    ]
    words = say.fill("compare_strip", {"n": common})
    return svg(
        words,
        element("path", d=f"M4 24 H{max(trunk, 6):.0f}", class_="trunk"),
        *lanes,
        element("circle", cx=max(trunk, 6), cy=24, r=6, class_="parting"),
        element("text", "A", x=min(ends[0] + 12, 1010), y=15),
        element("text", "B", x=min(ends[1] + 12, 1010), y=43),
        width=1030,
        height=48,
        class_="two-lanes",
    )


def _parted(a: Sequence[Recorded], b: Sequence[Recorded], say: Words) -> str:
    """Says what is different in a fork."""
    forked = next((one.event for one in reversed(b) if isinstance(one.event, SessionForked)), None)
    if forked is None:
        return ""
    words = []
    for name in forked.substitute:
        who = _answering(a, forked.source_version) if name == "answer" else ""
        words.append(say.fill(f"fork_changed.{name}", {"who": who}))
    words += [
        say.fill("fork_changed.agents", {"what": role, "who": who}) for role, who in (forked.agents or {}).items()
    ]
    words += [say.fill("fork_changed.models", {"who": who, "what": one}) for who, one in (forked.models or {}).items()]
    return " · ".join(words)


def _answering(history: Sequence[Recorded], version: int) -> str:
    """Says who was asked at that version."""
    turns = [one.event for one in history if one.version <= version and isinstance(one.event, TurnRequested)]
    return turns[-1].agent if turns else ""


RECENT: Final = 20


class PickGroup(NamedTuple):
    """Sessions that can be chosen, each with its title."""

    name: str
    sessions: Sequence[tuple[str, str]]


class FamilyMember(NamedTuple):
    id: str
    badge: str
    depth: int
    self: bool
    at: int | None


def _picks(inside: System, sides: Sequence[Session | None], family: Sequence[FamilyMember]) -> list[PickGroup]:
    """The sessions that can be chosen: kin first, then the newest; those that are shown are among them."""
    with inside.reading() as db:
        recent = overview.page(db, limit=RECENT).items
        kin = [item for one in family if (item := overview.item(db, one.id))]
        shown = [item for one in sides if one and (item := overview.item(db, one.id))]
    family_of = {item.id: item for item in (*shown, *kin)}
    others = [item for item in recent if item.id not in family_of]
    return [
        PickGroup(name, [(item.id, cut(item.title or item.id, 60)) for item in items])
        for name, items in (("kin", list(family_of.values())), ("recent", others))
        if items
    ]


_NOISE: Final = frozenset({"artifactId", "turnId", "agentSession", "agentSessions", "message", "iteration"})
"""Fields that follow from the others."""
_SAME_THING: Final = {"context": "prompt", "patch": "changes", "finalSummary": "summary", "content": "text"}
"""Fields that have the same name on the page."""


def _event_card(recorded: Recorded, context: PanelContext) -> EventSide:
    event, session = recorded.event, context.session
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    data, actor = event.model_dump(mode="json", by_alias=True), recorded.causation.actor
    words = describe(event.TOPIC, data, context.language, agents=agents, actor=actor)
    return EventSide(recorded.version, cut(words, MESSAGE), tone_of(event))


# -- figures -----------------------------------------------------------------------------------------------------------


def _figures(sides: Sequence[PanelContext]) -> list[Figure]:
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
        rows.append(Figure(name, _or_dash(one, shown), _or_dash(other, shown), delta))
    return rows


def _or_dash(value: int | None, shown: Callable[[int], str]) -> str:
    return "–" if value is None else shown(value)


_SHOWN: Final[Mapping[str, Callable[[int], str]]] = {
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
    changed = context.result.files if context.result else None
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
        "added": sum(file.added or 0 for file in changed) if changed is not None else None,
        "removed": sum(file.removed or 0 for file in changed) if changed is not None else None,
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


def _family(inside: System, session: Session) -> list[FamilyMember]:
    """The session, what it was forked from, and its forks, oldest first."""
    with inside.reading() as db:
        source = overview.item(db, session.forked_from) if session.forked_from else None
        own = overview.item(db, session.id)
        members = [source, own, *overview.forks(db, session.id, FORKS)]
    return [
        FamilyMember(
            id=item.id,
            badge=badge(item),
            depth=place if source is None else min(place, 2),
            self=item.id == session.id,
            at=item.forked_at,
        )
        for place, item in enumerate(one for one in members if one is not None)
    ]
