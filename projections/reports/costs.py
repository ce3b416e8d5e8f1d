"""`costs`: tokens and money per session, agent, role and model. A turn counts by when it ended.

Usage that an agent did not report is unknown: such turns are counted separately, never as zero; an unnamed model is
null. Turns without an agent (commands that were run) have no costs to report. What a fork copies from its source was
paid once.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnAttemptFailed, TurnCancelled, TurnFailed
from projections.engine.ports import Database
from projections.facts import is_reported
from projections.reports.figures import Row, ordered, total_of
from projections.reports.ledger import Fact, Filters, Ledger, Values, unshared

LEDGER = Ledger(
    "costs",
    {
        "agent": "TEXT",
        "role": "TEXT",
        "model": "TEXT",
        "input_tokens": "BIGINT",
        "output_tokens": "BIGINT",
        "tokens": "BIGINT",
        "cost_micros": "BIGINT",
    },
)
COLUMNS = (
    "sessionId", "kind", "agent", "role", "model", "turns", "inputTokens", "outputTokens", "tokens", "costMicros",
    "turnsWithUnknownTokens", "turnsWithUnknownCost",
)  # fmt: skip


def _read(_: Database, recorded: Recorded) -> Values | None:
    event = recorded.event
    if not isinstance(event, TurnAnswered | TurnFailed | TurnAttemptFailed | TurnCancelled):
        return None
    usage = event.usage
    if not is_reported(event):
        return None
    return {
        "what": "turn",
        "agent": event.agent,
        "role": event.role,
        "model": None if isinstance(event, TurnCancelled) else event.model,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "tokens": usage.tokens,
        "cost_micros": usage.cost_micros,
    }


PROJECTION = LEDGER.projection(_read, TurnAnswered, TurnFailed, TurnAttemptFailed, TurnCancelled, version=3)


class Group(NamedTuple):
    """The key of a row."""

    session_id: str
    kind: str
    agent: str
    role: str
    model: str | None


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    facts = [fact for fact in unshared(LEDGER.facts(db, filters)) if filters.holds(fact.at)]
    groups: dict[Group, list[Fact]] = {}
    for fact in facts:
        group = Group(fact.session_id, fact.kind, fact["agent"], fact["role"], fact["model"])
        groups.setdefault(group, []).append(fact)
    rows = [_row(group, groups[group]) for group in _ordered(groups, facts)]
    by = {f"by{name.capitalize()}": _by(name, facts) for name in ("agent", "role", "model")}
    return rows, _sum(facts) | by


def _row(group: Group, facts: Sequence[Fact]) -> Row:
    return {
        "sessionId": group.session_id,
        "kind": group.kind,
        "agent": group.agent,
        "role": group.role,
        "model": group.model,
        **_sum(facts),
    }


def _ordered(groups: Iterable[Group], facts: Sequence[Fact]) -> list[Group]:
    """Sessions in the order of their first turn, then agents, roles and models by name."""
    first: dict[str, int] = {}
    for fact in facts:
        first.setdefault(fact.session_id, fact.position)
    return sorted(groups, key=lambda group: (first[group.session_id], *(ordered(part) for part in group)))


def _by(name: str, facts: Iterable[Fact]) -> list[Row]:
    groups: dict[str | None, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact[name], []).append(fact)
    return [{name: value, **_sum(groups[value])} for value in sorted(groups, key=ordered)]


def _sum(facts: Sequence[Fact]) -> Row:
    return {
        "turns": len(facts),
        "inputTokens": total_of(fact["input_tokens"] for fact in facts),
        "outputTokens": total_of(fact["output_tokens"] for fact in facts),
        "tokens": total_of(fact["tokens"] for fact in facts),
        "costMicros": total_of(fact["cost_micros"] for fact in facts),
        "turnsWithUnknownTokens": sum(fact["tokens"] is None for fact in facts),
        "turnsWithUnknownCost": sum(fact["cost_micros"] is None for fact in facts),
    }
