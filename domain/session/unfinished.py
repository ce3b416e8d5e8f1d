"""What attempts had done when something else ended them: a person cancels the session, or the deadline passes."""

from collections.abc import Callable, Iterable, Iterator

from domain.session.turns import ActivityRecorded, ActivitySummary, TurnCancelled, activity_of, recorded_as
from domain.values.base import Blob, DomainEvent, Usage, Value


class WorkSoFar(Value):
    """What a running attempt has done so far."""

    attempt: int
    seconds: float = 0.0
    usage: Usage = Usage()
    activity: ActivitySummary | None = None
    blobs: tuple[Blob, ...] = ()


SoFar = Callable[[str], WorkSoFar | None]
"""Finds it for a turn."""


def nothing(_: str) -> None:
    """For when no work is known."""


class Unfinished:
    """Adds to a decision what the attempts that it ends had done. `blobs` are the long texts of that."""

    def __init__(self, so_far: SoFar) -> None:
        self._so_far = so_far
        self.blobs: list[Blob] = []

    def added(self, events: Iterable[DomainEvent]) -> Iterator[DomainEvent]:
        for event in events:
            work = self._so_far(event.turn_id) if isinstance(event, TurnCancelled) else None
            if work is None or not isinstance(event, TurnCancelled):
                yield event
                continue
            if work.activity is not None:
                self.blobs.extend(work.blobs)
                yield recorded_as(work.activity, turn_id=event.turn_id, attempt=work.attempt)
            done = {"attempt": work.attempt, "seconds": work.seconds, "usage": work.usage}
            yield event.model_copy(update=done)


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
