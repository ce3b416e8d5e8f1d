"""`waits`: what kept agents from answering, by hour, cause and agent: failed attempts, the waits after them, and what
was lost.

A row counts by when the attempt failed. A wait is as long as it was planned, or until a person had the turn asked at
once. The time, tokens and money of a failed attempt are lost. What a fork copied from its source counts once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from domain.session.record import Recorded
from domain.session.turns import TurnAttemptFailed, TurnCancelled, TurnFailed, TurnRetried
from domain.values.time import iso, milliseconds
from projections.engine.ports import Database
from projections.reports.figures import Row, total_of
from projections.reports.ledger import Fact, Filters, Ledger, Values, unshared

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
COLUMNS = (
    "hour", "cause", "agent", "attempts", "failures", "waits", "waitedMs", "lostMs", "tokens", "costMicros",
)  # fmt: skip
HOUR = 3_600_000
AGAIN, LAST, ENDED = "again", "last", "ended"
"""A failed attempt with another one to follow, the last attempt of a turn, and what ends a wait early."""


def _read(_: Database, recorded: Recorded) -> Values | None:
    event = recorded.event
    match event:
        case TurnRetried() | TurnCancelled():
            return {"what": ENDED, "turn_id": event.turn_id}
        case TurnAttemptFailed() | TurnFailed():
            until = event.retry_at if isinstance(event, TurnAttemptFailed) else None
            return {
                "what": AGAIN if isinstance(event, TurnAttemptFailed) else LAST,
                "turn_id": event.turn_id,
                "cause": event.failure.code,
                "agent": event.agent,
                "until": None if until is None else milliseconds(until),
                "lost_ms": round(event.seconds * 1_000),
                "tokens": event.usage.tokens,
                "cost_micros": event.usage.cost_micros,
            }
    return None


PROJECTION = LEDGER.projection(_read, TurnAttemptFailed, TurnFailed, TurnRetried, TurnCancelled)


class WaitGroup(NamedTuple):
    """The key of a row."""

    hour: str
    cause: str
    agent: str


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    facts = unshared(LEDGER.facts(db, filters))
    waited = _waited(facts)
    attempts = [fact for fact in facts if fact.what != ENDED and filters.holds(fact.at)]
    groups: dict[WaitGroup, list[Fact]] = defaultdict(list)
    for fact in attempts:
        groups[_group(fact)].append(fact)
    rows = [{**group._asdict(), **_sum(groups[group], waited)} for group in sorted(groups)]
    by = {f"by{name.capitalize()}": _by(name, attempts, waited) for name in WaitGroup._fields}
    return rows, _sum(attempts, waited) | by


def _group(fact: Fact) -> WaitGroup:
    return WaitGroup(iso(fact.at // HOUR * HOUR), fact["cause"], fact["agent"])


def _waited(facts: Iterable[Fact]) -> Counter[int]:
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
            waited[fact.position] = max(0, fact["until"] - fact.at)
    return waited


def _by(name: str, facts: Iterable[Fact], waited: Counter[int]) -> list[Row]:
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[getattr(_group(fact), name)].append(fact)
    return [{name: value, **_sum(groups[value], waited)} for value in sorted(groups)]


def _sum(facts: Sequence[Fact], waited: Counter[int]) -> Row:
    return {
        "attempts": len(facts),
        "failures": sum(fact.what == LAST for fact in facts),
        "waits": sum(fact["until"] is not None for fact in facts),
        "waitedMs": sum(waited[fact.position] for fact in facts),
        "lostMs": sum(fact["lost_ms"] for fact in facts),
        "tokens": total_of(fact["tokens"] for fact in facts),
        "costMicros": total_of(fact["cost_micros"] for fact in facts),
    }
