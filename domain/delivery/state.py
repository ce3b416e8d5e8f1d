"""A delivery as its events made it: `evolve` assigns only, and decides nothing."""

from dataclasses import dataclass, field
from typing import Any, get_args

from domain.delivery.baseline import BaselineCommand, Preparation
from domain.delivery.chart import PHASES, Phase, PhaseStatus, Status, status
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BaselineRecorded,
    BranchPublished,
    BudgetExhausted,
    BudgetExtended,
    DeliveryEvent,
    DeliveryRetried,
    DeliveryStarted,
    DeliveryTransition,
    FixRequested,
    NoProgress,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    ReviewApproved,
    ReviewBlockingDetected,
    SessionFinished,
    TestsPassed,
    ValidationFailed,
)
from domain.delivery.reasons import blocking, failing
from domain.delivery.validation import ValidationStep
from domain.session.children import ChildClosed, ReviewSettings
from domain.session.forks import SessionForked
from domain.session.state import EventMetadata, Session, evolve_shared
from domain.session.turns import Settled, TurnAnswered, TurnAttemptFailed, TurnRetried, Unready
from domain.values.base import DomainEvent, Text
from domain.values.budget import Budget, BudgetStatus, Reason


@dataclass(frozen=True, slots=True)
class Resume:
    """Where an exhausted delivery goes on."""

    phase: Phase
    iteration: int


@dataclass(kw_only=True)
class Delivery(Session):
    """The state of a delivery (S4 §4.1)."""

    policy: str
    task: str
    file_paths: tuple[str, ...]
    steps: tuple[ValidationStep, ...]
    max_attempts: int | None
    repository: bool
    review: ReviewSettings | None = None
    budget: Budget
    phase: Phase = "planning"
    phases: dict[Phase, PhaseStatus] = field(default_factory=lambda: dict.fromkeys(PHASES, "pending"))
    iteration: int = 0
    artifacts: int = 0
    artifact_refs: dict[Phase, str] = field(default_factory=dict)
    contents: dict[Phase, Text] = field(default_factory=dict)
    patch: Text | None = None
    feedback: Text = field(default_factory=Text)
    validation_summary: str = ""
    score: int | None = None
    goals: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    resume: Resume | None = None
    stopped_at: int | None = None
    exhausted_by: Reason | None = None
    final_summary: str | None = None
    code: str | None = None
    """Why it came to rest, as a short name."""
    no_progress_limit: int = 0
    stuck: tuple[int, int] = (0, 0)
    """The last iteration without progress, and how many there were in a row."""
    verdict: tuple[int, str] = (0, "")
    """The last iteration that was sent back, and by which failures or issues."""
    author: str = ""
    """The agent who wrote the work of this iteration."""
    preparation: Preparation = field(default_factory=Preparation)
    baseline: tuple[BaselineCommand, ...] = ()
    validation_env: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        return status(self.state)

    @property
    def ended(self) -> bool:
        return self.status != "running"

    def guard(self, name: str) -> bool:
        """The chart's guards: `resumes_<phase>`, `failed_<phase>`, and whether a turn `waits` for its next attempt."""
        if name == "waits":
            return self.waits
        if self.failed_turn is not None and name == f"failed_{self.failed_turn.phase}":
            return True
        return self.resume is not None and name == f"resumes_{self.resume.phase}"

    @property
    def next_artifact(self) -> str:
        """The id of the artifact that is made next."""
        return f"{self.id}.a{self.artifacts + 1}"

    @property
    def gate(self) -> int:
        """The iteration that the budget is asked about: the running one, or the one that could not begin."""
        return self.resume.iteration if self.resume else self.iteration

    def budget_time(self, at: int) -> int:
        """The instant up to which the budget has run. Its clock is paused while the delivery is stopped, and while a
        provider makes it wait: such a wait is counted as paused as soon as it begins. It starts after the baseline."""
        if self.state == "preparing":
            return self.budget.started_at
        if self.stopped_at is not None:
            return self.stopped_at
        return max((at, *(turn.provider_wait or at for turn in self.outstanding.values())))

    def stopped_for(self, at: int) -> int:
        """How long the clock has been paused: while an exhausted delivery waits, at the latest from its deadline."""
        if self.stopped_at is None:
            return 0
        return at - min(self.stopped_at, self.budget.deadline_at + 1)

    def snapshot(self, at: int) -> BudgetStatus:
        """The budget now."""
        return self.budget.snapshot(iteration=self.gate, at=self.budget_time(at), reason=self.exhausted_by)

    def figures(self, at: int, iteration: int | None = None) -> dict[str, Any]:
        """What S4's events say of the iteration and the budget: of the running iteration, or the one that is named."""
        gate = self.gate if iteration is None else iteration
        return {
            "iteration": self.iteration if iteration is None else iteration,
            "elapsed_ms": self.budget.elapsed(self.budget_time(at)),
            "remaining_iterations": self.budget.remaining(gate),
            "reason": self.exhausted_by,
        }


