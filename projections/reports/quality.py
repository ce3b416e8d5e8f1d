"""`quality`: how often work passes, by `measure`. Everything counts by its own time.

- `verdict`: the judge of an orchestration, per agent, role and phase. `unread` are failures without a verdict,
  because the judge was unreadable (K-15): they count in no rate. `overturned`: passed, then sent back by a person.
- `review`: a delivery's own reviewer, per iteration, with the blocking issues.
- `validation`: a delivery's validation commands, per iteration.
"""

from collections.abc import Iterable, Sequence

from domain.delivery import events as delivery
from domain.orchestration import events as orchestration
from domain.orchestration.phases import AgentPhases
from domain.session.record import Recorded
from projections.engine.ports import Database
from projections.reports.figures import Row, ordered, share
from projections.reports.ledger import Fact, Filters, Ledger, Values, unshared

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
COLUMNS = (
    "measure", "agent", "role", "phase", "iteration", "judged", "passed", "failed", "unread", "overturned", "passRate",
    "blockingIssues", "blockingIssuesMean",
)  # fmt: skip
MEASURES = ("verdict", "review", "validation")
_Group = tuple[str, str | None, str | None, int | None, int | None]


def _read(db: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case orchestration.PlanMade() | orchestration.Continued() as event:
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
    orchestration.VerdictGiven,
    orchestration.VerdictOverturned,
    delivery.ReviewBlockingDetected,
    delivery.ReviewApproved,
    delivery.TestsPassed,
    delivery.ValidationFailed,
    tables={_AGENTS: "session_id TEXT NOT NULL, place BIGINT NOT NULL, role TEXT, PRIMARY KEY (session_id, place)"},
)


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    facts = [fact for fact in unshared(LEDGER.facts(db, filters)) if filters.holds(fact.at)]
    groups: dict[_Group, list[Fact]] = {}
    for fact in facts:
        group = (fact.what, fact["agent"], fact["role"], fact["phase"], fact["iteration"])
        groups.setdefault(group, []).append(fact)
    rows = [dict(zip(COLUMNS, group, strict=False)) | _row(groups[group]) for group in sorted(groups, key=_order)]
    return rows, {measure: _row([fact for fact in facts if fact.what == measure]) for measure in MEASURES}


def _order(group: _Group) -> tuple[object, ...]:
    return (MEASURES.index(group[0]), *map(ordered, group[1:]))


def _row(facts: Sequence[Fact]) -> Row:
    """`judged` are those that passed or failed; overturned work had passed before, in a separate fact."""
    counts = {
        name: sum(fact["outcome"] == name for fact in facts) for name in ("passed", "failed", "unread", "overturned")
    }
    judged = counts["passed"] + counts["failed"]
    issues = [fact["issues"] for fact in facts if fact["issues"] is not None]
    return {
        "judged": judged,
        **counts,
        "passRate": share(counts["passed"], judged),
        "blockingIssues": sum(issues) if issues else None,
        "blockingIssuesMean": round(sum(issues) / len(issues), 2) if issues else None,
    }
