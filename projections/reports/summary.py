"""`summary`: sessions by kind and status, with duration and rounds.

A session counts by when it began, a fork by when it was made. `durationMs` is the time from then until it stopped for
the last time; for a running session it is unknown. `rounds` are a delivery's iterations, and rounds for the other
kinds.

The newest status and rounds of each session have a table of their own: without `as_of`, no other fact is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.record import Recorded
from domain.values.base import DomainEvent
from projections.engine.ports import Database
from projections.facts import AT_REST, status_of
from projections.reports.ledger import Fact, Filters, Ledger, ReportRow, ReportTotals, Values, spread

LEDGER = Ledger("summary", {"status": "TEXT", "rounds": "BIGINT"})
LATEST_TABLE = "report_summary_latest"


def _read(_: Database, recorded: Recorded) -> Values | None:
    event = recorded.event
    status = status_of(event)
    rounds = _rounds(event)
    if status is None and rounds is None:
        return None
    return {"what": "stood", "status": status, "rounds": rounds}


_Latest = tuple[str, str, int | None, int]
"""Kind, status, duration in milliseconds (None: it runs), rounds."""


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


def _apply(db: Database, events: Sequence[Recorded]) -> None:
    latest: dict[str, tuple[int, str, int]] = {}

    def read(db: Database, recorded: Recorded) -> Values | None:
        change = _read(db, recorded)
        if change is not None:
            at, status, rounds = latest.get(recorded.session_id, (0, "", 0))
            if change["status"] is not None:
                at, status = recorded.at, change["status"]
            latest[recorded.session_id] = (at, status, max(rounds, change["rounds"] or 0))
        return change

    LEDGER.apply(db, events, read)
    db.insert(_SAVE, [(session_id, *values) for session_id, values in latest.items()])


_SAVE = (
    f"INSERT INTO {LATEST_TABLE} VALUES (?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET"
    f" at = CASE WHEN excluded.status = '' THEN {LATEST_TABLE}.at ELSE excluded.at END,"
    f" status = CASE WHEN excluded.status = '' THEN {LATEST_TABLE}.status ELSE excluded.status END,"
    f" rounds = CASE WHEN excluded.rounds > {LATEST_TABLE}.rounds THEN excluded.rounds ELSE {LATEST_TABLE}.rounds END"
)
"""Of a batch without a new status, only the rounds are new."""
PROJECTION = replace(
    LEDGER.projection(
        _read,
        delivery.DeliveryTransition,
        delivery.AttemptStarted,
        orchestration.OrchestrationTransition,
        orchestration.RoundStart,
        discussion.DiscussionTransition,
        discussion.RoundAdded,
        tables={
            LATEST_TABLE: "session_id TEXT PRIMARY KEY, at BIGINT NOT NULL, status TEXT NOT NULL,"
            " rounds BIGINT NOT NULL"
        },
    ),
    apply=_apply,
)


class SummaryFigures(ReportTotals):
    sessions: int
    at_rest: int = Field(description="how many have stopped; only these have a duration")
    duration_ms_mean: float | None
    duration_ms_median: float | None
    duration_ms_max: int | None
    rounds_mean: float | None
    rounds_median: float | None
    rounds_max: int | None


class SummaryKey(ReportRow):
    kind: str
    status: str


class SummaryRow(SummaryFigures, SummaryKey):
    """Sessions of one kind and status."""


def make(db: Database, filters: Filters) -> tuple[tuple[SummaryRow, ...], SummaryFigures]:
    groups: dict[tuple[str, str], list[tuple[int | None, int]]] = {}
    for kind, status, took, rounds in _now(db, filters) if filters.as_of is None else _then(db, filters):
        groups.setdefault((kind, status), []).append((took, rounds))
    rows = (
        SummaryRow(kind=kind, status=status, **dict(_figures(groups[kind, status]))) for kind, status in sorted(groups)
    )
    return tuple(rows), _figures([latest for group in groups.values() for latest in group])


def _now(db: Database, filters: Filters) -> Iterator[_Latest]:
    """Every session as it is now."""
    for kind, began, status, at, rounds in LEDGER.joined(db, LATEST_TABLE, "f.status, f.at, f.rounds", filters):
        if filters.holds(began):
            yield kind, status, max(0, at - began) if status in AT_REST else None, rounds


def _then(db: Database, filters: Filters) -> Iterator[_Latest]:
    """Every session as of a position."""
    for facts in LEDGER.by_session(db, filters).values():
        yield facts[0].kind, *_latest(facts)


def _latest(facts: Sequence[Fact]) -> tuple[str, int | None, int]:
    """The session's status, how long it took (milliseconds) if it has stopped, and its rounds."""
    statuses = [fact for fact in facts if fact.values["status"] is not None]
    status = str(statuses[-1]["status"])
    rounds = max((fact["rounds"] for fact in facts if fact["rounds"] is not None), default=0)
    took = max(0, statuses[-1].at - facts[0].began) if status in AT_REST else None
    return status, took, rounds


def _figures(group: Sequence[tuple[int | None, int]]) -> SummaryFigures:
    """Of the duration (None: it runs) and the rounds of each session."""
    durations = [took for took, _ in group if took is not None]
    duration, rounds = spread(durations), spread([count for _, count in group])
    return SummaryFigures(
        sessions=len(group),
        at_rest=len(durations),
        duration_ms_mean=duration.mean,
        duration_ms_median=duration.median,
        duration_ms_max=duration.max,
        rounds_mean=rounds.mean,
        rounds_median=rounds.median,
        rounds_max=rounds.max,
    )
