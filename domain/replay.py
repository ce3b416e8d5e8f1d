"""Replay: a recorded history is decided anew, with today's rules and the recorded answers, and compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.base import DomainEvent, HansardError
from domain.reconstruction import Whole, command_of, decisions
from domain.record import Recorded, kind_of
from domain.session import Moment, Session
from domain.sessions import carry_out, fold


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where today's rules would have written something else. `expected` is what the log says."""

    version: int
    command: str
    expected: str
    actual: str


def first_difference(history: Sequence[Recorded], whole: Whole) -> Difference | None:
    """None when every decision would be made the same way today. Nobody is asked anything, nothing is written."""
    session: Session | None = None
    for decision in decisions(history):
        first = decision.recorded[0]
        kind = kind_of(first.session_id)
        try:
            command = command_of(decision, session, whole)
            decided = carry_out(kind, session, command, Moment(first.session_id, first.at)).events
        except HansardError as error:
            return Difference(first.version, "", _told(decision.events[:1]), f"refused: {error}")
        found = _compare(first.version, type(command).__name__, decision.events, decided)
        if found is not None:
            return found
        session = fold(kind, ((recorded.event, recorded.moment) for recorded in decision.recorded), session)
    return None


def _compare(
    version: int, command: str, expected: Sequence[DomainEvent], actual: Sequence[DomainEvent]
) -> Difference | None:
    for place in range(max(len(expected), len(actual))):
        recorded, decided = expected[place : place + 1], actual[place : place + 1]
        if not recorded or not decided or _written(recorded[0]) != _written(decided[0]):
            return Difference(version + place, command, _told(recorded), _told(decided))
    return None


def _written(event: DomainEvent) -> tuple[str, dict[str, Any]]:
    """The event as the log has it: what is None is not written there, within free-form values neither."""
    return event.TOPIC, event.model_dump(mode="json", by_alias=True, exclude_none=True)


def _told(events: Sequence[DomainEvent]) -> str:
    return f"{events[0].TOPIC} {events[0].model_dump_json(by_alias=True)}" if events else "nothing"
