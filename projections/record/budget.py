"""Shows how a session's budget was used over time (S4 §4.3, K-38): one point for every event of the session's own kind.

A delivery has iterations and minutes, the other kinds have rounds. Tokens and money are summed for all, including
discussions for the session.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.record import Recorded
from domain.values.base import iso
from domain.values.budget import Spent
from projections.facts import spent_by
from projections.views.record import BudgetEntry

_Rounds = orchestration.OrchestrationEvent | discussion.DiscussionEvent


class Point(NamedTuple):
    """The budget at one event; None for what the session's kind does not have."""

    version: int
    at: int
    type: str
    elapsed_ms: int
    phase: str | None = None
    iteration: int | None = None
    remaining_iterations: int | None = None
    reason: str | None = None
    round: int | None = None
    remaining_rounds: int | None = None
    max_iterations: int | None = None
    max_minutes: int | None = None
    max_rounds: int | None = None
    tokens: int | None = None
    cost_micros: int | None = None
    unknown_turns: int = 0

    def view(self) -> BudgetEntry:
        return BudgetEntry(**self._asdict() | {"at": iso(self.at)})


@dataclass(slots=True)
class BudgetLine:
    """The usage and the limits so far, and the points so far."""

    started_at: int | None = None
    max_iterations: int | None = None
    max_minutes: int | None = None
    max_rounds: int | None = None
    spent: Spent = field(default_factory=Spent)
    points: list[Point] = field(default_factory=list)

    def add(self, recorded: Recorded) -> None:
        """Apply one more event; the costs of turns and discussions add no point."""
        event = recorded.event
        spent = spent_by(event)
        if spent is not None:
            self.spent += spent
        match event:
            case delivery.DeliveryEvent():
                self._add_delivery(recorded, event)
            case orchestration.OrchestrationEvent() | discussion.DiscussionEvent():
                self._add_rounds(recorded, event)

    def upto(self, version: int) -> list[Point]:
        return self.points[: bisect_right(self.points, version, key=lambda point: point.version)]

    def _add_delivery(self, recorded: Recorded, event: delivery.DeliveryEvent) -> None:
        if isinstance(event, delivery.DeliveryStarted | delivery.BudgetExtended | delivery.RevisionBegun):
            self._start(recorded)
            self.max_iterations, self.max_minutes = event.limits.max_iterations, event.limits.max_minutes
        self.points.append(
            Point(
                version=recorded.version,
                at=recorded.at,
                type=event.TOPIC,
                elapsed_ms=event.elapsed_ms,
                phase=event.phase,
                iteration=event.iteration,
                remaining_iterations=event.remaining_iterations,
                reason=event.reason,
                max_iterations=self.max_iterations,
                max_minutes=self.max_minutes,
                tokens=self.spent.tokens,
                cost_micros=self.spent.cost_micros,
                unknown_turns=self.spent.unknown,
            )
        )

    def _add_rounds(self, recorded: Recorded, event: _Rounds) -> None:
        """A round counts as used once it has begun. The clock runs from the start and never pauses."""
        self._start(recorded)
        self.max_rounds = _rounds(event) or self.max_rounds
        most = self.max_rounds or 0
        out_of_rounds = isinstance(event, orchestration.PartialReached) and event.reason == "rounds"
        self.points.append(
            Point(
                version=recorded.version,
                at=recorded.at,
                type=event.TOPIC,
                elapsed_ms=max(0, recorded.at - (self.started_at or 0)),
                reason="rounds" if out_of_rounds else None,
                round=event.round,
                remaining_rounds=max(0, most - event.round),
                max_rounds=self.max_rounds,
                tokens=self.spent.tokens,
                cost_micros=self.spent.cost_micros,
                unknown_turns=self.spent.unknown,
            )
        )

    def _start(self, recorded: Recorded) -> None:
        if self.started_at is None:
            self.started_at = recorded.at


def _rounds(event: _Rounds) -> int | None:
    """The round after which the session ends unless it gets more, if the event sets it."""
    match event:
        case orchestration.OrchestrationStarted():
            return event.opening.max_rounds
        case (
            orchestration.PlanMade()
            | orchestration.Continued()
            | orchestration.RoundsAdded()
            | orchestration.RunRevisionBegun()
        ):
            return event.last_round
        case discussion.DiscussionStarted():
            return event.topic.max_rounds
        case _:
            return None
