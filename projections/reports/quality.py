"""`quality`: how often work passes, by `measure`. Everything counts by its own time.

- `verdict`: the judge of an orchestration, per agent, role and phase. `unread` are failures without a verdict,
  because the judge was unreadable (K-15): they count in no rate. `overturned`: passed, then sent back by a person.
- `review`: a delivery's own reviewer, per iteration, with the blocking issues.
- `validation`: a delivery's validation commands, per iteration.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import Field

from domain.delivery import events as delivery
from domain.orchestration import events as orchestration
from domain.session.record import Recorded
from domain.values.phases import AgentPhases
from projections.engine.ports import Database
from projections.reports.ledger import Fact, Filters, Ledger, ReportRow, ReportTotals, Values, ordered, share, unshared
from projections.views.base import View

_AGENTS = "report_quality_agents"
LEDGER = Ledger(
    "quality",
    {
        "agent": "TEXT",
        "role": "TEXT",
        "phase": "BIGINT",
        "iteration": "BIGINT",
        "outcome": "TEXT",
        "issues": "BIGINT",
    },
)
MEASURES = ("verdict", "review", "validation")


class QualityGroup(NamedTuple):
    """The key of a row."""

    measure: str
    agent: str | None
    role: str | None
    phase: int | None
    iteration: int | None


def _read(db: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case orchestration.PlanMade() | orchestration.Continued() | orchestration.RunRevisionBegun() as event:
            _remember(db, recorded.session_id, event.agents)
            return None
        case orchestration.VerdictGiven() as event:
            outcome = "passed" if event.passed else "failed" if event.judged else "unread"
            return {"outcome": outcome} | _agent(db, recorded.session_id, event)
        case orchestration.VerdictOverturned() as event:
            return {"outcome": "overturned"} | _agent(db, recorded.session_id, event)
        case delivery.ReviewBlockingDetected() as event:
            return _iteration("review", "failed", event) | {"issues": len(event.blocking_issues)}
        case delivery.ReviewApproved() as event:
            return _iteration("review", "passed", event) | {"issues": 0}
        case delivery.TestsPassed() as event:
            return _iteration("validation", "passed", event)
        case delivery.FlakySeen() as event:
            return _iteration("validation", "flaky", event)
        case delivery.ValidationFailed() as event:
            return _iteration("validation", "failed", event)
        case _:
            return None


def _remember(db: Database, session_id: str, agents: Iterable[AgentPhases]) -> None:
    """A verdict names the agent's place; the role is in the plan."""
    for place, agent in enumerate(agents):
        db.execute(
            f"INSERT INTO {_AGENTS} VALUES (?, ?, ?)"
            " ON CONFLICT (session_id, place) DO UPDATE SET role = excluded.role",
            (session_id, place, agent.role),
        )


def _agent(
    db: Database, session_id: str, event: orchestration.VerdictGiven | orchestration.VerdictOverturned
) -> dict[str, object]:
    row = db.execute(
        f"SELECT role FROM {_AGENTS} WHERE session_id = ? AND place = ?", (session_id, event.index)
    ).fetchone()
    return {"what": "verdict", "agent": event.agent, "role": row[0] if row else None, "phase": event.phase}


def _iteration(measure: str, outcome: str, event: delivery.DeliveryEvent) -> dict[str, object]:
    return {"what": measure, "outcome": outcome, "iteration": event.iteration}


PROJECTION = LEDGER.projection(
    _read,
    orchestration.PlanMade,
    orchestration.Continued,
    orchestration.RunRevisionBegun,
    orchestration.VerdictGiven,
    orchestration.VerdictOverturned,
    delivery.ReviewBlockingDetected,
    delivery.ReviewApproved,
    delivery.TestsPassed,
    delivery.FlakySeen,
    delivery.ValidationFailed,
    tables={_AGENTS: "session_id TEXT NOT NULL, place BIGINT NOT NULL, role TEXT, PRIMARY KEY (session_id, place)"},
)


class QualityFigures(View):
    judged: int = Field(description="those that passed or failed")
    passed: int
    failed: int
    unread: int = Field(description="failures without a verdict, because the judge's answer was unreadable")
    overturned: int = Field(description="passed, then sent back by a person")
    flaky: int = Field(default=0, description="commands that failed and passed on the same tree; they count as passed")
    pass_rate: float | None
    blocking_issues: int | None
    blocking_issues_mean: float | None


class QualityKey(ReportRow):
    measure: str
    agent: str | None
    role: str | None
    phase: int | None
    iteration: int | None


class QualityRow(QualityFigures, QualityKey):
    """A measure: of verdicts by agent, role and phase; of reviews and validations by iteration."""


class QualityTotals(ReportTotals):
    verdict: QualityFigures
    review: QualityFigures
    validation: QualityFigures


def make(db: Database, filters: Filters) -> tuple[tuple[QualityRow, ...], QualityTotals]:
    facts = [fact for fact in unshared(LEDGER.facts(db, filters)) if filters.holds(fact.at)]
    groups: dict[QualityGroup, list[Fact]] = {}
    for fact in facts:
        group = QualityGroup(fact.what, fact["agent"], fact["role"], fact["phase"], fact["iteration"])
        groups.setdefault(group, []).append(fact)
    rows = (QualityRow(**group._asdict(), **dict(_figures(groups[group]))) for group in sorted(groups, key=_order))
    by_measure = {name: _figures([fact for fact in facts if fact.what == name]) for name in MEASURES}
    return tuple(rows), QualityTotals(**by_measure)


def _order(group: QualityGroup) -> tuple[object, ...]:
    return (MEASURES.index(group.measure), *map(ordered, group[1:]))


def _figures(facts: Sequence[Fact]) -> QualityFigures:
    outcomes = Counter(fact["outcome"] for fact in facts)
    judged = outcomes["passed"] + outcomes["failed"]
    issues = [fact["issues"] for fact in facts if fact["issues"] is not None]
    return QualityFigures(
        judged=judged,
        passed=outcomes["passed"],
        failed=outcomes["failed"],
        unread=outcomes["unread"],
        overturned=outcomes["overturned"],
        flaky=outcomes["flaky"],
        pass_rate=share(outcomes["passed"], judged),
        blocking_issues=sum(issues) if issues else None,
        blocking_issues_mean=round(sum(issues) / len(issues), 2) if issues else None,
    )
