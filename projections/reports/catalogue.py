"""The reports by name (contract §5): each has its own facts and is computed from them on request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from domain.values.base import Unknown, absent, iso
from domain.values.sentences import Sentence
from projections.engine.ports import Database, Projection
from projections.reports import budgets, convergence, costs, decisions, merges, quality, summary, waits
from projections.reports.budgets import BudgetRow, BudgetTotals
from projections.reports.convergence import ConvergenceFigures, ConvergenceRow
from projections.reports.costs import CostRow, CostTotals
from projections.reports.decisions import DecisionRow, DecisionTotals
from projections.reports.ledger import Filters, ReportRow, ReportTotals
from projections.reports.merges import MergeRow, MergeTotals
from projections.reports.quality import QualityRow, QualityTotals
from projections.reports.summary import SummaryFigures, SummaryRow
from projections.reports.waits import WaitRow, WaitTotals
from projections.views.base import View

Name = Literal["summary", "budgets", "quality", "convergence", "decisions", "costs", "waits", "merges"]


class ReportFilters(View):
    """The filters of the report; instants with their offset. null: no filter."""

    since: str | None = Field(alias="from")
    until: str | None = Field(alias="to", description="exclusive; a date means the end of that day")
    kind: str | None
    label: str | None


class ReportAnswer(View):
    """Rows in an order that depends only on the facts."""

    name: Name
    as_of: int = Field(description="the position up to which facts count")
    filters: ReportFilters
    rows: (
        tuple[SummaryRow, ...]
        | tuple[BudgetRow, ...]
        | tuple[QualityRow, ...]
        | tuple[ConvergenceRow, ...]
        | tuple[DecisionRow, ...]
        | tuple[CostRow, ...]
        | tuple[WaitRow, ...]
        | tuple[MergeRow, ...]
    )
    totals: (
        SummaryFigures
        | BudgetTotals
        | QualityTotals
        | ConvergenceFigures
        | DecisionTotals
        | CostTotals
        | WaitTotals
        | MergeTotals
    )
    next_cursor: str | None = Field(
        default=None, exclude_if=absent, description="of a page: the next one; absent on the last one"
    )


@dataclass(frozen=True, slots=True)
class Report:
    """A report by name: its projection, the class of its rows, and the function that makes rows and totals."""

    name: Name
    projection: Projection
    row: type[ReportRow]
    make: Callable[[Database, Filters], tuple[tuple[ReportRow, ...], ReportTotals]]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.row.columns()


REPORTS: Final[dict[str, Report]] = {
    each.name: each
    for each in (
        Report("summary", summary.PROJECTION, SummaryRow, summary.make),
        Report("budgets", budgets.PROJECTION, BudgetRow, budgets.make),
        Report("quality", quality.PROJECTION, QualityRow, quality.make),
        Report("convergence", convergence.PROJECTION, ConvergenceRow, convergence.make),
        Report("decisions", decisions.PROJECTION, DecisionRow, decisions.make),
        Report("costs", costs.PROJECTION, CostRow, costs.make),
        Report("waits", waits.PROJECTION, WaitRow, waits.make),
        Report("merges", merges.PROJECTION, MergeRow, merges.make),
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
        rows=rows,
        totals=totals,
    )
