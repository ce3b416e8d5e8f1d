"""`waits`: what kept agents from answering, by hour, cause and agent: failed attempts, the waits after them, and what
was lost.

A row counts by when the attempt failed. A wait is as long as it was planned, or until a person had the turn asked at
once; one that goes on has lasted until now. The time, tokens and money of a failed attempt are lost. What a fork copied
from its source counts once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar, get_args

from pydantic import Field

from domain.session.record import Recorded
from domain.session.turns import AttemptFailure, TurnCancelled, TurnFailed, TurnRetried
from domain.values.base import iso, milliseconds
from projections.engine.ports import Database
from projections.reports.ledger import (
    AgentRow,
    Fact,
    Filters,
    Ledger,
    ReportRow,
    ReportTotals,
    Values,
    total_of,
    unshared,
)
from projections.views.base import View

LEDGER = Ledger(
    "waits",
    {
        "turn_id": "TEXT",
        "cause": "TEXT",
        "agent": "TEXT",
        "until": "BIGINT",
        "lost_ms": "BIGINT",
        "tokens": "BIGINT",
        "cost_micros": "BIGINT",
    },
)
HOUR = 3_600_000
AGAIN, LAST, ENDED = "again", "last", "ended"
"""A failed attempt with another one to follow, the last attempt of a turn, and what ends a wait early."""


def _read(_: Database, recorded: Recorded) -> Values | None:
    event = recorded.event
    match event:
        case TurnRetried() | TurnCancelled():
            return {"what": ENDED, "turn_id": event.turn_id}
        case _ if isinstance(event, AttemptFailure):
            until = None if isinstance(event, TurnFailed) else event.retry_at
            return {
                "what": LAST if isinstance(event, TurnFailed) else AGAIN,
                "turn_id": event.turn_id,
                "cause": event.failure.code,
                "agent": event.agent,
                "until": None if until is None else milliseconds(until),
                "lost_ms": round(event.seconds * 1_000),
                "tokens": event.usage.tokens,
                "cost_micros": event.usage.cost_micros,
            }
    return None


PROJECTION = LEDGER.projection(_read, *get_args(AttemptFailure), TurnRetried, TurnCancelled)


class WaitGroup(NamedTuple):
    """The key of a row."""

    hour: str
    cause: str
    agent: str


class WaitFigures(View):
    attempts: int = Field(description="that failed")
    failures: int = Field(description="without a further attempt")
    waits: int
    waited_ms: int
    lost_ms: int
    tokens: int | None
    cost_micros: int | None


class _Hour(ReportRow):
    hour: str


class _Cause(ReportRow):
    cause: str


class WaitKey(AgentRow, _Cause, _Hour):
    pass


class WaitRow(WaitFigures, WaitKey):
    """Failed attempts of one hour, cause and agent."""


class HourWaits(WaitFigures, _Hour):
    pass


class CauseWaits(WaitFigures, _Cause):
    pass


class AgentWaits(WaitFigures, AgentRow):
    pass


class WaitTotals(WaitFigures, ReportTotals):
    by_hour: tuple[HourWaits, ...]
    by_cause: tuple[CauseWaits, ...]
    by_agent: tuple[AgentWaits, ...]


def make(db: Database, filters: Filters) -> tuple[tuple[WaitRow, ...], WaitTotals]:
    facts = unshared(LEDGER.facts(db, filters))
    waited = _waited(facts, filters.now)
    attempts = [fact for fact in facts if fact.what != ENDED and filters.holds(fact.at)]
    groups: dict[WaitGroup, list[Fact]] = defaultdict(list)
    for fact in attempts:
        groups[_group(fact)].append(fact)
    rows = (WaitRow(**group._asdict(), **dict(_figures(groups[group], waited))) for group in sorted(groups))
    return tuple(rows), WaitTotals(
        **dict(_figures(attempts, waited)),
        by_hour=_by("hour", HourWaits, attempts, waited),
        by_cause=_by("cause", CauseWaits, attempts, waited),
        by_agent=_by("agent", AgentWaits, attempts, waited),
    )


def _group(fact: Fact) -> WaitGroup:
    return WaitGroup(iso(fact.at // HOUR * HOUR), fact["cause"], fact["agent"])


def _waited(facts: Iterable[Fact], now: int | None) -> Counter[int]:
    """The milliseconds waited after each failed attempt, by its position."""
    waited: Counter[int] = Counter()
    waiting: dict[tuple[str, str], Fact] = {}
    for fact in facts:
        turn = (fact.session_id, fact["turn_id"])
        before = waiting.pop(turn, None)
        if before is not None and fact.what == ENDED:
            waited[before.position] = min(before["until"], fact.at) - before.at
        if fact["until"] is not None:
            waiting[turn] = fact
            until = fact["until"] if now is None else min(fact["until"], now)
            waited[fact.position] = max(0, until - fact.at)
    return waited


R = TypeVar("R", bound=WaitFigures)


def _by(name: str, row: type[R], facts: Iterable[Fact], waited: Counter[int]) -> tuple[R, ...]:
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[getattr(_group(fact), name)].append(fact)
    return tuple(row(**{name: value}, **dict(_figures(groups[value], waited))) for value in sorted(groups))


def _figures(facts: Sequence[Fact], waited: Counter[int]) -> WaitFigures:
    return WaitFigures(
        attempts=len(facts),
        failures=sum(fact.what == LAST for fact in facts),
        waits=sum(fact["until"] is not None for fact in facts),
        waited_ms=sum(waited[fact.position] for fact in facts),
        lost_ms=sum(fact["lost_ms"] for fact in facts),
        tokens=total_of(fact["tokens"] for fact in facts),
        cost_micros=total_of(fact["cost_micros"] for fact in facts),
    )