def evolve(delivery: Delivery | None, event: DomainEvent, metadata: EventMetadata) -> Delivery:
    """The delivery after one more event."""
    if delivery is None:
        assert isinstance(event, DeliveryStarted), "a delivery begins with session_started"  # else the log is corrupt
        return _begin(event, metadata)
    state = delivery.next(metadata)
    if isinstance(event, DeliveryEvent):
        _evolve(state, event, metadata.at)
        if isinstance(event, DeliveryTransition):
            state.state = event.state
        return state
    evolve_shared(state, event, metadata.at)
    spent, paused = state.spent, state.budget.paused
    match event:
        case TurnAttemptFailed():
            wait = state.outstanding[event.turn_id].provider_wait
            paused += (wait - metadata.at if wait else 0) - _unused_wait(delivery, event.turn_id, metadata.at)
        case TurnRetried() | Settled():
            paused -= _unused_wait(delivery, event.turn_id, metadata.at)
            if isinstance(event, TurnAnswered) and event.role == "dev":
                state.author = event.agent
        case ChildClosed():  # waiting for a person costs no time
            paused += event.waited
        case SessionForked() if state.stopped_at is None:  # nor does what lies between a history and its fork
            paused += metadata.at - delivery.updated_at
    if spent is not state.budget.spent or paused != state.budget.paused:
        state.budget = state.budget._replace(spent=spent, paused=paused)
    return state


def _unused_wait(before: Delivery, turn_id: str, at: int) -> int:
    """What is left of a provider's wait that ends early."""
    turn = before.outstanding.get(turn_id)
    return max(0, (turn.provider_wait or at) - at) if turn is not None else 0


def _begin(event: DeliveryStarted, metadata: EventMetadata) -> Delivery:
    return Delivery(
        id=metadata.session_id,
        kind="delivery",
        state=event.state,
        version=1,
        created_at=metadata.at,
        updated_at=metadata.at,
        title=event.title,
        origin=event.origin,
        labels=event.labels,
        scenario=event.scenario,
        workspace=event.workspace,
        crew=event.crew,
        policy=event.policy,
        task=event.task,
        file_paths=event.file_paths,
        steps=event.steps,
        max_attempts=event.max_attempts,
        repository=event.repository,
        review=event.review,
        retry=event.retry,
        no_progress_limit=event.no_progress_limit,
        preparation=event.preparation,
        budget=Budget(limits=event.limits, started_at=metadata.at),
    )


def _evolve(state: Delivery, event: DeliveryEvent, at: int) -> None:
    match event:
        case BaselineRecorded():
            state.baseline, state.validation_env = event.commands, event.env
            state.budget = state.budget._replace(started_at=at, paused=0)
        case PhaseStarted(phase=phase) if phase:
            state.phase = phase
            _mark(state, event, "running")
        case PhaseCompleted():
            _mark(state, event, "completed")
        case PhaseFailed():
            _mark(state, event, "failed")
            state.last_error = event.error_message
            state.code = event.error_type if event.error_type in get_args(Unready) else "turn_failed"
        case PhaseSkipped():
            _mark(state, event, "skipped")
        case ArtifactCreated(phase=phase) if phase:
            state.artifacts += 1
            state.artifact_refs = state.artifact_refs | {phase: event.artifact_id}
            state.contents = state.contents | {phase: event.content}
            state.goals = event.goals or state.goals
            if phase == "implementation":
                state.patch = event.patch
        case ReviewApproved():
            state.score = event.score
        case BranchPublished():
            state.branch, state.published = event.branch, event.commit
        case AttemptStarted():
            state.iteration = event.iteration
        case TestsPassed():
            state.validation_summary = event.summary
        case ValidationFailed():
            _mark(state, event, "failed")
            state.validation_summary = event.summary
            state.verdict = event.iteration, failing(event.summary)
            _sent_back(state, event)
        case NoProgress():
            state.stuck = event.iteration, event.iterations
            if event.state == "exhausted":
                state.resume = Resume(phase="implementation", iteration=event.iteration + 1)
                state.stopped_at, state.code = at, "no_progress"
        case ReviewBlockingDetected():
            state.verdict = event.iteration, blocking(issue.title for issue in event.blocking_issues)
            _sent_back(state, event)
        case FixRequested():
            _sent_back(state, event)
        case BudgetExhausted():
            state.resume = Resume(phase=event.resume_phase, iteration=event.resume_iteration)
            state.stopped_at = at
            state.exhausted_by = event.reason
            state.code = "budget_exhausted"
        case BudgetExtended():
            _extended(state, event)
        case DeliveryRetried():
            _retried(state, event)
        case SessionFinished():
            state.final_summary = event.final_summary
            state.code = event.code or state.code
            state.stopped_at = state.stopped_at or at


def _retried(state: Delivery, event: DeliveryRetried) -> None:
    state.budget = state.budget._replace(paused=event.paused)
    state.phases = {phase: "pending" if mark == "skipped" else mark for phase, mark in state.phases.items()}
    _mark(state, event, "running")
    state.stopped_at = state.final_summary = state.code = None


def _mark(state: Delivery, event: DeliveryEvent, mark: PhaseStatus) -> None:
    if event.phase is not None:
        state.phases = state.phases | {event.phase: mark}


def _sent_back(state: Delivery, event: ValidationFailed | FixRequested | ReviewBlockingDetected) -> None:
    state.feedback = event.feedback
    state.history = (*state.history, f"{event.iteration}. {event.message}")


def _extended(state: Delivery, event: BudgetExtended) -> None:
    state.budget = state.budget._replace(limits=event.limits, paused=event.paused)
    if state.resume is None:
        return
    state.stuck, state.verdict = (0, 0), (0, "")
    state.phases = {phase: "pending" if mark == "skipped" else mark for phase, mark in state.phases.items()}
    state.resume = state.stopped_at = state.exhausted_by = state.final_summary = state.code = None
