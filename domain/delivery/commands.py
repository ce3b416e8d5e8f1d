"""The commands of a delivery, and how they are read back from its events."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from domain.checks.weakening import Weakening
from domain.delivery.chart import PHASES, Phase
from domain.delivery.events import (
    ArtifactCreated,
    BaselineRecorded,
    BranchPublished,
    BudgetExtended,
    BudgetHeld,
    BudgetResumed,
    DeliveryRetried,
    DeliveryStarted,
    FlakySeen,
    Hold,
    PhaseCompleted,
    ScopeDecided,
    ScopeDecision,
    SessionFinished,
    TestsPassed,
    ValidationFailed,
)
from domain.delivery.validation import Baseline, Preparation
from domain.session.attempts import ONCE, RetryPolicy
from domain.session.children import Decide, ReviewSettings
from domain.session.forge import IssueLinked, LinkIssue
from domain.session.forge_past import link_of
from domain.session.past_commands import RecordedCommand
from domain.session.revisions import ReviseSession
from domain.session.state import Session
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import (
    AttemptEnd,
    RecordPackage,
    RecordTurn,
    RetryTurn,
    TurnAnswered,
)
from domain.session.validation import Cause, CleanRoom, Flake, ValidationStep, WorkCoverage
from domain.session.workspace import EVERYTHING, PathScope, ReviewedDiff
from domain.values.base import Command, DomainEvent, StartCommand, Text, Unknown
from domain.values.budget import BudgetLimits, Extension
from domain.values.sentences import Sentence

More = Annotated[int, Field(ge=1)]
POLICY = "delivery@2"
"""The version of the rules. A session keeps the version that it began with; the first one published branches without
changes."""


class StartDelivery(StartCommand):
    policy: str = POLICY
    task: str
    file_paths: tuple[str, ...] = ()
    steps: tuple[ValidationStep, ...]
    limits: BudgetLimits
    max_attempts: int | None = None
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    workspace: str | None = None
    repository: bool = False
    started_in: str | None = None
    scenario: Text | None = None
    crew: dict[str, str] = {}
    review: ReviewSettings | None = None
    retry: RetryPolicy = ONCE
    no_progress_limit: int = 0
    baseline: bool = False
    preparation: Preparation = Preparation()
    scope: PathScope = EVERYTHING
    fixes: str = ""
    reviewed: ReviewedDiff | None = None
    decisions: DecisionPolicy | None = None
    phases: tuple[Phase, ...] = PHASES
    issue: LinkIssue | None = None


class RecordBaseline(RecordTurn):
    """The outcome of the preparation, before any agent is asked."""

    WORK = "prepare"
    baseline: Baseline = Baseline()


class RecordValidation(RecordTurn):
    """The outcome of the validation: the verdict for the rules, the whole report (JSON) for the record."""

    WORK = "validate"
    passed: bool
    classification: str | None = None
    summary: str = ""
    sentence: Sentence | None = None
    reasons: tuple[str, ...] = ()
    report: Text = Text()
    clean_room: CleanRoom | None = None
    flaky: tuple[Flake, ...] = ()
    cause: Cause | None = None
    coverage: WorkCoverage | None = None
    weakened: tuple[Weakening, ...] = ()
    no_tests: bool = False
    apart_ms: int = 0
    """Milliseconds that do not count for the budget."""


class HoldBudget(Command):
    """The budget's clock stands still from now on, for what a validation does besides its own run."""

    turn_id: str
    attempt: int
    why: Hold


class ResumeBudget(Command):
    """The budget's clock runs again. `apart_ms` are further milliseconds that do not count."""

    turn_id: str
    apart_ms: int = 0


class ExtendBudget(Extension):
    """A person adds budget (K-46): at least one of the amounts."""

    REFUSAL: ClassVar[str] = "cannot_be_extended"
    ACTION: ClassVar[str] = "extend"
    add_iterations: More | None = None
    add_minutes: More | None = None
    add_tokens: More | None = None
    add_cost_micros: More | None = None
    reason: str


class DecideScope(Command):
    """A person allows or denies changes outside the scope."""

    REFUSAL: ClassVar[str] = "has_no_scope_request"
    ACTION: ClassVar[str] = "scope"
    request_id: str
    decision: ScopeDecision
    actor: str = ""


