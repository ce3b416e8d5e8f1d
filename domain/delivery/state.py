"""A delivery as its events made it: assigns only, decides nothing."""

from domain.delivery.chart import PHASES, Phase, PhaseStatus, Status, status
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BudgetExhausted,
    BudgetExtended,
    DeliveryEvent,
    FixRequested,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    ReviewBlockingDetected,
    SessionFinished,
    SessionStarted,
    TestsPassed,
    Transition,
    ValidationFailed,
)
from domain.delivery.validation import Step
from domain.discussion.topic import ReviewSettings
from domain.session.budget import Budget, Reason, Snapshot
from domain.session.children import ChildClosed
from domain.session.evolve import evolve_turn
from domain.session.forks import SessionForked
from domain.session.state import EventMetadata, Session
from domain.values.base import DomainEvent, Text, Value


class Resume(Value):
    """Where an exhausted delivery goes on."""

    phase: Phase
    iteration: int


class Delivery(Session):
    """The state of a delivery (S4 §4.1)."""

    policy: str
    task: str
    file_paths: tuple[str, ...]
    steps: tuple[Step, ...]
    max_attempts: int | None
    repository: bool
    review: ReviewSettings | None = None
    budget: Budget
    phase: Phase = "planning"
    phases: dict[Phase, PhaseStatus] = dict.fromkeys(PHASES, "pending")
    iteration: int = 0
    artifacts: int = 0
    artifact_refs: dict[Phase, str] = {}
    contents: dict[Phase, Text] = {}
    patch: Text | None = None
    feedback: Text = Text()
    validation_summary: str = ""
    goals: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    resume: Resume | None = None
    stopped_at: int | None = None
    exhausted_by: Reason | None = None
    final_summary: str | None = None

    @property
    def status(self) -> Status:
        return status(self.state)

    @property
    def ended(self) -> bool:
        return self.status != "running"

    def guard(self, name: str) -> bool:
        """The chart's guards: `resumes_<phase>`."""
        return self.resume is not None and name == f"resumes_{self.resume.phase}"

    @property
    def gate(self) -> int:
        """The iteration that the budget is asked about: the running one, or the one that could not begin."""
        return self.resume.iteration if self.resume else self.iteration

    def budget_time(self, at: int) -> int:
        """The moment that the budget has come to: it stands still while the delivery is stopped or has ended."""
        return at if self.stopped_at is None else self.stopped_at

    def snapshot(self, at: int) -> Snapshot:
        """The budget now."""
        return self.budget.snapshot(iteration=self.gate, at=self.budget_time(at), reason=self.exhausted_by)


def evolve(delivery: Delivery | None, event: DomainEvent, metadata: EventMetadata) -> Delivery:
    """The delivery after one more event."""
    if isinstance(event, SessionStarted):
        return _begin(event, metadata)
    assert delivery is not None, "a delivery begins with session_started"  # a log that lies is corrupt
    if isinstance(event, DeliveryEvent):
        changes = _changes(delivery, event, metadata.at)
        if isinstance(event, Transition):
            changes["state"] = event.state
        return delivery.stamped(metadata.at, **changes)
    turned = evolve_turn(delivery, event, metadata.at)
    return turned.changed(budget=_budget(delivery, turned, event))


def _budget(before: Delivery, after: Delivery, event: DomainEvent) -> Budget:
    """What turns cost counts, those of a review too; time in which nothing could go on does not: waiting for a person,
    and what lies between a history and its fork."""
    waited = event.waited if isinstance(event, ChildClosed) else 0
    if isinstance(event, SessionForked) and before.stopped_at is None:
        waited = after.updated_at - before.updated_at
    return after.budget.changed(spent=after.spent, paused=after.budget.paused + waited)


def _begin(event: SessionStarted, metadata: EventMetadata) -> Delivery:
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
        budget=Budget(limits=event.limits, started_at=metadata.at),
    )


def _changes(delivery: Delivery, event: DeliveryEvent, at: int) -> dict[str, object]:
    match event:
        case PhaseStarted(phase=phase) if phase:
            return {"phase": phase, "phases": delivery.phases | {phase: "running"}}
        case PhaseCompleted():
            return {"phases": _mark(delivery, event, "completed")}
        case PhaseFailed():
            return {"phases": _mark(delivery, event, "failed"), "last_error": event.error_message}
        case PhaseSkipped():
            return {"phases": _mark(delivery, event, "skipped")}
        case ArtifactCreated(phase=phase) if phase:
            return {
                "artifacts": delivery.artifacts + 1,
                "artifact_refs": delivery.artifact_refs | {phase: event.artifact_id},
                "contents": delivery.contents | {phase: event.content},
                "goals": event.goals or delivery.goals,
                "patch": event.patch if phase == "implementation" else delivery.patch,
            }
        case AttemptStarted():
            return {"iteration": event.iteration}
        case TestsPassed():
            return {"validation_summary": event.summary}
        case ValidationFailed():
            return {
                "phases": _mark(delivery, event, "failed"),
                "feedback": event.feedback,
                "validation_summary": event.summary,
                "history": (*delivery.history, f"{event.iteration}. {event.message}"),
            }
        case FixRequested() | ReviewBlockingDetected():
            return {
                "feedback": event.feedback,
                "history": (*delivery.history, f"{event.iteration}. {event.message}"),
            }
        case BudgetExhausted():
            return {
                "resume": Resume(phase=event.resume_phase, iteration=event.resume_iteration),
                "stopped_at": at,
                "exhausted_by": event.reason,
            }
        case BudgetExtended():
            return _extended(delivery, event)
        case SessionFinished():
            return {"final_summary": event.final_summary, "stopped_at": delivery.stopped_at or at}
        case _:
            return {}


def _extended(delivery: Delivery, event: BudgetExtended) -> dict[str, object]:
    budget = delivery.budget.changed(limits=event.limits, paused=event.paused)
    if delivery.resume is None:
        return {"budget": budget}
    waiting: dict[Phase, PhaseStatus] = {
        phase: "pending" if mark == "skipped" else mark for phase, mark in delivery.phases.items()
    }
    return {
        "budget": budget,
        "phases": waiting,
        "resume": None,
        "stopped_at": None,
        "exhausted_by": None,
        "final_summary": None,
    }


def _mark(delivery: Delivery, event: DeliveryEvent, mark: PhaseStatus) -> dict[Phase, PhaseStatus]:
    if event.phase is None:
        return delivery.phases
    return delivery.phases | {event.phase: mark}
