"""The events of a delivery. S4's names are the last part of each topic (contract §2)."""

from typing import ClassVar, Literal

from pydantic import Field

from domain.checks.weakening import Weakening
from domain.delivery.chart import PHASES, Phase
from domain.delivery.validation import BaselineCommand, Escape, Preparation
from domain.session.attempts import ONCE, RetryPolicy
from domain.session.children import ReviewSettings
from domain.session.team_decisions import (
    TeamPolicy,
)
from domain.session.validation import Cause, CleanRoom, Flake, SetupCommand, Stage, ValidationStep, WorkCoverage
from domain.session.workspace import EVERYTHING, BranchWas, PathScope, ReviewedDiff
from domain.values.base import DomainEvent, Text, Value, absent
from domain.values.budget import BudgetLimits, ExhaustedBudget, Reason
from domain.values.sentences import Sentence

ScopeDecision = Literal["allow", "deny"]
Hold = Literal["setup", "repeat"]


def _is_empty(values: tuple[object, ...]) -> bool:
    return not values


def _is_false(value: bool) -> bool:
    return not value


def _is_zero(number: int) -> bool:
    return number == 0


class Issue(Value):
    """One finding of the reviewer."""

    id: str
    title: str
    detail: str


class DeliveryEvent(DomainEvent):
    """The speaker of an event, its phase and iteration, and the budget at that moment (S4)."""

    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")
    message: str = Field(default="", description="the event as a sentence")
    phase: Phase | None = Field(default=None, description="the phase it is about")
    iteration: int = Field(default=0, description="0 before the first")
    elapsed_ms: int = Field(default=0, description="milliseconds of the budget used by then")
    remaining_iterations: int = Field(default=0, description="iterations left, the current one among them")
    reason: Reason | None = Field(default=None, description="what is used up")


class DeliveryTransition(DeliveryEvent):
    """An event that leads to another state of the chart; replay assigns it and never asks the chart again."""

    state: str = Field(description="the state of the chart that it leads to")


class DeliveryStarted(DeliveryTransition):
    """A delivery started, with its task, validation commands and limits."""

    TOPIC: ClassVar[str] = "delivery.session_started"
    policy: str = Field(default="delivery@1", description="the version of the rules in force for this session")
    task: str = Field(description="the task")
    file_paths: tuple[str, ...] = Field(default=(), description="the files it is about, relative to the workspace")
    steps: tuple[ValidationStep, ...] = Field(description="the validation commands, in order")
    limits: BudgetLimits = Field(description="the budget")
    max_attempts: int | None = Field(default=None, description="old name of maxIterations, as given")
    title: str = ""
    origin: str = Field(default="", description="where the request came from")
    labels: tuple[str, ...] = ()
    workspace: str | None = Field(default=None, description="the given folder; null for a new one")
    repository: bool = Field(default=False, description="whether that folder is in a git repository")
    started_in: str | None = Field(
        default=None, exclude_if=absent, description="the top folder of the repository that it was started in"
    )
    scenario: Text | None = Field(default=None, description="the replies of scripted agents in this session")
    crew: dict[str, str] = Field(default_factory=dict, description="the agent's name for each role")
    review: ReviewSettings | None = Field(
        default=None, description="the review that a person decides before packaging, if any"
    )
    retry: RetryPolicy = Field(default=ONCE, description="how failed turns are retried")
    no_progress_limit: int = Field(default=0, description="iterations in a row without progress; 0 for any number")
    baseline: bool = Field(default=False, description="whether the validation runs once before the first phase")
    preparation: Preparation = Field(default=Preparation(), description="how its workspace is prepared")
    fixes: str = Field(default="", description="the review whose findings it fixes")
    reviewed: ReviewedDiff | None = Field(
        default=None, exclude_if=absent, description="the uncommitted changes that it starts with, and replaces"
    )
    scope: PathScope = Field(default=EVERYTHING, description="the paths it may change")
    decisions: TeamPolicy = None
    phases: tuple[Phase, ...] = Field(default=PHASES, description="the phases it goes through, in order")


