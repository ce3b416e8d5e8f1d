"""Every view there is."""

from projections import reports
from projections.engine.ports import Projection
from projections.record import artifacts, budget, timeline, worklog
from projections.sessions.fold import OVERVIEW

PROJECTIONS: tuple[Projection, ...] = (
    OVERVIEW,
    budget.BUDGET,
    timeline.TIMELINE,
    worklog.WORKLOG,
    artifacts.ARTIFACTS,
    *reports.PROJECTIONS,
)