class CancelDelivery(Command):
    REFUSAL: ClassVar[str] = "cannot_be_cancelled"
    ACTION: ClassVar[str] = "cancel"
    reason: str = ""


FROM_PEOPLE: Final = (Decide, DecideScope, ExtendBudget, RetryTurn, ReviseSession, CancelDelivery)


def command_of(recorded: RecordedCommand, session: Session | None) -> Command | None:
    """The command that led to these events, if it is one of the above."""
    events = recorded.events
    match events[0]:
        case DeliveryStarted() as first:
            names = StartDelivery.model_fields.keys() - {"blobs", "issue"}
            linked = next((event for event in events if isinstance(event, IssueLinked)), None)
            return StartDelivery(issue=linked and link_of(linked), **{name: getattr(first, name) for name in names})
        case first if isinstance(first, AttemptEnd) and session is not None:
            match session.turn(first.turn_id).work:
                case "prepare":
                    return _baseline(first, events)
                case "validate":
                    return _validation(first, events)
                case _:
                    return _package(first, events)
    for event in events:
        match event:
            case BudgetHeld():
                return HoldBudget(turn_id=event.turn_id, attempt=event.attempt, why=event.why)
            case BudgetResumed():
                return ResumeBudget(turn_id=event.turn_id, apart_ms=event.apart_ms)
            case DeliveryRetried():
                return RetryTurn(reason=event.why)
            case BudgetExtended():
                amounts = ("add_iterations", "add_minutes", "add_tokens", "add_cost_micros")
                return ExtendBudget(reason=event.why, **{name: getattr(event, name) or None for name in amounts})
            case ScopeDecided():
                return DecideScope(request_id=event.request_id, decision=event.decision, actor=event.by)
            case SessionFinished(status="cancelled"):
                return CancelDelivery(reason=event.cancelled_because)
    return None


def _settled(event: AttemptEnd) -> dict[str, Any]:
    fields: dict[str, Any] = {"turn_id": event.turn_id, "attempt": event.attempt, "seconds": event.seconds}
    fields |= {"fence": event.fence, "fence_gaps": event.fence_gaps, "refused_hosts": event.refused_hosts}
    return fields | ({"slot": event.slot} if isinstance(event, TurnAnswered) else {"failure": event.failure})


def _baseline(first: AttemptEnd, events: Sequence[DomainEvent]) -> RecordBaseline:
    recorded = next((event for event in events if isinstance(event, BaselineRecorded)), None)
    if recorded is None:
        return RecordBaseline(**_settled(first))
    baseline = Baseline(commands=recorded.commands, setup=recorded.setup, escapes=recorded.escapes, env=recorded.env)
    return RecordBaseline(baseline=baseline, **{**_settled(first), "failure": None})


def _validation(first: AttemptEnd, events: Sequence[DomainEvent]) -> RecordValidation:
    fields = _settled(first)
    if not isinstance(first, TurnAnswered):
        return RecordValidation(passed=False, **fields)
    fields["report"] = next(event.content for event in events if isinstance(event, ArtifactCreated))
    fields["flaky"] = tuple(event.flake for event in events if isinstance(event, FlakySeen))
    for event in events:
        match event:
            case TestsPassed():
                fields |= {"clean_room": event.clean_room, "apart_ms": event.apart_ms, "weakened": event.weakened}
                fields |= {"coverage": event.coverage, "no_tests": event.no_tests}
                return RecordValidation(passed=True, summary=event.summary, **fields)
            case ValidationFailed():
                fields |= {"classification": event.classification, "reasons": event.reasons, "sentence": event.sentence}
                fields |= {"clean_room": event.clean_room, "cause": event.cause, "apart_ms": event.apart_ms}
                fields["weakened"] = event.weakened
                return RecordValidation(passed=False, summary=event.summary, **fields)
    raise Unknown(Sentence("validation_has_no_outcome", id=first.turn_id))


def _package(first: AttemptEnd, events: Sequence[DomainEvent]) -> RecordPackage:
    fields = _settled(first)
    for event in events:
        match event:
            case ArtifactCreated():
                fields["patch"] = event.content
            case BranchPublished():
                names = ("branch", "commit", "made_of", "branch_was")
                fields |= {name: getattr(event, name) for name in names}
            case PhaseCompleted():
                fields |= {"problem": event.problem, "sentence": event.sentence}
    return RecordPackage(**fields)