class BaselineRecorded(DeliveryEvent):
    """The workspace was prepared and validated once, before any agent was asked."""

    TOPIC: ClassVar[str] = "delivery.baseline_recorded"
    commands: tuple[BaselineCommand, ...] = Field(default=(), description="the validation commands, in order")
    setup: tuple[SetupCommand, ...] = Field(default=(), description="the set-up commands, up to the first that failed")
    escapes: tuple[Escape, ...] = Field(default=(), description="what validation would load from elsewhere")
    env: dict[str, str] = Field(default_factory=dict, description="variables that make the workspace take precedence")


class PhaseStarted(DeliveryTransition):
    """A phase started, for the first time or again."""

    TOPIC: ClassVar[str] = "delivery.phase_started"


class PhaseCompleted(DeliveryEvent):
    """A phase is complete."""

    TOPIC: ClassVar[str] = "delivery.phase_completed"
    problem: str | None = Field(default=None, description="a problem that did not fail the phase")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`problem` as data")


class PhaseFailed(DeliveryEvent):
    """A phase failed: an agent failed or its answer was unusable. The delivery ends (K-41)."""

    TOPIC: ClassVar[str] = "delivery.phase_failed"
    error_type: str = Field(description="an error code")
    error_message: str = Field(description="the error in words")
    sentence: Sentence | None = Field(default=None, description="the error as data; null for others' texts")


class PhaseSkipped(DeliveryEvent):
    """A pending phase will not run."""

    TOPIC: ClassVar[str] = "delivery.phase_skipped"


class ArtifactCreated(DeliveryEvent):
    """A result was saved: an agent's answer, the validation report, a review, or the final patch."""

    TOPIC: ClassVar[str] = "delivery.artifact_created"
    artifact_id: str
    media_type: str
    content: Text = Field(description="the artifact itself")
    patch: Text | None = Field(default=None, description="the change to the workspace, as a diff")
    goals: tuple[str, ...] = Field(default=(), description="the plan's goals")
    files: tuple[str, ...] = Field(default=(), description="the plan's files")


class AttemptStarted(DeliveryEvent):
    """The next iteration of implementation, validation and review started."""

    TOPIC: ClassVar[str] = "delivery.attempt_started"


class TestsPassed(DeliveryEvent):
    """Every validation command passed."""

    TOPIC: ClassVar[str] = "delivery.tests_passed"
    summary: str = ""
    clean_room: CleanRoom | None = Field(
        default=None, exclude_if=absent, description="the run in a fresh checkout; null where there was none"
    )
    coverage: WorkCoverage | None = Field(
        default=None, exclude_if=absent, description="which added lines no command has run; null where it is not asked"
    )
    weakened: tuple[Weakening, ...] = Field(
        default=(), exclude_if=_is_empty, description="what makes the validation prove less than before the work"
    )
    no_tests: bool = Field(
        default=False,
        exclude_if=_is_false,
        description="whether no test ran, nor before the work: it proves nothing",
    )
    apart_ms: int = Field(
        default=0, exclude_if=_is_zero, description="milliseconds of the validation that do not count for the budget"
    )


class ValidationFailed(DeliveryEvent):
    """A validation command failed; the next iteration gets the feedback."""

    TOPIC: ClassVar[str] = "delivery.validation_failed"
    classification: str = Field(description="lint, type, test, runtime or unknown")
    summary: str
    sentence: Sentence | None = Field(default=None, description="how the command ended, as data; null in old logs")
    feedback: Text = Field(description="the feedback for the developer")
    reasons: tuple[str, ...] = Field(default=(), description="the lines that say why, at most 20")
    new_failures: tuple[str, ...] = Field(default=(), description="those that the baseline did not have")
    clean_room: CleanRoom | None = Field(
        default=None, exclude_if=absent, description="the run in a fresh checkout; null where there was none"
    )
    cause: Cause | None = Field(
        default=None, exclude_if=absent, description="why it failed, if not only because a command failed"
    )
    weakened: tuple[Weakening, ...] = Field(
        default=(), exclude_if=_is_empty, description="what makes the validation prove less than before the work"
    )
    apart_ms: int = Field(
        default=0, exclude_if=_is_zero, description="milliseconds of the validation that do not count for the budget"
    )


