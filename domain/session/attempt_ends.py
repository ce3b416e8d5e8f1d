"""The work of running attempts whose turns are ended from outside."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from domain.session.activity import ActivityRecorded, ActivitySummary, activity_of, recorded_as
from domain.session.decision import Events, Now
from domain.session.permission_rules import withdrawn
from domain.session.state import Session
from domain.session.turns import AttemptOver, TurnCancelled
from domain.values.base import Blob, DomainEvent, Usage, Value

S = TypeVar("S", bound=Session)


class WorkSoFar(Value):
    """The work of a running attempt so far."""

    attempt: int
    seconds: float = 0.0
    usage: Usage = Usage()
    activity: ActivitySummary | None = None
    blobs: tuple[Blob, ...] = ()


SoFar = Callable[[str], WorkSoFar | None]
"""Finds it for a turn."""


def nothing(_: str) -> None:
    """For when no work is known."""


class AttemptEnds:
    """Adds to a decision what belongs to the ends of attempts: before it, what the attempt had done if something else
    ends it; after it, that its requests are withdrawn. `blobs` are the long texts of that."""

    def __init__(self, so_far: SoFar) -> None:
        self._so_far = so_far
        self.blobs: list[Blob] = []

    def added(self, now: Now[S], rules: Events) -> Events:
        for event in rules:
            yield from self._with_work(event) if isinstance(event, TurnCancelled) else (event,)
            if isinstance(event, AttemptOver):
                yield from withdrawn(now, event.turn_id)

    def _with_work(self, event: TurnCancelled) -> Events:
        work = self._so_far(event.turn_id)
        if work is None:
            yield event
            return
        if work.activity is not None:
            self.blobs.extend(work.blobs)
            yield recorded_as(work.activity, turn_id=event.turn_id, attempt=work.attempt)
        yield event.model_copy(update={"attempt": work.attempt, "seconds": work.seconds, "usage": work.usage})


def work_in(events: Iterable[DomainEvent]) -> SoFar:
    """The work that a recorded decision ended, needed to decide it again."""
    work: dict[str, WorkSoFar] = {}
    did: dict[str, ActivitySummary] = {}
    for event in events:
        match event:
            case ActivityRecorded():
                did[event.turn_id] = activity_of(event)
            case TurnCancelled() if event.attempt:
                figures = {"attempt": event.attempt, "seconds": event.seconds, "usage": event.usage}
                work[event.turn_id] = WorkSoFar(activity=did.get(event.turn_id), **figures)
    return work.get
