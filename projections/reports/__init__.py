"""Reports (contract §5): each has its own facts and is computed from them on request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from domain.values.base import Unknown
from domain.values.sentences import Sentence
from domain.values.time import iso
from projections.engine.ports import Database, Projection
from projections.reports import budgets, convergence, costs, decisions, quality, summary, waits
from projections.reports.figures import Row
from projections.reports.ledger import Filters
from projections.views.sessions import Name, ReportAnswer, ReportFilters

__all__ = ["PROJECTIONS", "REPORTS", "Filters", "Report", "find", "folded", "report"]


@dataclass(frozen=True, slots=True)
class Report:
    """A report by name: its view, the columns of its rows in order, and the function that makes rows and totals."""

    name: Name
    projection: Projection
    columns: tuple[str, ...]
    make: Callable[[Database, Filters], tuple[list[Row], Row]]


REPORTS: Final[dict[str, Report]] = {
    each.name: each
    for each in (
        Report("summary", summary.PROJECTION, summary.COLUMNS, summary.make),
        Report("budgets", budgets.PROJECTION, budgets.COLUMNS, budgets.make),
        Report("quality", quality.PROJECTION, quality.COLUMNS, quality.make),
        Report("convergence", convergence.PROJECTION, convergence.COLUMNS, convergence.make),
        Report("decisions", decisions.PROJECTION, decisions.COLUMNS, decisions.make),
        Report("costs", costs.PROJECTION, costs.COLUMNS, costs.make),
        Report("waits", waits.PROJECTION, waits.COLUMNS, waits.make),
    )
}
PROJECTIONS: tuple[Projection, ...] = tuple(each.projection for each in REPORTS.values())


def find(name: str) -> Report:
    """Raises Unknown."""
    report = REPORTS.get(name)
    if report is None:
        raise Unknown(Sentence("report_not_found", name=name, names=list(REPORTS)))
    return report


def folded(db: Database, report: Report) -> int:
    """The position up to which this report's facts are folded."""
    row = db.execute("SELECT position FROM progress WHERE view = ?", (report.projection.name,)).fetchone()
    return int(row[0])


def report(db: Database, name: str, filters: Filters) -> ReportAnswer:
    """A consistent snapshot, in an order that only depends on the facts.

    Raises Unknown. `asOf` is the position up to which facts count: the requested one, otherwise the newest.
    """
    definition = find(name)
    as_of = folded(db, definition) if filters.as_of is None else filters.as_of
    rows, totals = definition.make(db, filters)
    return ReportAnswer(
        name=definition.name,
        as_of=as_of,
        filters=ReportFilters(
            since=None if filters.since is None else iso(filters.since),
            until=None if filters.until is None else iso(filters.until),
            kind=filters.kind,
            label=filters.label,
        ),
        rows=tuple(rows),
        totals=totals,
    )