class FlakySeen(DeliveryEvent):
    """A validation command failed and then passed on the same tree: it counts as passed."""

    TOPIC: ClassVar[str] = "delivery.flaky_seen"
    stage: Stage
    command: str
    runs: int = Field(description="how often it was run, the first time included")
    failed: int = Field(description="how often it failed")
    tests: tuple[str, ...] = Field(default=(), description="the tests that failed, as far as the output names them")
    known: bool = Field(default=False, description="whether it is flaky without the changes, too")

    @property
    def flake(self) -> Flake:
        return Flake(**{name: getattr(self, name) for name in Flake.model_fields})


class BudgetHeld(DeliveryEvent):
    """The budget's clock stands still while a validation sets up a fresh checkout, or runs a command again."""

    TOPIC: ClassVar[str] = "delivery.budget_held"
    turn_id: str
    attempt: int
    why: Hold


class BudgetResumed(DeliveryEvent):
    """The budget's clock runs again; the deadline has moved by the time in between."""

    TOPIC: ClassVar[str] = "delivery.budget_resumed"
    turn_id: str
    waited: int = Field(description="milliseconds for which the clock stood still")
    apart_ms: int = Field(default=0, description="further milliseconds that do not count for the budget")


class ReviewBlockingDetected(DeliveryEvent):
    """The reviewer found blocking issues; the work goes back, whatever its score (S4 §7)."""

    TOPIC: ClassVar[str] = "delivery.review_blocking_detected"
    artifact_id: str = Field(description="the review")
    blocking_issues: tuple[Issue, ...]
    fix_plan: tuple[str, ...] = Field(default=(), description="the steps the reviewer proposes")
    score: int | None = Field(default=None, description="advice only, 0 to 100")
    feedback: Text = Field(description="the feedback for the developer")


class NoProgress(DeliveryTransition):
    """An iteration changed nothing, or ended like the one before. At the limit it can be extended."""

    TOPIC: ClassVar[str] = "delivery.no_progress"
    same: Literal["files", "failures", "issues"] = Field(description="what did not change")
    iterations: int = Field(description="how many iterations in a row made no progress")


class ScopeRequested(DeliveryTransition):
    """The developer changed paths outside the scope; a person is asked to allow them."""

    TOPIC: ClassVar[str] = "delivery.scope_requested"
    request_id: str
    paths: tuple[str, ...] = Field(description="the changed paths that the scope does not cover")


class ScopeDecided(DeliveryEvent):
    """A person allowed or denied the changes outside the scope."""

    TOPIC: ClassVar[str] = "delivery.scope_decided"
    request_id: str
    decision: ScopeDecision = Field(description="allowed paths may be changed from now on")
    by: str = Field(description="who decided")
    paths: tuple[str, ...] = ()


class ScopeExceeded(DeliveryEvent):
    """Changes outside the scope failed the iteration; the developer gets the list."""

    TOPIC: ClassVar[str] = "delivery.scope_exceeded"
    paths: tuple[str, ...]
    feedback: Text = Field(description="the feedback for the developer")


class ReviewApproved(DeliveryEvent):
    """The reviewer found no blocking issues."""

    TOPIC: ClassVar[str] = "delivery.review_approved"
    artifact_id: str = Field(description="the review")
    score: int | None = Field(default=None, description="advice only, 0 to 100")
    non_blocking: int = Field(default=0, description="how many remarks there were")


class ReviewHeld(DeliveryTransition):
    """The delivery's reviewer approved; before packaging follows a review that a person decides (S2)."""

    TOPIC: ClassVar[str] = "delivery.review_held"


class CommentsUnchanged(DeliveryEvent):
    """Comments that ask for changes were left as they were: nothing approves over that, and they go into the next
    iteration."""

    TOPIC: ClassVar[str] = "delivery.comments_unchanged"
    comments: tuple[str, ...] = Field(description="the ids of the comments")
    feedback: Text


