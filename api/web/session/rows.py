"""The list of events: a window of it, filtered by role or to what matters, with its place in the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final, NamedTuple, Protocol

from api.web.model import clock
from api.web.session.marks import tone_of
from api.web.shown import cut
from domain.orchestration.events import VerdictGiven
from domain.orchestration.state import Orchestration
from domain.session.record import Recorded
from domain.session.state import Session
from domain.values.base import DomainEvent
from domain.values.time import iso
from domain.values.words import Language
from projections.engine.ports import Database
from projections.record import timeline
from projections.record.describe import describe
from projections.record.markdown import plain

ROWS: Final = 60
"""Events sent at once; the script asks for more while one scrolls. Every row costs time at each step of a replay."""
MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: everybody's events or those of some roles, all of them or what matters."""

    roles: tuple[str, ...] = ()
    highlights: bool = False


@dataclass(frozen=True, slots=True)
class Row:
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


class Log(Protocol):
    """Where the events of a session are read."""

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> list[Recorded]: ...


def window(
    db: Database, log: Log, session: Session, wanted: Wanted, span: Span, language: Language, *, since: int = 0
) -> dict[str, Any]:
    """The rows of a span, those after version `since` alone; `earlier` and `later` are the versions at which the list
    goes on, 0 where it does not."""
    found = timeline.around(
        db, session.id, span.at, before=span.before, behind=span.after, roles=wanted.roles, highlights=wanted.highlights
    )
    found = [item for item in found if item["version"] <= session.version]
    upto = sum(item["version"] <= span.at for item in found)
    return {
        "rows": list(_rows(log, session, [item for item in found if item["version"] > since], language)),
        "earlier": found[0]["version"] - 1 if found and upto == span.before else 0,
        "later": found[-1]["version"] + 1 if span.after and len(found) - upto == span.after else 0,
    }


def _rows(log: Log, session: Session, items: Sequence[dict[str, Any]], language: Language) -> Iterator[Row]:
    began = datetime.fromisoformat(iso(session.created_at))
    agents = [agent.agent for agent in session.agents] if isinstance(session, Orchestration) else []
    for item, event in zip(items, _events(log, session.id, items), strict=True):
        data = event.model_dump(mode="json", by_alias=True)
        since = datetime.fromisoformat(item["at"]) - began
        yield Row(
            version=item["version"],
            clock=clock(round(since.total_seconds() * 1000)),
            role=cut(item["role"], 40),
            phase=item["phase"],
            message=cut(plain(describe(event.TOPIC, data, language, agents=agents)), MESSAGE),
            highlight=item["highlight"],
            tone=_tone(event),
        )


def _events(log: Log, session_id: str, items: Sequence[dict[str, Any]]) -> Iterator[DomainEvent]:
    """The events of the rows; neighbours are read at once."""
    for _, run in groupby(enumerate(items), lambda numbered: numbered[1]["version"] - numbered[0]):
        versions = [item["version"] for _, item in run]
        for recorded in log.history(session_id, after=versions[0] - 1, upto=versions[-1]):
            yield recorded.event


def _tone(event: DomainEvent) -> str:
    if isinstance(event, VerdictGiven):
        return "good" if event.passed else "bad"
    return tone_of(event.TOPIC)
