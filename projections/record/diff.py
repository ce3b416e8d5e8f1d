"""Two sessions, or two versions of one, side by side: where they diverge, and how each ended."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from domain.session.fork_rules import names, unnamed
from domain.session.past_commands import Whole
from domain.session.record import Recorded
from domain.session.state import Session
from domain.values.base import Text, iso
from projections.record.describe import describe
from projections.record.explain import INPUTS
from projections.record.session import view
from projections.views.diff import (
    ComparedEvent,
    ComparedEvents,
    Cost,
    Diff,
    Differing,
    Divergence,
    DivergentEvent,
    Side,
    SpentView,
)

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
VOLATILE = frozenset(
    {
        "elapsedMs",
        "seconds",
        "deadline",
        "deadlineAt",
        "attempt",
        "agentSession",
        "slot",
        "tree",
        "usage",
        "fence",
        "fenceGaps",
        "refusedHosts",
    }
)
"""Fields that differ between any two runs."""
DECISIONS = frozenset({"review.decided", "debate.decided", "review.expired", "debate.expired", "session.child_closed"})
VERDICTS = frozenset(
    {
        "orchestration.verdict_given",
        "delivery.review_blocking_detected",
        "delivery.review_approved",
        "delivery.tests_passed",
        "delivery.validation_failed",
    }
)
TELLING = ("agent", "round", "iteration", "phase", "pass", "choice")
APART = frozenset({"session.forked", "session.diverged", "session.released", "turn.activity_recorded"})
"""Events that mark a fork, and agents' activity, which a fork does not repeat."""


def diff(a: Sequence[Recorded], b: Sequence[Recorded], first: Session, second: Session, whole: Whole) -> Diff:
    """First divergence, decisions, verdicts, cost, time and state of both (contract §2)."""
    ids = names((*a, *b))
    return Diff(
        a=_side(a, first),
        b=_side(b, second),
        first_divergence=_divergence(a, b, ids, whole),
        decisions=ComparedEvents(a=_compared_events(a, DECISIONS), b=_compared_events(b, DECISIONS)),
        verdicts=ComparedEvents(a=_compared_events(a, VERDICTS), b=_compared_events(b, VERDICTS)),
        cost=_cost(first, second),
        state=_state(first, second, ids),
    )


def _side(history: Sequence[Recorded], session: Session) -> Side:
    elapsed = history[-1].at - history[0].at if history else 0
    return Side(
        id=session.id,
        kind=session.kind,
        version=session.version,
        state=session.state,
        elapsed_ms=elapsed,
        created_at=iso(session.created_at),
        updated_at=iso(session.updated_at),
        forked_from=session.forked_from,
    )


def _divergence(a: Sequence[Recorded], b: Sequence[Recorded], ids: Sequence[str], whole: Whole) -> Divergence | None:
    """The first place where they differ in content; fields that only one of them has do not count."""
    ours, theirs = compared(a), compared(b)
    for place in range(max(len(ours), len(theirs))):
        one, other = ours[place : place + 1], theirs[place : place + 1]
        if not one or not other or not alike(one[0], other[0], ids, whole):
            return Divergence(a=_event(one), b=_event(other))
    return None


def compared(history: Sequence[Recorded]) -> list[Recorded]:
    """The events that can make a difference."""
    return [recorded for recorded in history if recorded.event.TOPIC not in APART]


def alike(one: Recorded, other: Recorded, ids: Sequence[str], whole: Whole) -> bool:
    """Long texts are only read if nothing but their digests differs, perhaps because of a name inside."""
    return _plain(one, ids) == _plain(other, ids) or _plain(one, ids, whole) == _plain(other, ids, whole)


def _plain(recorded: Recorded, ids: Sequence[str], whole: Whole | None = None) -> tuple[str, Any]:
    return recorded.event.TOPIC, _without(recorded.event.model_dump(mode="json", by_alias=True), ids, whole)


def _without(value: Any, ids: Sequence[str], whole: Whole | None = None) -> Any:
    match value:
        case {"head": str(), "length": int(), "digest": digest, "derived": derived} if whole and (digest or derived):
            return _without(whole(Text.model_validate(value)), ids)
        case dict():
            return {key: _without(part, ids, whole) for key, part in value.items() if key not in VOLATILE}
        case list():
            return [_without(part, ids, whole) for part in value]
        case str():
            return _INSTANT.sub("…", unnamed(value, ids))
        case _:
            return value