class FixRequested(DeliveryEvent):
    """A person wants the review's findings fixed; they go into the next iteration."""

    TOPIC: ClassVar[str] = "delivery.fix_requested"
    child_id: str
    feedback: Text


class BudgetExhausted(DeliveryTransition):
    """The budget ran out before the work was done; a person may extend it (K-46)."""

    TOPIC: ClassVar[str] = "delivery.budget_exhausted"
    budget: ExhaustedBudget | None = Field(default=None, exclude_if=absent, description="limits and use (K-38)")
    resume_phase: Phase = Field(description="where it continues once extended")
    resume_iteration: int = Field(description="the iteration it continues with")


class BudgetExtended(DeliveryTransition):
    """A person added budget; skipped phases are pending again."""

    TOPIC: ClassVar[str] = "delivery.budget_extended"
    limits: BudgetLimits = Field(description="the limits from now on")
    paused: int = Field(description="total milliseconds for which the clock was paused")
    add_iterations: int = 0
    add_minutes: int = 0
    add_tokens: int = 0
    add_cost_micros: int = Field(default=0, description="millionths")
    why: str = Field(description="the person's reason")


class DeliveryRetried(DeliveryTransition):
    """A person retried the failed turn; skipped phases are pending again."""

    TOPIC: ClassVar[str] = "delivery.retried"
    paused: int = Field(description="total milliseconds for which the clock was paused")
    why: str = Field(default="", description="the person's reason")


class RevisionBegun(DeliveryTransition):
    """The delivery goes on with what a person wants changed. Phases after the implementation are pending again."""

    TOPIC: ClassVar[str] = "delivery.revision_begun"
    revisions: tuple[str, ...] = Field(description="the change requests that it goes on with")
    limits: BudgetLimits = Field(description="the limits from now on")
    more: bool = Field(default=False, description="whether the limits are wider than before")
    paused: int = Field(description="total milliseconds for which the clock was paused")
    feedback: Text = Field(default=Text(), description="the feedback for the developer")


class BranchPublished(DeliveryEvent):
    """The work was published as a branch of the repository."""

    TOPIC: ClassVar[str] = "delivery.branch_published"
    branch: str
    commit: str
    made_of: str | None = Field(
        default=None,
        exclude_if=absent,
        description="the recorded state, where filters or encodings of the repository store it in another form",
    )
    branch_was: BranchWas | None = Field(
        default=None, exclude_if=absent, description="how the branch was found; null in old logs"
    )


class SessionFinished(DeliveryTransition):
    """The delivery stopped: it succeeded, failed, was cancelled, or ran out of budget."""

    TOPIC: ClassVar[str] = "delivery.session_finished"
    status: str = Field(description="success, failed or cancelled")
    final_summary: str = Field(description="the outcome in a word or sentence")
    children: tuple[str, ...] = Field(default=(), description="the reviews that end with it")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`finalSummary` as data")
    code: str | None = Field(
        default=None,
        description="a reason code, if no phase gives one; `no_change` after a success without a changed file",
    )

    @property
    def cancelled_because(self) -> str:
        """The person's reason. Old logs have it only in the text of the summary."""
        return str(self.sentence.params["detail"]) if self.sentence else self.final_summary.partition(": ")[2]


EVENTS: tuple[type[DomainEvent], ...] = (
    DeliveryStarted,
    BaselineRecorded,
    PhaseStarted,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    ArtifactCreated,
    AttemptStarted,
    TestsPassed,
    ValidationFailed,
    FlakySeen,
    BudgetHeld,
    BudgetResumed,
    ReviewBlockingDetected,
    NoProgress,
    ScopeRequested,
    ScopeDecided,
    ScopeExceeded,
    ReviewApproved,
    ReviewHeld,
    CommentsUnchanged,
    FixRequested,
    BudgetExhausted,
    BudgetExtended,
    DeliveryRetried,
    RevisionBegun,
    BranchPublished,
    SessionFinished,
)
