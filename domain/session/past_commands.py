"""The way back from recorded events to the commands that led to them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby, takewhile

from domain.session.activity import ActivityRecorded
from domain.session.forks import (
    RECAST,
    Diverge,
    ForkSession,
    Release,
    SessionDiverged,
    SessionForked,
    SessionReleased,
)
from domain.session.record import Recorded
from domain.session.turns import (
    TurnCancelled,
    TurnRequested,
)
from domain.values.base import Command, DomainEvent, Text

Whole = Callable[[Text], str]
"""Finds the whole text for a digest."""


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """The recorded events of one command, in order."""

    recorded: tuple[Recorded, ...]

    @property
    def events(self) -> tuple[DomainEvent, ...]:
        return tuple(recorded.event for recorded in self.recorded)

    @property
    def activity(self) -> ActivityRecorded | None:
        """Returns what the attempt that this command ends had done; it is recorded first."""
        first = self.recorded[0].event
        return first if isinstance(first, ActivityRecorded) else None

    @property
    def tail(self) -> "RecordedCommand | None":
        """The part after the first event, if any, without the questions that a fork asks other agents instead."""
        rest = tuple(takewhile(lambda recorded: not _is_recast(recorded.event), self.recorded[1:]))
        return RecordedCommand(rest) if rest else None


def commands_in(history: Sequence[Recorded]) -> Iterator[RecordedCommand]:
    """A session's history, split into commands."""
    for _, group in groupby(history, key=mark):
        yield RecordedCommand(tuple(group))


def mark(recorded: Recorded) -> tuple[str, str, int]:
    """Returns what the events of one command have in common; another session may have had a command with the same id
    before."""
    return recorded.causation.command_id, recorded.causation.causation_id, recorded.at


def fork_command(events: Sequence[DomainEvent], then: Command | None) -> Command | None:
    """The command about the fork itself that led to these events; `then` is what was decided together with it."""
    match events[0]:
        case SessionForked() as event:
            return ForkSession(
                source=event.source,
                at_version=event.source_version,
                mode=event.mode,
                substitute=event.substitute,
                profile=event.profile,
                author=event.author,
                agents=event.agents,
                models=event.models,
                requests=_asked_instead(events),
                restarts_wait=event.wait is not None,
                then=then,
            )
        case SessionDiverged() as event:
            return Diverge(turn_id=event.turn_id, pauses=event.pauses is not None)
        case SessionReleased():
            return Release(requests=tuple(event for event in events if isinstance(event, TurnRequested)))
        case _:
            return None


def _asked_instead(events: Sequence[DomainEvent]) -> tuple[TurnRequested, ...]:
    """The questions that waited in the source for agents whose roles the fork gives to others."""
    rest = tuple(dropwhile(lambda event: not _is_recast(event), events))
    cancelled = [event for event in rest if isinstance(event, TurnCancelled)]
    requested = [event for event in rest if isinstance(event, TurnRequested)]
    return tuple(
        request.model_copy(update={"turn_id": before.turn_id, "agent": before.agent})
        for before, request in zip(cancelled, requested, strict=True)
    )


def _is_recast(event: DomainEvent) -> bool:
    return isinstance(event, TurnCancelled) and event.reason == RECAST
