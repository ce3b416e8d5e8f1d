"""What a single event means to every view: one rule each, so that no two views disagree."""

from functools import cache
from typing import Final

from domain.delivery import events as delivery
from domain.delivery.chart import status as delivery_status
from domain.discussion import events as discussion
from domain.discussion.events import StopReason
from domain.orchestration import events as orchestration
from domain.orchestration.chart import status as orchestration_status
from domain.session.children import ChildClosed
from domain.session.turns import TurnAnswered, TurnAttemptFailed, TurnCancelled, TurnFailed, is_agent_turn
from domain.values.base import DomainEvent
from domain.values.budget import Spent

AT_REST: Final = frozenset({"success", "failed", "cancelled", "partial", "done", "reset", "decided"})
"""Statuses that end a run, for good or until a person starts it again; a checkpoint is a pause within a run."""

_STOPS: Final[dict[type[DomainEvent], StopReason]] = {
    discussion.Converged: "converged",
    discussion.Stalled: "stalled",
    discussion.LimitReached: "limit",
    discussion.AgentFailed: "error",
    discussion.Cancelled: "cancelled",
}


def spent_by(event: DomainEvent) -> Spent | None:
    """What the event adds to the cost of its session; None if it is not about costs."""
    match event:
        case TurnAnswered() | TurnFailed() | TurnAttemptFailed():
            return Spent().after(event.usage, by_agent=is_agent_turn(event))
        case TurnCancelled():
            return Spent().after(event.usage, by_agent=False)
        case ChildClosed(spent=spent):
            return spent
        case _:
            return None


def is_reported(event: TurnAnswered | TurnFailed | TurnAttemptFailed | TurnCancelled) -> bool:
    """Whether the turn counts towards costs: an agent was asked, or usage was reported anyway."""
    was_asked = not isinstance(event, TurnCancelled) and is_agent_turn(event)
    return was_asked or event.usage.tokens is not None or event.usage.cost_micros is not None


def status_of(event: DomainEvent) -> str | None:
    """The status that the event leads to; starting a phase in a running session does not change it."""
    match event:
        case delivery.PhaseStarted():
            return None
        case delivery.DeliveryTransition():
            return delivery_status(event.state)
        case orchestration.OrchestrationTransition():
            return orchestration_status(event.state)
        case discussion.DiscussionTransition():
            return event.state
        case _:
            return None


def stop_reason(event: DomainEvent) -> StopReason | None:
    """Why a discussion stopped, if the event ends it."""
    return _stop_of(type(event))


@cache
def _stop_of(event: type[DomainEvent]) -> StopReason | None:
    return next((reason for kind, reason in _STOPS.items() if issubclass(event, kind)), None)
