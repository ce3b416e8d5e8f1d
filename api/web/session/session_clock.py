"""The time used, as of a version, and whether it goes on."""

from typing import Any

from api.web.session.context import PanelContext
from domain.delivery.state import Delivery
from domain.kinds import is_over


def present(context: PanelContext) -> dict[str, Any]:
    """What a clock of the page needs to go on from this version: it runs while agents are at work, here."""
    session = context.session
    stopped = session.stopped_at is not None if isinstance(session, Delivery) else context.badge == "partial"
    return {
        "elapsed_ms": context.elapsed_ms,
        "as_of": session.budget_time(session.updated_at) if isinstance(session, Delivery) else session.updated_at,
        "ticks": not (stopped or context.needs_somebody or context.imported or is_over(session)),
    }
