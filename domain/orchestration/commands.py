"""The commands of an orchestration, and how they are read back from its events."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from domain.checks.weakening import Weakening
from domain.delivery.commands import RecordBaseline
from domain.delivery.validation import Baseline
from domain.orchestration.events import (
    Completed,
    Continued,
    OrchestrationRequest,
    OrchestrationRetried,
    OrchestrationStarted,
    RoundsAdded,
    RoundValidated,
    RunBaselineRecorded,
    TreeFailures,
    WasReset,
)
from domain.session.children import Decide
from domain.session.past_commands import RecordedCommand
from domain.session.revisions import ReviseSession
from domain.session.state import Session
from domain.session.turns import (
    AgentSessionsCleared,
    AttemptEnd,
    RecordPackage,
    RecordTurn,
    RetryTurn,
    TurnAnswered,
)
from domain.session.validation import CleanRoom, Flake, WorkCoverage
from domain.session.workspace import ResultPublished
from domain.values.base import Command, DomainEvent, StartCommand, Text
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
    ACTION: ClassVar[str] = "continue"


class ResetOrchestration(Command):
    """End the run in its current state. `action`: what the person asked for; a refusal uses the same word."""

    REFUSAL: ClassVar[str] = "cannot_be_reset"
    ACTION: ClassVar[str] = "reset"
    reason: str = ""
    action: Literal["reset", "cancel"] = "reset"


class RecordRound(RecordTurn):
    """The outcome of the validation commands on the work of a round, or of a direct answer."""

    WORK = "validate"
    passed: bool = False
    summary: str = ""
    sentence: Sentence | None = None
    reasons: tuple[str, ...] = ()
    flaky: tuple[Flake, ...] = ()
    coverage: WorkCoverage | None = None
    weakened: tuple[Weakening, ...] = ()
    no_tests: bool = False
    clean_room: CleanRoom | None = None
    earlier: tuple[TreeFailures, ...] = ()
    report: Text = Text()


class AddRounds(Extension):
    REFUSAL: ClassVar[str] = "cannot_be_given_rounds"
    ACTION: ClassVar[str] = "extend"
    add_rounds: Annotated[int, Field(ge=1)]
    reason: str


class ClearAgentSessions(Command):
    """A new request of the same origin starts clean (S1 §1.2)."""


FROM_PEOPLE: Final = (Decide, ContinueOrchestration, AddRounds, RetryTurn, ReviseSession, ResetOrchestration)


def command_of(recorded: RecordedCommand, session: Session | None) -> Command | None:
    """The command that led to these events, if it is one of the above."""
    events = recorded.events
    match events[0]:
        case first if isinstance(first, AttemptEnd) and session is not None:
            match session.turn(first.turn_id).work:
                case "prepare":
                    return _baseline(first, events)
                case "validate":
                    return _round(first, events)
                case _:
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


def _settled(event: AttemptEnd) -> dict[str, Any]:
    fields: dict[str, Any] = {"turn_id": event.turn_id, "attempt": event.attempt, "seconds": event.seconds}
    fields |= {"fence": event.fence, "fence_gaps": event.fence_gaps, "refused_hosts": event.refused_hosts}
    return fields | ({"slot": event.slot} if isinstance(event, TurnAnswered) else {"failure": event.failure})


def _baseline(first: AttemptEnd, events: Sequence[DomainEvent]) -> RecordBaseline:
    recorded = next((event for event in events if isinstance(event, RunBaselineRecorded)), None)
    if recorded is None:
        return RecordBaseline(**_settled(first))
    baseline = Baseline(**{name: getattr(recorded, name) for name in Baseline.model_fields})
    return RecordBaseline(baseline=baseline, **{**_settled(first), "failure": None})


def _round(first: AttemptEnd, events: Sequence[DomainEvent]) -> RecordRound:
    recorded = next((event for event in events if isinstance(event, RoundValidated)), None)
    names = (
        *("passed", "summary", "sentence", "reasons", "flaky", "weakened", "no_tests", "clean_room", "earlier"),
        *("coverage", "report"),
    )
    return RecordRound(**_settled(first), **({name: getattr(recorded, name) for name in names} if recorded else {}))


def _package(first: AttemptEnd, events: Sequence[DomainEvent]) -> RecordPackage:
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