def _event(stretch: Sequence[Recorded]) -> DivergentEvent | None:
    if not stretch:
        return None
    event = stretch[0].event
    data = event.model_dump(mode="json", by_alias=True)
    return DivergentEvent(
        version=stretch[0].version,
        type=event.TOPIC,
        message=describe(event.TOPIC, data, actor=stretch[0].causation.actor),
        inputs=_inputs(data),
    )


def _inputs(data: dict[str, Any]) -> dict[str, Any]:
    """The inputs of the rules."""
    return {name: data[name] for name in INPUTS if data.get(name) is not None}


def _compared_events(history: Sequence[Recorded], topics: frozenset[str]) -> tuple[ComparedEvent, ...]:
    events = []
    for recorded in history:
        if recorded.event.TOPIC in topics:
            data = recorded.event.model_dump(mode="json", by_alias=True)
            details = {name: data[name] for name in TELLING if name in data}
            head = {"version": recorded.version, "type": recorded.event.TOPIC, "inputs": _inputs(data)}
            events.append(ComparedEvent.model_validate(head | details))
    return tuple(events)


def _cost(first: Session, second: Session) -> Cost:
    return Cost(
        a=_spent(first),
        b=_spent(second),
        tokens_delta=_delta(first.spent.tokens, second.spent.tokens),
        cost_micros_delta=_delta(first.spent.cost_micros, second.spent.cost_micros),
    )


def _spent(session: Session) -> SpentView:
    spent = session.spent
    return SpentView(tokens=spent.tokens, cost_micros=spent.cost_micros, unknown_turns=spent.unknown)


def _delta(first: int | None, second: int | None) -> int | None:
    """Unknown if either is."""
    return None if first is None or second is None else second - first


_IDENTITY = frozenset(
    {"id", "createdAt", "updatedAt", "version", "forkedFrom", "parent", "children", "outstandingTurns"}
)


def _state(first: Session, second: Session, ids: Sequence[str]) -> dict[str, Differing]:
    """The fields of both views that differ."""
    one, other = _without(view(first).wire(), ids), _without(view(second).wire(), ids)
    keys = [key for key in dict.fromkeys((*one, *other)) if key not in _IDENTITY]
    return {key: Differing(a=one.get(key), b=other.get(key)) for key in keys if one.get(key) != other.get(key)}


# Two histories side by side: how much of them is the same, and the rest, aligned event by event.

MOST: Final = 300
"""Events of each that are aligned after the first difference."""


class EventPair(NamedTuple):
    """Events next to each other; None if only the other side has one. `fields` are those that differ between two events
    of the same type."""

    a: Recorded | None
    b: Recorded | None
    same: bool
    fields: tuple[str, ...] = ()


class Beside(NamedTuple):
    """`common` counts the events before the first difference; `more` says whether more events were left out."""

    common: int
    last: EventPair | None
    pairs: tuple[EventPair, ...]
    more: bool


def beside(a: Sequence[Recorded], b: Sequence[Recorded], whole: Whole) -> Beside:
    ours, theirs = compared(a), compared(b)
    ids = names((*a, *b))
    common = 0
    for one, other in zip(ours, theirs, strict=False):
        if not alike(one, other, ids, whole):
            break
        common += 1
    last = EventPair(ours[common - 1], theirs[common - 1], True) if common else None
    rest = ours[common : common + MOST], theirs[common : common + MOST]
    pairs = tuple(_pair(one, other, ids, whole) for one, other in _aligned(*rest))
    return Beside(common, last, pairs, len(ours) > common + MOST or len(theirs) > common + MOST)


def _pair(one: Recorded | None, other: Recorded | None, ids: Sequence[str], whole: Whole) -> EventPair:
    if one is None or other is None:
        return EventPair(one, other, same=False)
    if alike(one, other, ids, whole):
        return EventPair(one, other, same=True)
    (topic, data), (other_topic, other_data) = (_plain(event, ids, whole) for event in (one, other))
    names = dict.fromkeys((*data, *other_data)) if topic == other_topic else {}
    return EventPair(one, other, same=False, fields=tuple(n for n in names if data.get(n) != other_data.get(n)))


def _aligned(a: Sequence[Recorded], b: Sequence[Recorded]) -> Iterator[tuple[Recorded | None, Recorded | None]]:
    """Events of the same kind next to each other."""
    topics = [[(entry.event.TOPIC, entry.event.__dict__.get("phase")) for entry in side] for side in (a, b)]
    for _, i1, i2, j1, j2 in SequenceMatcher(None, topics[0], topics[1], autojunk=False).get_opcodes():
        for step in range(max(i2 - i1, j2 - j1)):
            yield (
                a[i1 + step] if i1 + step < i2 else None,
                b[j1 + step] if j1 + step < j2 else None,
            )
