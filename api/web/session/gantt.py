"""Who worked when: a lane for every agent and one for people, on the clock of the session."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.web.model import clock, seconds_or_clock
from api.web.plain_text import cut
from api.web.session.context import PanelContext
from api.web.session.turns import TurnCard, report_of, turns_of
from domain.values.base import iso
from projections.record.turns import TRIED, Attempt

WIDTH, HEAD, LANE, NAMES = 1_360, 22, 26, 150
"""Of the drawing, of its clock, of a lane, and the room for the names of lanes."""
LANES, BARS, TICKS = 14, 300, 6
ROOM: Final = 30
"""So wide is a bar that has its turn written in it, at least."""
FINEST: Final = ((TICKS * 60_000, "second"), (24 * 3_600_000, "minute"), (math.inf, "day"))
"""What the clock of a drawing shows, by how long it is: below six minutes seconds, beyond a day the day."""
BY_PEOPLE: Final = frozenset(
    {"exhausted", "checkpoint", "partial", "waiting_for_decision", "under_review", "awaiting_scope", "failed"}
)
"""States in which a person is waited for."""
PROVIDERS: Final = frozenset({"rate_limit", "overloaded"})
CHOICES: Final = frozenset(
    {
        "delivery.budget_extended",
        "delivery.retried",
        "orchestration.continued",
        "orchestration.retried",
        "orchestration.rounds_added",
        "session.child_closed",
        "session.scope_decided",
        "turn.permission_decided",
        "decision.voted",
        "review.decided",
        "debate.decided",
    }
)
"""Events by which a person, or the time that they were given, decided something."""


@dataclass(slots=True)
class GanttBar:
    """A stretch of time of one kind: at work, waiting for a provider, waiting for a person."""

    begin: int
    end: int
    kind: str
    turn: str = ""
    label: str = ""
    words: str = ""


@dataclass(slots=True)
class GanttLane:
    name: str
    role: str = ""
    bars: list[GanttBar] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    """Decisions: when, and by which event."""


def gantt(context: PanelContext) -> dict[str, Any]:
    """Nothing before anybody has worked for as long as the clock can show."""
    trail = context.trail
    begin, end = trail.at[0], trail.at[context.version - 1]
    lanes = [lane for lane in _lanes(context, end) if lane.bars or lane.marks]
    whole = end - begin
    if not lanes or whole <= 0:
        return {}

    name = seconds_or_clock if whole < 10_000 else clock

    def x(at: int) -> float:
        return round(NAMES + (min(max(at, begin), end) - begin) / whole * (WIDTH - NAMES), 1)

    return {
        "width": WIDTH,
        "height": HEAD + LANE * len(lanes),
        "names": NAMES,
        "time": seconds_or_clock(whole),
        "ticks": [
            {"x": x(at), "since": name(at - begin), "at": iso(at)}
            for at in (begin + whole * step // TICKS for step in range(TICKS))
        ],
        "finest": next(unit for most, unit in FINEST if whole < most),
        "lanes": [
            {
                "y": HEAD + LANE * place,
                "name": cut(lane.name, 18),
                "role": cut(lane.role, 14),
                "bars": [_drawn(bar, x(bar.begin), x(bar.end)) for bar in lane.bars[-BARS:]],
                "marks": list({round(x(at)): (x(at), version) for at, version in lane.marks}.values())[-BARS:],
            }
            for place, lane in enumerate(lanes[:LANES])
        ],
        "more": max(0, len(lanes) - LANES),
        "kinds": sorted({bar.kind for lane in lanes for bar in lane.bars}),
        "decided": any(lane.marks for lane in lanes),
    }


def _drawn(bar: GanttBar, begin: float, end: float) -> dict[str, Any]:
    width = round(max(2.0, end - begin), 1)
    return {
        "x": min(begin, WIDTH - width),
        "width": width,
        "kind": bar.kind,
        "turn": bar.turn,
        "label": bar.label if width >= ROOM else "",
        "words": f"{bar.words} {seconds_or_clock(bar.end - bar.begin)}".strip(),
    }


# -- lanes -------------------------------------------------------------------------------------------------------------


def _lanes(context: PanelContext, end: int) -> list[GanttLane]:
    """In the order in which they began; people come last."""
    lanes: dict[str, GanttLane] = {}
    for turn in turns_of(context):
        if turn.entry.work == "package":
            continue
        validates = turn.entry.work in ("validate", "prepare")
        name = "" if validates else turn.entry.agent
        lane = lanes.setdefault(name, GanttLane(name, "" if validates else turn.entry.role))
        lane.bars += _bars(context, turn, end)
    return [*lanes.values(), _people(context, end)]


def _bars(context: PanelContext, turn: TurnCard, end: int) -> Iterator[GanttBar]:
    """Each attempt, and the waits between them."""
    label, entry = f"T{turn.number}", turn.entry
    attempts = [attempt for attempt in entry.attempts if attempt.version <= context.version]
    before = entry.requested_at
    for place, attempt in enumerate(attempts):
        begin = max(before, attempt.ended_at - round(attempt.seconds * 1000))
        if place:
            yield GanttBar(before, begin, _waited(attempts[place - 1]), turn.id, "", label)
        last = attempt is attempts[-1]
        kind = _verdict(context, turn, attempt) if last else "bad"
        yield GanttBar(begin, attempt.ended_at, kind, turn.id, label if last else "", label)
        before = attempt.ended_at
    if turn.open:
        waits = bool(attempts) and attempts[-1].outcome == TRIED
        yield GanttBar(before, end, _waited(attempts[-1]) if waits else "run", turn.id, label, label)


def _waited(attempt: Attempt) -> str:
    return "provider" if attempt.failure in PROVIDERS else "pause"


def _verdict(context: PanelContext, turn: TurnCard, attempt: Attempt) -> str:
    """Red and green for what was judged, as far as the turn itself says."""
    if attempt.outcome != "answered":
        return "bad"
    if turn.entry.work != "validate":
        return "work"
    ran = report_of(context, turn)
    return "work" if ran is None else "good" if ran["passed"] else "bad"


def _people(context: PanelContext, end: int) -> GanttLane:
    """When a person was waited for, and what was decided."""
    trail, lane = context.trail, GanttLane("you")
    steps = context.past(trail.steps)
    for place, step in enumerate(steps):
        if step.state not in BY_PEOPLE:
            continue
        last = place + 1 == len(steps)
        if last and not (context.needs_somebody or step.state == "under_review"):
            continue
        until = end if last else trail.at[steps[place + 1].version - 1]
        lane.bars.append(GanttBar(trail.at[step.version - 1], until, "you"))
    entries: Sequence[Any] = context.record.entries[: context.version]
    lane.marks = [(entry.at, entry.version) for entry in entries if entry.topic in CHOICES]
    return lane
