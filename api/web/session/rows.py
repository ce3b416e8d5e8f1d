"""The list of events: a window of it, filtered by role or to what matters, with its place in the whole."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from api.web.model import clock
from api.web.plain_text import cut
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from domain.values.base import DomainEvent
from domain.values.words import Language
from projections.engine.ports import Histories
from projections.record import timeline
from projections.record.describe import describe
from projections.record.markdown import plain
from projections.record.marks import tone_of
from projections.record.state import Record

ROWS: Final = 60
"""Events sent at once; the script asks for more while one scrolls. Every row costs time at each step of a replay."""
MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: everybody's events or those of some roles, all of them or what matters."""

    roles: tuple[str, ...] = ()
    highlights: bool = False


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event in the list. `clock` is the time since the session began."""

    version: int
    clock: str
    role: str
    phase: str | None
    message: str
    highlight: bool
    tone: str


class Span(NamedTuple):
    """How many events up to version `at`, and how many after it."""

    at: int
    before: int
    after: int


def newest(version: int) -> Span:
    return Span(version, ROWS, 0)


def around(at: int) -> Span:
    return Span(at, ROWS // 2, ROWS // 2)


def following(version: int) -> Span:
    return Span(version - 1, 0, ROWS)


def window(
    record: Record, log: Histories, session: Session, wanted: Wanted, span: Span, language: Language, *, since: int = 0
) -> dict[str, Any]:
    """The rows of a span, those after version `since` alone; `earlier` and `later` are the versions at which the list
    goes on, 0 where it does not."""
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
    )
    versions = [line.entry.version for line in entries]
    upto = sum(version <= span.at for version in versions)
    return {
        "rows": [_row(line, session, language) for line in entries if line.entry.version > since],
        "earlier": versions[0] - 1 if entries and upto == span.before else 0,
        "later": versions[-1] + 1 if span.after and len(entries) - upto == span.after else 0,
    }


def _row(line: timeline.Happened, session: Session, language: Language) -> EventRow:
    entry, event = line.entry, line.recorded.event
    return EventRow(
        version=entry.version,
        clock=clock(entry.at - session.created_at),
        role=cut(entry.role, 40),
        phase=entry.phase,
        message=worded(event, session, language),
        highlight=entry.highlight,
        tone=tone_of(entry.topic, passed=event.__dict__.get("passed")),
    )


def worded(event: DomainEvent, session: Session, language: Language) -> str:
    """The event in a sentence."""
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    words = describe(event.TOPIC, event.model_dump(mode="json", by_alias=True), language, agents=agents)
    return cut(plain(words), MESSAGE)
