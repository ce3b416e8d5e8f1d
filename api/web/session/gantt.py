"""Draws who worked when: a lane for each agent, one for the validation and one for people, on the clock of the
session."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from api.web.model import clock, seconds_or_clock
from api.web.plain_text import cut
from api.web.session.context import PanelContext, event_of
from api.web.session.turns import TurnCard, report_of, turns_of
from api.web.session.waits import Span, question_spans, wait_of
from domain.discussion.state import Discussion
from domain.session.attempts import PROVIDERS
from domain.session.forks import SessionDiverged, SessionReleased
from domain.values.base import iso
from projections.record.turns import ANSWERED, CANCELLED, TRIED, Attempt

HEAD, LANE = 22, 26
"""Heights of the clock and of a lane, in pixels. Places and widths are percentages, so the drawing fills its box."""
LANES, BARS, TICKS = 14, 300, 6
WIDE, NARROW, EACH = 900, 240, 14
"""Pixels: the drawing's basic width at most, at least, and for each bar. It grows into the room that it has."""
ROOM, THINNEST = 30, 0.4
"""So many pixels wide is a bar that has its turn written in it; so many percent a bar of no length."""
LABELS: Final = {"millisecond": 74, "hundredth": 68, "tenth": 62, "second": 50, "minute": 34, "day": 96}
"""Pixels that a label of the clock takes, with room on both sides."""

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
STEPS: Final = (
    *(factor * unit for unit in (1, 10, 100) for factor in (1, 2, 5)),
    *(factor * unit for unit in (SECOND, MINUTE) for factor in (1, 2, 5, 10, 15, 30)),
    *(factor * HOUR for factor in (1, 2, 3, 6, 12)),
)
"""The distances between two ticks below a day, in milliseconds: at most 2.5 times the one before."""
BY_PEOPLE: Final = frozenset({"exhausted", "checkpoint", "partial", "waiting_for_decision", "awaiting_scope", "failed"})
"""States in which a person is waited for."""
TALKS: Final = frozenset({"under_review", "debating", "reviewing"})
"""States in which a session waits for a discussion about it, at whose end a person decides."""
CHOICES: Final = frozenset(
    {
        "delivery.budget_extended",
        "delivery.retried",
        "orchestration.continued",
        "orchestration.retried",
        "orchestration.rounds_added",
        "session.child_closed",
        "delivery.scope_decided",
        "session.released",
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
    open: bool = False
    """True while it goes on: at the live mark the page's clock lets it grow."""
    until: str = ""
    """The hour at which a wait that goes on is planned to end."""


@dataclass(slots=True)
class GanttLane:
    name: str
    role: str = ""
    bars: list[GanttBar] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    """Decisions: when, and by which event."""


class Ruler(NamedTuple):
    """The distance between two ticks, in milliseconds, and the finest unit that tells them apart."""

    step: int
    finest: str


def _work_end(context: PanelContext, lanes: Sequence[GanttLane], newest: int) -> int:
    """Returns when the session did something last: what people say after its end does not lengthen it."""
    session = context.session
    if not session.ended or session.outstanding or session.wait is not None:
        return newest
    ends = [bar.end for lane in lanes for bar in lane.bars] + [at for lane in lanes for at, _ in lane.marks]
    return max(ends, default=newest)


class DrawnTick(NamedTuple):
    """A tick at `x` percent; `since` is the time since the beginning."""

    x: float
    since: str
    at: str
    late: bool
    fine: bool


class DrawnBar(NamedTuple):
    """`x` and `width` are percentages; `short`: its label only fits where the drawing is at its widest."""

    x: float
    width: float
    kind: str
    turn: str
    open: bool
    until: str
    label: str
    short: bool
    words: str


class DrawnLane(NamedTuple):
    """`marks` are decisions: where, and by which event."""

    y: int
    name: str
    role: str
    bars: Sequence[DrawnBar]
    marks: Sequence[tuple[float, int]]


class GanttShown(NamedTuple):
    """`begin`, `own` and `end` are milliseconds: `own` is when a fork began, 0 for other sessions; `end` is 0 where
    nothing goes on. `forks` are percentages."""

    width: int
    height: int
    time: str
    begin: int
    own: int
    end: int
    forks: Sequence[float]
    ticks: Sequence[DrawnTick]
    finest: str
    lanes: Sequence[DrawnLane]
    more: int
    kinds: Sequence[str]
    decided: bool


def gantt(context: PanelContext) -> GanttShown | None:
    """None before anybody has worked for as long as the clock can show. What a fork shares ends where the fork begins,
    however long ago it was; the clock is that of the fork."""
    trail = context.trail
    begin, end = trail.at[0], trail.at[context.version - 1]
    lanes = [lane for lane in _lanes(context, end) if lane.bars or lane.marks]
    end = _work_end(context, lanes, end)
    going = any(bar.open for lane in lanes for bar in lane.bars)
    gaps = context.gaps(context.version)

    def moved(at: int) -> int:
        return at + sum(gap for fork, gap in gaps if at < fork)

    begin, own = moved(begin), gaps[-1][0] if gaps else 0
    whole = max(end - begin, 1 if going else 0)
    if not lanes or whole <= 0:
        return None

    def x(at: int) -> float:
        return round((min(max(moved(at), begin), end) - begin) / whole * 100, 2)

    shown = lanes[:LANES]
    width = min(WIDE, max(NARROW, EACH * sum(len(lane.bars[-BARS:]) for lane in shown)))
    ruler = clock_of(whole)
    return GanttShown(
        width=width,
        height=HEAD + LANE * len(shown),
        time=seconds_or_clock(whole),
        begin=begin,
        own=own,
        forks=[x(fork) for fork, _ in gaps],
        end=begin + whole if going else 0,
        ticks=[
            DrawnTick(tick.share, since(tick.offset, ruler), iso(begin + tick.offset), tick.late, tick.fine)
            for tick in ticks_of(whole, ruler, width)
            if begin + tick.offset >= own
        ],
        finest=ruler.finest,
        lanes=[
            DrawnLane(
                y=HEAD + LANE * place,
                name=cut(lane.name, 40),
                role=cut(lane.role, 40),
                bars=[_drawn(bar, x(bar.begin), x(bar.end), width) for bar in lane.bars[-BARS:]],
                marks=list({round(x(at), 1): (x(at), version) for at, version in lane.marks}.values())[-BARS:],
            )
            for place, lane in enumerate(shown)
        ],
        more=max(0, len(lanes) - LANES),
        kinds=sorted({bar.kind for lane in lanes for bar in lane.bars}),
        decided=any(lane.marks for lane in lanes),
    )


def clock_of(whole: int) -> Ruler:
    """The clock of a drawing that is so many milliseconds long: at most `TICKS` ticks, each with a label of its own."""
    step = next((step for step in STEPS if step * TICKS >= whole), DAY * math.ceil(whole / TICKS / DAY))
    if step < SECOND:
        return Ruler(step, "millisecond" if step < 10 else "hundredth" if step < 100 else "tenth")
    return Ruler(step, "second" if step < MINUTE else "minute" if whole < DAY else "day")


@dataclass(slots=True)
class Tick:
    """`late`: its label is on the left of its line. `fine`: its label only fits where the drawing is wide."""

    offset: int
    share: float
    late: bool = False
    fine: bool = False


def ticks_of(whole: int, ruler: Ruler, least: int) -> list[Tick]:
    """The ticks of a drawing that is at least so many pixels wide. No label there overlaps another or leaves it."""
    ticks = [Tick(offset, round(offset / whole * 100, 2)) for offset in range(0, whole, ruler.step)]
    room = LABELS[ruler.finest] / least * 100
    ticks[-1].late = ticks[-1].share + room > 100
    end = 0.0
    for tick in ticks:
        tick.fine = tick.share < end
        end = end if tick.fine else tick.share + room
    if ticks[-1].late:
        before = ticks[-1].share - room
        ticks[-1].fine = before < room
        for tick in ticks[1:-1]:
            tick.fine = tick.fine or tick.share + room > before
    return ticks


def since(milliseconds: int, ruler: Ruler) -> str:
    """A tick without the reader's clock: the time since the beginning."""
    digits = {"tenth": 1, "hundredth": 2, "millisecond": 3}.get(ruler.finest)
    return clock(milliseconds) if digits is None else f"{milliseconds / SECOND:.{digits}f} s"


def _drawn(bar: GanttBar, begin: float, end: float, least: int) -> DrawnBar:
    width = round(max(THINNEST, end - begin), 2)
    return DrawnBar(
        x=round(min(begin, 100 - width), 2),
        width=width,
        kind=bar.kind,
        turn=bar.turn,
        open=bar.open,
        until=bar.until,
        label=bar.label if width * WIDE >= ROOM * 100 else "",
        short=width * least < ROOM * 100,
        words=f"{bar.words} {seconds_or_clock(bar.end - bar.begin)}".strip(),
    )


def _lanes(context: PanelContext, end: int) -> list[GanttLane]:
    """In the order in which they began; people come last."""
    lanes: dict[str, GanttLane] = {}
    questions = question_spans(context, end)
    for turn in turns_of(context):
        if turn.entry.work == "package":
            continue
        validates = turn.entry.work in ("validate", "prepare")
        name = "" if validates else turn.entry.agent
        lane = lanes.setdefault(name, GanttLane(name, "" if validates else turn.entry.role))
        lane.bars += (piece for bar in _bars(context, turn, end) for piece in split(bar, questions.get(turn.id, ())))
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
        wait = wait_of(context, turn.id) if waits else None
        kind = _waited(attempts[-1]) if waits else "run"
        yield GanttBar(
            before, end, kind, turn.id, label, label, open=not context.imported, until=wait.until if wait else ""
        )


def split(bar: GanttBar, questions: Sequence[Span]) -> list[GanttBar]:
    """A bar in pieces: while its agent waited for an answer, a person was waited for. The longest has the label."""
    if bar.kind in ("provider", "pause"):
        return [bar]
    pieces, at = [], bar.begin
    for begin, end in questions:
        begin, end = max(begin, at), min(end, bar.end)
        if begin > end:
            continue
        if begin > at:
            pieces.append(replace(bar, begin=at, end=begin, label=""))
        pieces.append(replace(bar, begin=begin, end=end, label="", kind="you"))
        at = end
    if at < bar.end or not pieces:
        pieces.append(replace(bar, begin=at, label=""))
    for piece in pieces:
        piece.open = bar.open and piece.end == bar.end
    longest = max(pieces, key=lambda piece: piece.end - piece.begin)
    longest.label = bar.label
    return pieces


def _waited(attempt: Attempt) -> str:
    return "provider" if attempt.failure in PROVIDERS else "pause"


def _verdict(context: PanelContext, turn: TurnCard, attempt: Attempt) -> str:
    """Red and green for what was judged, as far as the turn itself says."""
    if attempt.outcome != ANSWERED:
        return "stop" if attempt.outcome == CANCELLED else "bad"
    if turn.passed is not None:
        return "good" if turn.passed else "bad"
    if turn.entry.work != "validate":
        return "work"
    ran = report_of(context, turn)
    return "work" if ran is None else "good" if ran.passed else "bad"


def _people(context: PanelContext, end: int) -> GanttLane:
    """Returns when a person was waited for, and what was decided."""
    trail, lane = context.trail, GanttLane("you", bars=[*_held(context, end), *_for_branch(context, end)])
    steps = context.past(trail.steps)
    talks = frozenset() if isinstance(context.session, Discussion) else TALKS  # it is one itself
    for place, step in enumerate(steps):
        if step.state not in BY_PEOPLE | talks:
            continue
        last = place + 1 == len(steps)
        if last and not (context.needs_somebody or step.state in talks):
            continue
        until = end if last else trail.at[steps[place + 1].version - 1]
        lane.bars.append(GanttBar(trail.at[step.version - 1], until, "you", open=last))
    entries: Sequence[Any] = context.record.entries[: context.version]
    lane.marks = [(entry.at, entry.version) for entry in entries if entry.topic in CHOICES]
    return lane


def _for_branch(context: PanelContext, end: int) -> Iterator[GanttBar]:
    """While a person had the branch checked out on which the result was to be put."""
    for turn in turns_of(context):
        attempts = [attempt for attempt in turn.entry.attempts if attempt.version <= context.version]
        for place, attempt in enumerate(attempts):
            if attempt.failure != "branch" or attempt.outcome != TRIED:
                continue
            later = attempts[place + 1 :]
            until = max(attempt.ended_at, later[0].ended_at - round(later[0].seconds * 1000)) if later else end
            yield GanttBar(attempt.ended_at, until, "you", open=not later and turn.open)


def _held(context: PanelContext, end: int) -> list[GanttBar]:
    """While a fork waited for a person to let it go on: until its release, else until the state changed."""
    entries = context.record.entries[: context.version]
    bars = []
    for entry in entries:
        event = event_of(context, entry.version) if entry.topic == SessionDiverged.TOPIC else None
        if isinstance(event, SessionDiverged) and event.held:
            later = [step.version for step in context.past(context.trail.steps) if step.version > entry.version]
            later += [each.version for each in entries[entry.version :] if each.topic == SessionReleased.TOPIC]
            until = context.trail.at[min(later) - 1] if later else end
            bars.append(GanttBar(entry.at, until, "you", open=not later))
    return bars
