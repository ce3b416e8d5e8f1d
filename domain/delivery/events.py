"""What happens in a delivery. S4's names stand as the last part of each topic (contract §2)."""

from typing import ClassVar

from pydantic import Field

from domain.base import DomainEvent, Text, Value
from domain.budget import Limits, Reason
from domain.delivery.chart import Phase
from domain.validation import Step


class Issue(Value):
    """One finding of the reviewer."""

    id: str
    title: str
    detail: str


class DeliveryEvent(DomainEvent):
    """S4's common fields: who speaks, about which phase and iteration, and the budget at that moment."""

    role: str = "supervisor"
    message: str = ""
    phase: Phase | None = None
    iteration: int = 0
    elapsed_ms: int = 0
    remaining_iterations: int = 0
    reason: Reason | None = None


class Transition(DeliveryEvent):
    """An event that leads to another state of the chart; replay assigns it and never asks the chart again."""

    state: str


class SessionStarted(Transition):
    TOPIC: ClassVar[str] = "delivery.session_started"
    policy: str = Field(default="delivery@1", description="the version of the rules in force for this session")
    task: str
    file_paths: tuple[str, ...] = ()
    steps: tuple[Step, ...]
    limits: Limits
    max_attempts: int | None = None
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    workspace: str | None = None
    repository: bool = False
    scenario: Text | None = None
    crew: dict[str, str] = {}


class PhaseStarted(Transition):
    TOPIC: ClassVar[str] = "delivery.phase_started"


class PhaseCompleted(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.phase_completed"


class PhaseFailed(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.phase_failed"
    error_type: str
    error_message: str


class PhaseSkipped(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.phase_skipped"


class ArtifactCreated(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.artifact_created"
    artifact_id: str
    media_type: str
    content: Text
    patch: Text | None = None
    goals: tuple[str, ...] = ()


class AttemptStarted(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.attempt_started"


class TestsPassed(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.tests_passed"
    summary: str = ""


class ValidationFailed(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.validation_failed"
    classification: str
    summary: str
    feedback: Text


class ReviewBlockingDetected(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.review_blocking_detected"
    artifact_id: str
    blocking_issues: tuple[Issue, ...]
    fix_plan: tuple[str, ...] = ()
    score: int | None = None
    feedback: Text


class ReviewApproved(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.review_approved"
    artifact_id: str
    score: int | None = None
    non_blocking: int = 0


class BudgetExhausted(Transition):
    TOPIC: ClassVar[str] = "delivery.budget_exhausted"
    resume_phase: Phase
    resume_iteration: int


class BudgetExtended(Transition):
    TOPIC: ClassVar[str] = "delivery.budget_extended"
    limits: Limits
    paused: int
    add_iterations: int = 0
    add_minutes: int = 0
    add_tokens: int = 0
    add_cost_micros: int = 0
    why: str


class BranchPublished(DeliveryEvent):
    TOPIC: ClassVar[str] = "delivery.branch_published"
    branch: str
    commit: str


class SessionFinished(Transition):
    TOPIC: ClassVar[str] = "delivery.session_finished"
    status: str
    final_summary: str


EVENTS: tuple[type[DomainEvent], ...] = (
    SessionStarted,
    PhaseStarted,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    ArtifactCreated,
    AttemptStarted,
    TestsPassed,
    ValidationFailed,
    ReviewBlockingDetected,
    ReviewApproved,
    BudgetExhausted,
    BudgetExtended,
    BranchPublished,
    SessionFinished,
)
