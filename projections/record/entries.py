"""The index of a session's events: who, where, and whether it matters. Sentences are only made for readers."""

from typing import NamedTuple

from domain.delivery.events import DeliveryEvent
from domain.discussion.events import DiscussionEvent
from domain.orchestration.events import OrchestrationEvent
from domain.session.permissions import PermissionEvent
from domain.session.record import Recorded
from domain.session.turns import ActivityRecorded, Settled, TurnAttemptFailed, TurnRequested, TurnRetried
from projections.record.describe import HIGHLIGHTED
from projections.record.turns import Turns


class Entry(NamedTuple):
    """One event. `number` is its iteration or round; the end of a turn counts where the turn was requested."""

    version: int
    at: int
    topic: str
    role: str
    phase: str | None
    number: int | None
    turn_id: str | None
    highlight: bool


def entry_of(turns: Turns, recorded: Recorded) -> Entry:
    topic = recorded.event.TOPIC
    return Entry(recorded.version, recorded.at, topic, *_place(turns, recorded), topic in HIGHLIGHTED)


def _place(turns: Turns, recorded: Recorded) -> tuple[str, str | None, int | None, str | None]:
    """Role, phase, iteration or round, and turn."""
    match recorded.event:
        case DeliveryEvent() as event:
            return event.role, event.phase, event.iteration or None, None
        case OrchestrationEvent() | DiscussionEvent() as event:
            phase = event.__dict__.get("phase")  # only events about an agent's phase have one
            return event.role, None if phase is None else str(phase), event.round or None, None
        case TurnRequested() as event:
            return event.role, event.phase, event.iteration or event.round, event.turn_id
        case (ActivityRecorded() | PermissionEvent() | Settled() | TurnAttemptFailed() | TurnRetried()) as event:
            turn = turns.get(event.turn_id)
            role = turn.role if turn else str(getattr(event, "role", "supervisor"))
            phase, number = (turn.phase, turn.number or None) if turn else (None, None)
            return role, phase, number, event.turn_id
        case _:
            return "supervisor", None, None, None
