"""The whole history: the strip has it on one line, states as bands of colour, what mattered as tall ticks; the list has
a window of its events, filtered by role or to what matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from api.web import svg
from api.web.model import clock
from api.web.plain_text import cut
from domain.orchestration.state import Orchestration
from domain.session.record import Recorded
from domain.session.state import Session
from domain.values.base import DomainEvent
from domain.values.words import Language
from projections.engine.ports import Histories
from projections.record import timeline
from projections.record.describe import describe
from projections.record.important import tone_of
from projections.record.markdown import plain
from projections.record.records import Record
from projections.record.trail import Trail, upto

WIDTH, HEIGHT = 1000, 26
BUCKETS = 500
"""Pieces that a strip is made of, at most: of longer histories several events share one."""
EACH = 150
"""Events of a history that is short enough for a low tick each."""
LISTED = 1_000
"""Highlights that the keys step through, the newest."""
_WORST = ("bad", "ask", "good", "note")


class Strip(NamedTuple):
    """`lights`: the newest highlights, `important`: the number of all."""

    drawn: Markup
    lights: Sequence[int]
    important: int


def strip(trail: Trail, newest: int, title: str) -> Strip:
    lights = upto(trail.lights, newest)
    return Strip(
        drawn=svg.svg(
            title,
            *_bands(trail, newest),
            *_ticks(trail, newest),
            width=WIDTH,
            height=HEIGHT,
            class_="strip",
            stretched="none",
        ),
        lights=[light.version for light in lights[-LISTED:]],
        important=len(lights),
    )


ROWS: Final = 60
"""Events sent at once; the script asks for more while one scrolls. Every row costs time at each step of a replay."""
MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """The events that are asked for: everybody's or those of some roles, what matters or all of them."""

    roles: tuple[str, ...] = ()
    highlights: bool = True


class MessagePart(NamedTuple):
    """Words of a message; with `at`, they are a moment, which the script shows in the reader's time."""

    words: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event in the list. `clock` is the time since the session began; `fits` is false for an event that the filter
    would leave out, but that is the one shown."""

    version: int
    clock: str
    role: str
    phase: str | None
    message: tuple["MessagePart", ...]
    highlight: bool
    tone: str
    fits: bool = True


class Span(NamedTuple):
    """The number of events up to version `at`, and of those after it."""

    at: int
    before: int
    after: int


def newest(version: int) -> Span:
    return Span(version, ROWS, 0)


def around(at: int) -> Span:
    return Span(at, ROWS // 2, ROWS // 2)


def following(version: int) -> Span:
    return Span(version - 1, 0, ROWS)


class RowWindow(NamedTuple):
    """`earlier` and `later` are the versions from which more rows can be loaded, 0 if there are none."""

    rows: Sequence[EventRow]
    earlier: int
    later: int


def window(
    record: Record,
    log: Histories,
    session: Session,
    wanted: Wanted,
    span: Span,
    language: Language,
    *,
    since: int = 0,
    shown: int | None = None,
) -> RowWindow:
    """The rows of a span, those after version `since` alone, and that of the event `shown` whatever the filter."""
    entries = timeline.around(
        record,
        log,
        session.id,
        span.at,
        before=span.before,
        after=span.after,
        newest=session.version,
        roles=wanted.roles,
        highlights=wanted.highlights,
        shown=shown,
    )
    versions = [line.entry.version for line in entries]
    upto = sum(version <= span.at for version in versions)
    began = record.entries[0].at if record.entries else session.created_at  # a fork has events of before it was created
    return RowWindow(
        rows=[_row(line, began, session, wanted, language) for line in entries if line.entry.version > since],
        earlier=versions[0] - 1 if entries and upto == span.before else 0,
        later=versions[-1] + 1 if span.after and len(entries) - upto == span.after else 0,
    )


def worded(recorded: Recorded, session: Session, language: Language) -> str:
    """The event in a sentence."""
    event = recorded.event
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    data, actor = event.model_dump(mode="json", by_alias=True), recorded.causation.actor
    words = describe(event.TOPIC, data, language, agents=agents, actor=actor)
    return cut(plain(words), MESSAGE)


def _parts(words: str, event: DomainEvent) -> tuple[MessagePart, ...]:
    """A message, with the moments that its event names as moments."""
    for name in ("retry_at", "deadline"):
        at: object = getattr(event, name, None)
        if not isinstance(at, str):
            continue
        for shown in (f"{at[11:19]} UTC", f"{at[:16].replace('T', ' ')} UTC"):
            before, match, after = words.partition(shown)
            if match:
                return (MessagePart(before), MessagePart(shown, at), MessagePart(after))
    return (MessagePart(words),)


def _bands(trail: Trail, newest: int) -> list[Markup]:
    """One rectangle for each stay in a state, neighbours of the same state joined."""
    steps = upto(trail.steps, newest)
    cells = min(newest, BUCKETS)
    bands: list[tuple[int, int, str]] = []
    place = -1
    for cell in range(cells):
        version = (cell + 1) * newest // cells
        while place + 1 < len(steps) and steps[place + 1].version <= version:
            place += 1
        state = steps[max(place, 0)].state if steps else ""
        if bands and bands[-1][2] == state:
            bands[-1] = (bands[-1][0], cell + 1, state)
        else:
            bands.append((cell, cell + 1, state))
    scale = WIDTH / max(1, cells)
    return [
        svg.element("rect", x=begin * scale, y=16, width=(end - begin) * scale, height=8, class_=f"band tone-{state}")
        for begin, end, state in bands
    ]


def _ticks(trail: Trail, newest: int) -> list[Markup]:
    """Tall for what mattered, of several in one place the gravest; low for the others while there are few."""
    cells = min(newest, BUCKETS)
    tones: dict[int, str] = {}
    for light in upto(trail.lights, newest):
        cell = (light.version * cells - 1) // newest
        tones[cell] = min(tones.get(cell, "note"), light.tone, key=_WORST.index)
    scale = WIDTH / max(1, cells)
    low = range(cells) if newest <= EACH else ()
    return [
        svg.line((cell + 0.5) * scale, 11, (cell + 0.5) * scale, 15, "moment") for cell in low if cell not in tones
    ] + [
        svg.element("rect", x=(cell + 0.5) * scale - 1.5, y=0, width=3, height=15, class_=f"light is-{tone}")
        for cell, tone in sorted(tones.items())
    ]


def _row(line: timeline.Happened, began: int, session: Session, wanted: Wanted, language: Language) -> EventRow:
    entry, event = line.entry, line.recorded.event
    return EventRow(
        version=entry.version,
        clock=clock(entry.at - began),
        role=cut(entry.role, 40),
        phase=entry.phase,
        message=_parts(worded(line.recorded, session, language), event),
        highlight=entry.highlight,
        tone=tone_of(event),
        fits=timeline.is_wanted(entry, wanted.roles, highlights=wanted.highlights),
    )
