"""`summary`: sessions by kind and status, with duration and rounds.

A session counts by when it began. `durationMs` is the time from its beginning until it stopped for the last time; for a
running session it is unknown. `rounds` are a delivery's iterations, and rounds for the other kinds.
"""

from collections.abc import Sequence

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.record import Recorded
from domain.values.base import DomainEvent
from projections.engine.ports import Database
from projections.facts import AT_REST, status_of
from projections.reports.figures import Row, spread
from projections.reports.ledger import Fact, Filters, Ledger, Values

LEDGER = Ledger("summary", {"status": "TEXT", "rounds": "BIGINT"})
COLUMNS = (
    "kind", "status", "sessions", "atRest", "durationMsMean", "durationMsMedian", "durationMsMax", "roundsMean",
    "roundsMedian", "roundsMax",
)  # fmt: skip


def _read(_: Database, recorded: Recorded) -> Values | None:
    event = recorded.event
    status = status_of(event)
    rounds = _rounds(event)
    if status is None and rounds is None:
        return None
    return {"what": "stood", "status": status, "rounds": rounds}


def _rounds(event: DomainEvent) -> int | None:
    match event:
        case delivery.AttemptStarted() | delivery.DeliveryStarted():
            return event.iteration
        case orchestration.RoundStart() | discussion.RoundAdded():
            return event.round
        case orchestration.OrchestrationStarted() | discussion.DiscussionStarted():
            return 0
        case _:
            return None


PROJECTION = LEDGER.projection(
    _read,
    delivery.DeliveryTransition,
    delivery.AttemptStarted,
    orchestration.OrchestrationTransition,
    orchestration.RoundStart,
    discussion.DiscussionTransition,
    discussion.RoundAdded,
)


def make(db: Database, filters: Filters) -> tuple[list[Row], Row]:
    groups: dict[tuple[str, str], list[tuple[int | None, int]]] = {}
    for facts in LEDGER.by_session(db, filters).values():
        status, took, rounds = _stands(facts)
        groups.setdefault((facts[0].kind, status), []).append((took, rounds))
    rows = [{"kind": kind, "status": status, **_row(groups[kind, status])} for kind, status in sorted(groups)]
    return rows, _row([stood for group in groups.values() for stood in group])


def _stands(facts: Sequence[Fact]) -> tuple[str, int | None, int]:
    """The session's status, how long it took (milliseconds) if it has stopped, and its rounds."""
    statuses = [fact for fact in facts if fact.values["status"] is not None]
    status = str(statuses[-1]["status"])
    rounds = max((fact["rounds"] for fact in facts if fact["rounds"] is not None), default=0)
    took = max(0, statuses[-1].at - facts[0].began) if status in AT_REST else None
    return status, took, rounds


def _row(group: Sequence[tuple[int | None, int]]) -> Row:
    durations = [took for took, _ in group if took is not None]
    return {
        "sessions": len(group),
        "atRest": len(durations),
        **spread("durationMs", durations),
        **spread("rounds", [rounds for _, rounds in group]),
    }
