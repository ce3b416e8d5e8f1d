"""`budgets`: what each session was planned to use, what it was granted in the end, and what it used. A session counts
by when it began.

A delivery has iterations and milliseconds of budget time, the other kinds have rounds. Tokens and money include those
of the discussions that the session requested, as in its own budget; `costs` counts them once, this report does not sum
them. `extensions` are recorded commands of people; `exhausted` says what is used up, and is null once more was given.
"""

from collections.abc import Sequence

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.children import ChildClosed
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnAttemptFailed, TurnCancelled, TurnFailed
from domain.values.budget import NOTHING, BudgetLimits
from projections.engine.ports import Database
from projections.facts import spent_by
from projections.reports.figures import Row, total_of
from projections.reports.ledger import Fact, Filters, Ledger, Values

_AMOUNTS = ("iterations", "ms", "rounds", "tokens", "cost_micros")
LEDGER = Ledger("budgets", {**dict.fromkeys(_AMOUNTS, "BIGINT"), "unknown": "BIGINT", "reason": "TEXT"})
COLUMNS = (
    "sessionId", "kind", "plannedIterations", "grantedIterations", "usedIterations", "plannedMs", "grantedMs", "usedMs",
    "plannedRounds", "grantedRounds", "usedRounds", "maxTokens", "tokens", "maxCostMicros", "costMicros",
    "unknownTurns", "extensions", "exhausted",
)  # fmt: skip
_SUMMED = tuple(f"{stage}{what}" for what in ("Iterations", "Ms", "Rounds") for stage in ("planned", "granted", "used"))


def _read(_: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case TurnAnswered() | TurnFailed() | TurnAttemptFailed() | TurnCancelled() | ChildClosed() as event:
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


def _spent(event: TurnAnswered | TurnFailed | TurnAttemptFailed | TurnCancelled | ChildClosed) -> Values | None:
    """The same count as in the session itself."""
    spent = spent_by(event)
    if spent is None or (spent == NOTHING and not isinstance(event, ChildClosed)):
        return None
    return {"what": "spent", "tokens": spent.tokens, "cost_micros": spent.cost_micros, "unknown": spent.unknown}


def _of_delivery(event: delivery.DeliveryEvent) -> Values | None:
    match event:
        case delivery.DeliveryStarted():
            return {"what": "planned", **_limits(event.limits)}
        case delivery.BudgetExtended():
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
        case orchestration.Continued() | orchestration.RoundsAdded():
            return {"what": "extended", "rounds": event.last_round}
        case orchestration.RoundStart():
            return {"what": "used", "rounds": event.round}
        case orchestration.PartialReached(reason="rounds"):
            return {"what": "exhausted", "reason": "rounds"}
        case _:
            return None


PROJECTION = LEDGER.projection(
    _read,
    TurnAnswered,
    TurnFailed,
    TurnAttemptFailed,
    TurnCancelled,
    ChildClosed,
    delivery.DeliveryEvent,
    orchestration.OrchestrationEvent,
    discussion.RoundAdded,
    discussion.LimitReached,
    version=2,
)


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    rows = [_row(facts) for facts in LEDGER.by_session(db, filters).values() if facts[0].what == "planned"]
    return rows, {
        "sessions": len(rows),
        "extended": sum(row["extensions"] > 0 for row in rows),
        "exhausted": sum(row["exhausted"] is not None for row in rows),
        **{name: total_of(row[name] for row in rows) for name in _SUMMED},
    }


def _row(facts: Sequence[Fact]) -> Row:
    planned = facts[0]
    granted = [fact for fact in facts if fact.what in ("planned", "granted", "extended")]
    spent = [fact for fact in facts if fact.what == "spent"]
    row: Row = {"sessionId": planned.session_id, "kind": planned.kind}
    for name in ("iterations", "ms", "rounds"):
        row |= _amount(name, planned, granted, facts)
    return row | {
        "maxTokens": granted[-1]["tokens"],
        "tokens": total_of(fact["tokens"] for fact in spent),
        "maxCostMicros": granted[-1]["cost_micros"],
        "costMicros": total_of(fact["cost_micros"] for fact in spent),
        "unknownTurns": sum(fact["unknown"] for fact in spent),
        "extensions": sum(fact.what == "extended" for fact in facts),
        "exhausted": _exhausted(facts),
    }


def _amount(name: str, planned: Fact, granted: Sequence[Fact], facts: Sequence[Fact]) -> Row:
    """What the kind does not have is null; what it has but has not used yet is 0."""
    title = name.title()
    if planned[name] is None:
        return {f"planned{title}": None, f"granted{title}": None, f"used{title}": None}
    used = [fact[name] for fact in facts if fact.what in ("used", "exhausted") and fact[name] is not None]
    return {
        f"planned{title}": planned[name],
        f"granted{title}": next(fact[name] for fact in reversed(granted) if fact[name] is not None),
        f"used{title}": max(used, default=0),
    }


def _exhausted(facts: Sequence[Fact]) -> str | None:
    ends = [fact for fact in facts if fact.what in ("exhausted", "extended")]
    reason: str | None = ends[-1]["reason"] if ends else None
    return reason
