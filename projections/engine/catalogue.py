"""Every view there is."""

from projections import reports
from projections.engine.ports import Projection
from projections.sessions.fold import OVERVIEW

PROJECTIONS: tuple[Projection, ...] = (
    OVERVIEW,
    *reports.PROJECTIONS,
)
