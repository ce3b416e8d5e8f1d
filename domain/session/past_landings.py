"""The command behind recorded landing events, for a replay."""

from collections.abc import Sequence

from domain.session.landing import (
    LandingNotTried,
    LandingRequested,
    LandSession,
    RecordLanding,
    WorkLanded,
    WorkSentBack,
)
from domain.session.state import Session
from domain.session.turns import AttemptEnd, TurnAnswered
from domain.values.base import Command, DomainEvent


def landing_command(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    """The command that led to these events, if it is about a landing."""
    first = events[0]
    if isinstance(first, LandingRequested):
        return LandSession(onto=first.onto, steps=first.steps, actor=first.by)
    if not isinstance(first, AttemptEnd) or session is None:
        return None
    if session.turn(first.turn_id).work != "land":
        return None
    command = RecordLanding(turn_id=first.turn_id, attempt=first.attempt, seconds=first.seconds)
    ran = {"fence": first.fence, "fence_gaps": first.fence_gaps, "refused_hosts": first.refused_hosts}
    command = command.model_copy(update=ran)
    if not isinstance(first, TurnAnswered):
        return command.model_copy(update={"failure": first.failure})
    return command.model_copy(update={"slot": first.slot, **_fields(events)})


def _fields(events: Sequence[DomainEvent]) -> dict[str, object]:
    """The landing that a command named with these events."""
    for event in events:
        match event:
            case WorkLanded() | WorkSentBack():
                return {name: getattr(event, name) for name in type(event).model_fields.keys() - {"onto"}}
            case LandingNotTried():
                reason = {"not_tried": event.reason}
                return {**reason, "paths": event.paths, "detail": event.detail, "sentence": event.sentence}
    return {}
