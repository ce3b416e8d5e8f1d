"""`budgets`: what each session was planned to use, what it was granted in the end, and what it used. A session counts
by when it began.

A delivery has iterations and milliseconds of budget time, the other kinds have rounds. Tokens and money include those
of the discussions that the session requested, as in its own budget; `costs` counts them once, this report does not sum
them. `extensions` are recorded commands of people; `exhausted` says what is used up, and is null after an extension.
"""

from collections.abc import Sequence
from typing import get_args

from pydantic import Field

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.children import ChildClosed
from domain.session.record import Recorded
from domain.values.budget import BudgetLimits, Used
from projections.engine.ports import Database
from projections.facts import Spending, spent_by
from projections.reports.ledger import Fact, Filters, Ledger, ReportRow, ReportTotals, Values, total_of
from projections.views.base import View

_NOTHING = Used(None, None, 0)
_AMOUNTS = ("iterations", "ms", "rounds", "tokens", "cost_micros")
LEDGER = Ledger("budgets", {**dict.fromkeys(_AMOUNTS, "BIGINT"), "unknown": "BIGINT", "reason": "TEXT"})


def _read(_: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case event if isinstance(event, Spending):
            return _spent(event)
        case delivery.DeliveryEvent() as event:
            return _of_delivery(event)
        case orchestration.OrchestrationEvent() as event:
            return _of_orchestration(event)
        case discussion.DiscussionStarted(topic=topic):
            return {"what": "planned", "rounds": topic.max_rounds}
        case discussion.RoundAdded() as event:
            return {"what": "used", "rounds": event.round}
        case discussion.LimitReached():
            return {"what": "exhausted", "reason": "rounds"}
        case _:
            return None


def _spent(event: Spending) -> Values | None:
    """The same count as in the session itself."""
    spent = spent_by(event)
    if spent is None or (spent == _NOTHING and not isinstance(event, ChildClosed)):
        return None
    return {"what": "spent", "tokens": spent.tokens, "cost_micros": spent.cost_micros, "unknown": spent.unknown}


def _of_delivery(event: delivery.DeliveryEvent) -> Values | None:
    match event:
        case delivery.DeliveryStarted():
            return {"what": "planned", **_limits(event.limits)}
        case delivery.BudgetExtended() | delivery.RevisionBegun(more=True):
            return {"what": "extended", **_limits(event.limits)}
        case delivery.BudgetExhausted():
            return {"what": "exhausted", "ms": event.elapsed_ms, "reason": event.reason}
        case delivery.AttemptStarted():
            return {"what": "used", "iterations": event.iteration, "ms": event.elapsed_ms}
        case delivery.PhaseCompleted() | delivery.PhaseFailed() | delivery.SessionFinished():
            return {"what": "used", "ms": event.elapsed_ms}
        case _:
            return None


def _limits(limits: BudgetLimits) -> Values:
    return {
        "iterations": limits.max_iterations,
        "ms": limits.max_minutes * limits.minute,
        "tokens": limits.max_tokens,
        "cost_micros": limits.max_cost_micros,
    }


def _of_orchestration(event: orchestration.OrchestrationEvent) -> Values | None:
    match event:
        case orchestration.OrchestrationStarted(opening=opening):
            return {"what": "planned", "rounds": opening.max_rounds}
        case orchestration.PlanMade():
            return {"what": "granted", "rounds": event.last_round}
        case orchestration.Continued() | orchestration.RoundsAdded() | orchestration.RunRevisionBegun(more=True):
            return {"what": "extended", "rounds": event.last_round}
        case orchestration.RoundStart():
            return {"what": "used", "rounds": event.round}
        case orchestration.PartialReached(reason="rounds"):
            return {"what": "exhausted", "reason": "rounds"}
        case _:
            return None


PROJECTION = LEDGER.projection(
    _read,
    *get_args(Spending),
    delivery.DeliveryEvent,
    orchestration.OrchestrationEvent,
    discussion.RoundAdded,
    discussion.LimitReached,
    version=2,
)


class BudgetAmounts(View):
    """The amounts of a budget. Those that a kind does not have are null; what it has but has not used yet is 0."""

    planned_iterations: int | None
    granted_iterations: int | None
    used_iterations: int | None
    planned_ms: int | None
    granted_ms: int | None
    used_ms: int | None
    planned_rounds: int | None
    granted_rounds: int | None
    used_rounds: int | None


class BudgetKey(ReportRow):
    session_id: str
    kind: str


class BudgetRow(BudgetAmounts, BudgetKey):
    """A session: what it was planned to use, what it was granted in the end, and what it used."""

    max_tokens: int | None
    tokens: int | None
    max_cost_micros: int | None
    cost_micros: int | None
    unknown_turns: int = Field(description="turns that did not report what they used")
    extensions: int
    exhausted: str | None = Field(description="what is used up; null after the budget was extended")


class BudgetCounts(ReportTotals):
    sessions: int
    extended: int
    exhausted: int


class BudgetTotals(BudgetAmounts, BudgetCounts):
    pass


def make(db: Database, filters: Filters) -> tuple[tuple[BudgetRow, ...], BudgetTotals]:
    rows = [_row(facts) for facts in LEDGER.by_session(db, filters).values() if facts[0].what == "planned"]
    return tuple(rows), BudgetTotals(
        sessions=len(rows),
        extended=sum(row.extensions > 0 for row in rows),
        exhausted=sum(row.exhausted is not None for row in rows),
        **{name: total_of(getattr(row, name) for row in rows) for name in BudgetAmounts.model_fields},
    )


def _row(facts: Sequence[Fact]) -> BudgetRow:
    planned = facts[0]
    granted = [fact for fact in facts if fact.what in ("planned", "granted", "extended")]
    spent = [fact for fact in facts if fact.what == "spent"]
    amounts: dict[str, int | None] = {}
    for name in ("iterations", "ms", "rounds"):
        amounts |= _amount(name, planned, granted, facts)
    return BudgetRow(
        session_id=planned.session_id,
        kind=planned.kind,
        **amounts,
        max_tokens=granted[-1]["tokens"],
        tokens=total_of(fact["tokens"] for fact in spent),
        max_cost_micros=granted[-1]["cost_micros"],
        cost_micros=total_of(fact["cost_micros"] for fact in spent),
        unknown_turns=sum(fact["unknown"] for fact in spent),
        extensions=sum(fact.what == "extended" for fact in facts),
        exhausted=_exhausted(facts),
    )


def _amount(name: str, planned: Fact, granted: Sequence[Fact], facts: Sequence[Fact]) -> dict[str, int | None]:
    """Returns what the kind does not have is None; what it has but has not used yet is 0."""
    if planned[name] is None:
        return {f"planned_{name}": None, f"granted_{name}": None, f"used_{name}": None}
    used = [fact[name] for fact in facts if fact.what in ("used", "exhausted") and fact[name] is not None]
    return {
        f"planned_{name}": planned[name],
        f"granted_{name}": next(fact[name] for fact in reversed(granted) if fact[name] is not None),
        f"used_{name}": max(used, default=0),
    }


def _exhausted(facts: Sequence[Fact]) -> str | None:
    ends = [fact for fact in facts if fact.what in ("exhausted", "extended")]
    reason: str | None = ends[-1]["reason"] if ends else None
    return reason
