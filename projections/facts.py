"""Says what a single event means to every view: one rule each, so that no two views disagree."""

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, get_args

from domain.delivery import events as delivery
from domain.delivery.chart import status as delivery_status
from domain.discussion import events as discussion
from domain.discussion.events import StopReason
from domain.kinds import KINDS
from domain.orchestration import events as orchestration
from domain.orchestration.chart import status as orchestration_status
from domain.session.children import ChildClosed
from domain.session.record import Recorded, kind_of
from domain.session.turns import AttemptEnd, TurnCancelled, is_agent_turn
from domain.values.base import DomainEvent
from domain.values.budget import Used, used

AT_REST: Final = frozenset({"success", "failed", "cancelled", "partial", "done", "reset", "decided"})
"""Statuses that end a run, for good or until a person starts it again; a checkpoint is a pause within a run."""

_STOPS: Final[dict[type[DomainEvent], StopReason]] = {
    discussion.Converged: "converged",
    discussion.Stalled: "stalled",
    discussion.LimitReached: "limit",
    discussion.AgentFailed: "error",
    discussion.Cancelled: "cancelled",
}


_SESSION: Final = attrgetter("session_id")
Spending = AttemptEnd | TurnCancelled | ChildClosed
"""Events that may add to the cost of a session."""
_SPENDING: Final = frozenset(get_args(Spending))


def of_sessions(events: Sequence[Recorded]) -> list[Recorded]:
    """Without the events of channels."""
    names = set(map(_SESSION, events))
    others = {name for name in names if kind_of(name) not in KINDS}
    return [recorded for recorded in events if recorded.session_id not in others] if others else list(events)


def spent_by(event: DomainEvent) -> Used | None:
    """Returns what the event adds to the cost of its session; None if it is not about costs."""
    if type(event) not in _SPENDING:
        return None
    match event:
        case ended if isinstance(ended, AttemptEnd):
            return used(ended.usage, by_agent=is_agent_turn(ended))
        case TurnCancelled():
            return used(event.usage, by_agent=False)
        case ChildClosed(spent=spent):
            return Used(spent.tokens, spent.cost_micros, spent.unknown)
        case _:
            return None


def is_reported(event: AttemptEnd | TurnCancelled) -> bool:
    """Returns whether the turn counts towards costs: an agent was asked, or usage was reported anyway."""
    was_asked = not isinstance(event, TurnCancelled) and is_agent_turn(event)
    return was_asked or event.usage.tokens is not None or event.usage.cost_micros is not None


def status_of(event: DomainEvent) -> str | None:
    """The status that the event leads to; starting a phase in a running session does not change it."""
    read = _status_reader(type(event))
    return None if read is None else read(event)


@cache
def _status_reader(kind: type[DomainEvent]) -> Callable[[Any], str] | None:
    """Returns how the status is read from an event of that class, if it has one."""
    if issubclass(kind, delivery.PhaseStarted):
        return None
    if issubclass(kind, delivery.DeliveryTransition):
        return lambda event: delivery_status(event.state)
    if issubclass(kind, orchestration.OrchestrationTransition):
        return lambda event: orchestration_status(event.state)
    return _state if issubclass(kind, discussion.DiscussionTransition) else None


def _state(event: discussion.DiscussionTransition) -> str:
    return event.state


def stop_reason(event: DomainEvent) -> StopReason | None:
    """Returns why a discussion stopped, if the event ends it."""
    return _stop_of(type(event))


@cache
def _stop_of(event: type[DomainEvent]) -> StopReason | None:
    return next((reason for kind, reason in _STOPS.items() if issubclass(event, kind)), None)
