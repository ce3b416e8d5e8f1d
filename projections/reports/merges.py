"""`merges`: the pull requests of sessions: how they stand, and how long it took from the session's first event until
they were merged, with how many change requests of the forge, and for how much money.

A row counts by when the pull request was opened. A session has one; a fork begins without one. The money is all that
the session has spent until then, or until now while it is open, with what its own discussions have spent.
"""

from collections import defaultdict
from typing import Literal, get_args

from pydantic import Field

from domain.session.forge import (
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    PullRequestRequested,
)
from domain.session.pull_request import FORGE
from domain.session.record import Recorded
from domain.session.revisions import RevisionRequested
from projections.engine.ports import Database
from projections.facts import Spending, spent_by
from projections.reports.ledger import Fact, Filters, Ledger, ReportRow, ReportTotals, Values, spread, total_of

MergeState = Literal["open", "merged", "closed"]
LEDGER = Ledger("merges", {"project": "TEXT", "number": "BIGINT", "cost_micros": "BIGINT"})
_STATES: dict[str, MergeState] = {"opened": "open", "reopened": "open", "merged": "merged", "closed": "closed"}


def _read(_: Database, recorded: Recorded) -> Values | None:
    match recorded.event:
        case PullRequestRequested(project=project):
            return {"what": "asked", "project": project}
        case PullRequestOpened(number=number):
            return {"what": "opened", "number": number}
        case PullRequestMerged():
            return {"what": "merged"}
        case PullRequestClosed():
            return {"what": "closed"}
        case PullRequestReopened():
            return {"what": "reopened"}
        case RevisionRequested(by=by):
            return {"what": "attempt"} if by.startswith(FORGE) else None
        case event if isinstance(event, Spending):
            spent = spent_by(event)
            return {"what": "spent", "cost_micros": spent.cost_micros} if spent and spent.cost_micros else None
    return None


PROJECTION = LEDGER.projection(
    _read,
    *(PullRequestRequested, PullRequestOpened, PullRequestMerged, PullRequestClosed, PullRequestReopened),
    *(RevisionRequested, *get_args(Spending)),
)


class MergeRow(ReportRow):
    """The pull request of a session."""

    session_id: str
    kind: str
    project: str = Field(description="`owner/name` at the forge")
    number: int
    state: MergeState
    revisions: int = Field(description="change requests that the forge has caused")
    merged_ms: int | None = Field(description="from the session's first event until it was merged")
    cost_micros: int | None


class MergeTotals(ReportTotals):
    pull_requests: int
    merged: int
    closed: int
    revisions: int
    merged_ms_mean: float | None
    merged_ms_median: float | None
    merged_ms_max: int | None
    cost_micros: int | None


def make(db: Database, filters: Filters) -> tuple[tuple[MergeRow, ...], MergeTotals]:
    """Compute the rows, in the order in which the pull requests were opened."""
    by_session = defaultdict[str, list[Fact]](list)
    for fact in LEDGER.facts(db, filters):
        by_session[fact.session_id].append(fact)
    dated = [each for each in map(_row, by_session.values()) if each is not None and filters.holds(each[0])]
    rows = tuple(row for _, row in sorted(dated, key=lambda each: (each[0], each[1].session_id)))
    times = spread([row.merged_ms for row in rows if row.merged_ms is not None])
    return rows, MergeTotals(
        pull_requests=len(rows),
        merged=sum(row.state == "merged" for row in rows),
        closed=sum(row.state == "closed" for row in rows),
        revisions=sum(row.revisions for row in rows),
        merged_ms_mean=times.mean,
        merged_ms_median=times.median,
        merged_ms_max=times.max,
        cost_micros=total_of(row.cost_micros for row in rows),
    )


def _row(facts: list[Fact]) -> tuple[int, MergeRow] | None:
    """The row of one session, and when its pull request was opened; None before that."""
    opened = next((fact for fact in facts if fact.what == "opened"), None)
    if opened is None:
        return None
    merged = next((fact for fact in facts if fact.what == "merged"), None)
    counted = [fact for fact in facts if merged is None or fact.position <= merged.position]
    return opened.at, MergeRow(
        session_id=opened.session_id,
        kind=opened.kind,
        project=next((fact["project"] for fact in reversed(counted) if fact.what == "asked"), ""),
        number=opened["number"],
        state=next(_STATES[fact.what] for fact in reversed(counted) if fact.what in _STATES),
        revisions=sum(fact.what == "attempt" for fact in counted),
        merged_ms=None if merged is None else merged.at - merged.began,
        cost_micros=total_of(fact["cost_micros"] for fact in counted if fact.what == "spent"),
    )
