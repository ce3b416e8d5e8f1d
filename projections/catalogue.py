"""Every view there is."""

from projections import artifacts, budget, inbox, overview, reports, timeline, worklog
from projections.ports import Projection

PROJECTIONS: tuple[Projection, ...] = (
    overview.OVERVIEW,
    budget.BUDGET,
    timeline.TIMELINE,
    worklog.WORKLOG,
    artifacts.ARTIFACTS,
    inbox.INBOX,
    *reports.PROJECTIONS,
)
