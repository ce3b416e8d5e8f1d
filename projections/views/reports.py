"""What `/api/reports/{name}` answers. The columns of rows differ from report to report (docs/reports.md)."""

from typing import Any, Literal

from pydantic import Field

from projections.views.base import View

Name = Literal["summary", "budgets", "quality", "convergence", "decisions", "costs", "waits"]


class ReportFilters(View):
    """What the report was asked for; instants with their offset, null: everything."""

    since: str | None = Field(alias="from")
    until: str | None = Field(alias="to", description="not included; of a date it is the end of that day")
    kind: str | None
    label: str | None


class ReportAnswer(View):
    """Rows in an order that only the facts decide. What is not known is null, and never counts as zero."""

    name: Name
    as_of: int = Field(description="the position up to which facts count")
    filters: ReportFilters
    rows: tuple[dict[str, Any], ...]
    totals: dict[str, Any]
