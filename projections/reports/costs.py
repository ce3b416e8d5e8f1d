"""`costs`: tokens and money per session, agent, role and model. A turn counts by when it ended.

Usage that an agent did not report is unknown: such turns are counted separately, never as zero; an unnamed model is
null. Turns without an agent (commands that were run) have no costs to report. What a fork copies from its source was
paid once.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar, get_args

from domain.session.record import Recorded
from domain.session.turns import AttemptEnd, TurnCancelled
from projections.engine.ports import Database
from projections.facts import is_reported
from projections.reports.ledger import (
    AgentRow,
    Fact,
    Filters,
    Ledger,
    ReportRow,
    ReportTotals,
    Values,
    ordered,
    total_of,
    unshared,
)
from projections.views.base import View

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


def _read(_: Database, recorded: Recorded) -> Values | None:
    event = recorded.event
    if not isinstance(event, AttemptEnd | TurnCancelled):
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


PROJECTION = LEDGER.projection(_read, *get_args(AttemptEnd), TurnCancelled, version=3)


class Group(NamedTuple):
    """The key of a row."""

    session_id: str
    kind: str
    agent: str
    role: str
    model: str | None


class CostFigures(View):
    turns: int
    input_tokens: int | None
    output_tokens: int | None
    tokens: int | None
    cost_micros: int | None
    turns_with_unknown_tokens: int
    turns_with_unknown_cost: int


class CostKey(ReportRow):
    session_id: str
    kind: str
    agent: str
    role: str
    model: str | None


class CostRow(CostFigures, CostKey):
    """Turns of one session, agent, role and model."""


class _Role(ReportRow):
    role: str


class _Model(ReportRow):
    model: str | None


class AgentCosts(CostFigures, AgentRow):
    pass


class RoleCosts(CostFigures, _Role):
    pass


class ModelCosts(CostFigures, _Model):
    pass


class CostTotals(CostFigures, ReportTotals):
    by_agent: tuple[AgentCosts, ...]
    by_role: tuple[RoleCosts, ...]
    by_model: tuple[ModelCosts, ...]


def make(db: Database, filters: Filters) -> tuple[tuple[CostRow, ...], CostTotals]:
    facts = [fact for fact in unshared(LEDGER.facts(db, filters)) if filters.holds(fact.at)]
    groups: dict[Group, list[Fact]] = {}
    for fact in facts:
        group = Group(fact.session_id, fact.kind, fact["agent"], fact["role"], fact["model"])
        groups.setdefault(group, []).append(fact)
    rows = (CostRow(**group._asdict(), **dict(_figures(groups[group]))) for group in _ordered(groups, facts))
    return tuple(rows), CostTotals(
        **dict(_figures(facts)),
        by_agent=_by("agent", AgentCosts, facts),
        by_role=_by("role", RoleCosts, facts),
        by_model=_by("model", ModelCosts, facts),
    )


def _ordered(groups: Iterable[Group], facts: Sequence[Fact]) -> list[Group]:
    """Sessions in the order of their first turn, then agents, roles and models by name."""
    first: dict[str, int] = {}
    for fact in facts:
        first.setdefault(fact.session_id, fact.position)
    return sorted(groups, key=lambda group: (first[group.session_id], *(ordered(part) for part in group)))


R = TypeVar("R", bound=CostFigures)


def _by(name: str, row: type[R], facts: Iterable[Fact]) -> tuple[R, ...]:
    groups: dict[str | None, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact[name], []).append(fact)
    return tuple(row(**{name: value}, **dict(_figures(groups[value]))) for value in sorted(groups, key=ordered))


def _figures(facts: Sequence[Fact]) -> CostFigures:
    return CostFigures(
        turns=len(facts),
        input_tokens=total_of(fact["input_tokens"] for fact in facts),
        output_tokens=total_of(fact["output_tokens"] for fact in facts),
        tokens=total_of(fact["tokens"] for fact in facts),
        cost_micros=total_of(fact["cost_micros"] for fact in facts),
        turns_with_unknown_tokens=sum(fact["tokens"] is None for fact in facts),
        turns_with_unknown_cost=sum(fact["cost_micros"] is None for fact in facts),
    )
