"""The time used, as of a version, and whether it goes on."""

from typing import NamedTuple

from api.web.session.context import PanelContext
from domain.delivery.state import Delivery
from domain.kinds import is_over


class SessionClock(NamedTuple):
    """All that the clocks of the page need to go on from this version: the time used runs while agents are at work,
    here; the rest of the time since `begin` was waiting."""

    elapsed_ms: int
    as_of: int
    ticks: bool
    begin: int


def present(context: PanelContext) -> SessionClock:
    session = context.session
    stopped = session.stopped_at is not None if isinstance(session, Delivery) else context.badge == "partial"
    over = stopped or context.imported or is_over(session)
    return SessionClock(
        elapsed_ms=context.elapsed_ms,
        as_of=session.budget_time(session.updated_at) if isinstance(session, Delivery) else session.updated_at,
        ticks=not (over or context.needs_somebody),
        begin=context.begin if isinstance(session, Delivery) and not over else 0,
    )
