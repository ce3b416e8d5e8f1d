"""Every view there is."""

from projections import reports
from projections import sessions as overview
from projections.engine.ports import Projection
from projections.record import artifacts, budget, timeline, worklog
from projections.sessions import inbox

PROJECTIONS: tuple[Projection, ...] = (
    overview.OVERVIEW,
    budget.BUDGET,
    timeline.TIMELINE,
    worklog.WORKLOG,
    artifacts.ARTIFACTS,
    inbox.INBOX,
    *reports.PROJECTIONS,
)
