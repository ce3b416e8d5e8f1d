"""The commands of an orchestration, and how they are read back from its events."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from domain.orchestration.events import (
    Completed,
    Continued,
    OrchestrationRequest,
    OrchestrationRetried,
    OrchestrationStarted,
    RoundsAdded,
    WasReset,
)
from domain.session.past_commands import RecordedCommand
from domain.session.state import Session
from domain.session.turns import (
    AgentSessionsCleared,
    RecordPackage,
    RetryTurn,
    TurnAnswered,
    TurnAttemptFailed,
    TurnFailed,
)
from domain.session.workspace import ResultPublished
from domain.values.base import Command, DomainEvent, StartCommand
from domain.values.budget import Extension
from domain.values.sentences import Sentence

POLICY = "orchestration@2"
"""The version of the rules. A session keeps the version that it began with; the first one did not say that nothing was
changed."""


class StartOrchestration(StartCommand):
    opening: OrchestrationRequest
    policy: str = POLICY


class ContinueOrchestration(Command):
    """Continue from the recorded cursor with a new round limit. The planner is not asked again (K-9)."""

    REFUSAL: ClassVar[str] = "cannot_be_continued"


class ResetOrchestration(Command):
    """End the run in its current state. `action`: what the person asked for; a refusal uses the same word."""

    REFUSAL: ClassVar[str] = "cannot_be_reset"
    reason: str = ""
    action: Literal["reset", "cancel"] = "reset"


class AddRounds(Extension):
    REFUSAL: ClassVar[str] = "cannot_be_given_rounds"
    add_rounds: Annotated[int, Field(ge=1)]
    reason: str


class ClearAgentSessions(Command):
    """A new request of the same origin starts clean (S1 §1.2)."""


def command_of(recorded: RecordedCommand, _: Session | None) -> Command | None:
    """The command that led to these events, if it is one of the above."""
    events = recorded.events
    match events[0]:
        case TurnAnswered() | TurnFailed() | TurnAttemptFailed() as first:
            return _package(first, events)
        case OrchestrationStarted() as first:
            return StartOrchestration(opening=first.opening, policy=first.policy)
        case Completed():
            return ContinueOrchestration()
        case AgentSessionsCleared():
            return ClearAgentSessions()
    for event in events:
        match event:
            case Continued():
                return ContinueOrchestration()
            case OrchestrationRetried():
                return RetryTurn(reason=event.why)
            case RoundsAdded():
                return AddRounds(add_rounds=event.add_rounds, reason=event.why)
            case WasReset():
                return ResetOrchestration(reason=event.reason)
    return None


def _package(first: TurnAnswered | TurnFailed | TurnAttemptFailed, events: Sequence[DomainEvent]) -> RecordPackage:
    command = RecordPackage(turn_id=first.turn_id, attempt=first.attempt, seconds=first.seconds)
    if not isinstance(first, TurnAnswered):
        return command.model_copy(update={"failure": first.failure})
    published = next((event for event in events if isinstance(event, ResultPublished)), None)
    fields = published.model_dump() if published else {}
    return command.model_copy(update={"slot": first.slot, **fields})


NOTHING_TO_CONTINUE = Sentence.foreign(
    "이어갈 worklog가 없습니다. (There is nothing to continue.)", "nothing_to_continue"
)
NOTHING_TO_RESET = Sentence.foreign("리셋할 worklog가 없습니다. (There is nothing to reset.)", "nothing_to_reset")
