"""Changes of a delivery by events: `evolve` only assigns and decides nothing."""

from dataclasses import replace
from typing import get_args

from domain.delivery.chart import PhaseStatus
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BaselineRecorded,
    BranchPublished,
    BudgetExhausted,
    BudgetExtended,
    BudgetHeld,
    BudgetResumed,
    CommentsUnchanged,
    DeliveryEvent,
    DeliveryRetried,
    DeliveryStarted,
    DeliveryTransition,
    FixRequested,
    FlakySeen,
    NoProgress,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    ReviewApproved,
    ReviewBlockingDetected,
    RevisionBegun,
    ScopeDecided,
    ScopeExceeded,
    ScopeRequested,
    SessionFinished,
    TestsPassed,
    ValidationFailed,
)
from domain.delivery.state import Delivery, Resume, ScopeRequest
from domain.delivery.validation import blocking, failing, left_as_they_were
from domain.session.attempts import Unready
from domain.session.attendance import SessionUnattended
from domain.session.children import ChildClosed
from domain.session.forks import SessionDiverged, SessionForked, SessionReleased
from domain.session.permissions import PermissionEvent
from domain.session.revisions import concluded
from domain.session.state import EventMetadata, evolve_shared, hear
from domain.session.turns import AttemptOver, TurnAnswered, TurnRetried
from domain.session.validation import Validated
from domain.values.base import DomainEvent
from domain.values.budget import Budget

SentBack = ValidationFailed | FixRequested | ReviewBlockingDetected | CommentsUnchanged | ScopeExceeded
"""Events that begin another iteration."""


def evolve(delivery: Delivery | None, event: DomainEvent, metadata: EventMetadata) -> Delivery:
    """The delivery after one more event."""
    if delivery is None:
        assert isinstance(event, DeliveryStarted), "a delivery begins with session_started"  # else the log is corrupt
        return _begin(event, metadata)
    state = _after(delivery, event, metadata)
    if (state.budget.paused, state.budget.started_at) != (delivery.budget.paused, delivery.budget.started_at):
        waits = (turn.provider_wait or 0 for turn in state.outstanding.values())
        state.deadline_moved = max((metadata.at, *waits))
    return state


def _after(delivery: Delivery, event: DomainEvent, metadata: EventMetadata) -> Delivery:
    state = delivery.next(metadata)
    if isinstance(event, DeliveryEvent):
        _evolve(state, event, metadata.at)
        if isinstance(event, DeliveryTransition):
            state.state = event.state
        return state
    evolve_shared(state, event, metadata.at)
    spent, paused = state.spent, state.budget.paused
    match event:
        case event if isinstance(event, AttemptOver | TurnRetried):
            paused += _wait_left(state, event.turn_id, metadata.at) - _wait_left(delivery, event.turn_id, metadata.at)
            if isinstance(event, TurnAnswered) and event.role == "dev":
                state.author, state.written = event.agent, event.files
        case SessionUnattended():
            paused += event.lost
        case ChildClosed():  # waiting for a person does not count
            paused += event.waited
        case SessionForked() if state.stopped_at is None:  # the time before the fork does not count either
            paused += metadata.at - (delivery.still_since or delivery.updated_at)
            state.fork_held_since = delivery.fork_held_since and metadata.at
            if state.scope_request is not None:
                state.scope_request = replace(state.scope_request, at=metadata.at)
        case SessionDiverged(pauses=True):
            state.fork_held_since = metadata.at
        case SessionReleased() if delivery.fork_held_since is not None:
            paused += metadata.at - delivery.fork_held_since
            state.fork_held_since = None
        case PermissionEvent() if delivery.asking_since and state.asking_since is None:
            paused += metadata.at - delivery.asking_since
    if delivery.held_since is not None and isinstance(event, AttemptOver | TurnRetried | SessionForked):
        paused += 0 if isinstance(event, SessionForked) else max(0, metadata.at - delivery.held_since)
        state.held_since = None
    if spent is not state.budget.spent or paused != state.budget.paused:
        state.budget = state.budget._replace(spent=spent, paused=paused)
    return state


def _wait_left(delivery: Delivery, turn_id: str, at: int) -> int:
    """Returns how long the turn still waits for a provider. That time is paused as the wait begins, and given back if
    it ends early."""
    turn = delivery.outstanding.get(turn_id)
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
        decisions=event.decisions,
        no_progress_limit=event.no_progress_limit,
        preparation=event.preparation,
        starts_with=event.reviewed,
        scope=event.scope,
        way=event.phases,
        phase=event.phases[0],
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
            state.branch_problem = event.sentence or event.problem
        case PhaseFailed():
            _mark(state, event, "failed")
            state.last_error = event.sentence or event.error_message
            state.code = event.error_type if event.error_type in get_args(Unready) else "turn_failed"
        case PhaseSkipped():
            _mark(state, event, "skipped")
        case ArtifactCreated(phase=phase) if phase:
            state.artifacts += 1
            state.artifact_refs = state.artifact_refs | {phase: event.artifact_id}
            state.contents = state.contents | {phase: event.content}
            state.goals, state.planned = event.goals or state.goals, event.files or state.planned
            if phase == "implementation":
                state.patch = event.patch
        case ReviewApproved():
            state.score = event.score
        case BranchPublished():
            state.branch, state.published, state.made_of = event.branch, event.commit, event.made_of
        case AttemptStarted():
            state.iteration = event.iteration
            state.validated = state.clean_room = state.coverage = None
            state.proves_nothing, state.weakened = None, ()
        case TestsPassed():
            _apart(state, event.apart_ms)
            state.validation_summary = event.summary
            state.validated = None if event.no_tests else _validated(state, event, passed=True)
            state.clean_room, state.weakened = event.clean_room, event.weakened
            state.coverage = event.coverage
            state.proves_nothing = "no_tests" if event.no_tests else None
        case FlakySeen():
            state.flaky = state.flaky | {event.command: event.flake}
        case BudgetHeld():
            state.held_since = state.held_since or at
        case BudgetResumed():
            state.held_since = None
            state.budget = state.budget._replace(paused=state.budget.paused + event.waited + event.apart_ms)
        case ValidationFailed():
            _mark(state, event, "failed")
            _apart(state, event.apart_ms)
            state.validation_summary = event.summary
            state.validated, state.clean_room = _validated(state, event, passed=False), event.clean_room
            state.weakened = event.weakened
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
        case CommentsUnchanged():
            state.verdict = event.iteration, left_as_they_were(event.comments)
            _sent_back(state, event)
        case FixRequested():
            _sent_back(state, event)
        case ScopeRequested() | ScopeDecided() | ScopeExceeded():
            _scope(state, event, at)
        case BudgetExhausted():
            state.resume = Resume(phase=event.resume_phase, iteration=event.resume_iteration)
            state.stopped_at = at
            state.exhausted_by = event.reason
            state.code = "budget_exhausted"
        case BudgetExtended():
            _extended(state, event)
        case DeliveryRetried():
            _retried(state, event)
        case RevisionBegun():
            _revised(state, event)
        case SessionFinished():
            state.revisions = concluded(state.revisions) if event.status == "success" else state.revisions
            state.final_summary = event.sentence or event.final_summary
            state.code = event.code or state.code
            state.stopped_at = state.stopped_at or state.fork_held_since or at
            state.fork_held_since = None


def _apart(state: Delivery, apart_ms: int) -> None:
    """The deadline moves by what does not count."""
    state.budget = state.budget._replace(paused=state.budget.paused + apart_ms)


def _validated(state: Delivery, event: TestsPassed | ValidationFailed, *, passed: bool) -> Validated:
    commands = tuple(step.command for step in state.steps)
    return Validated(commands=commands, clean_room=event.clean_room is not None, version=state.version, passed=passed)


def _scope(state: Delivery, event: ScopeRequested | ScopeDecided | ScopeExceeded, at: int) -> None:
    match event:
        case ScopeRequested():
            state.scope_requests += 1
            state.scope_request = ScopeRequest(event.request_id, event.paths, at)
        case ScopeDecided():
            waited = at - state.scope_request.at if state.scope_request else 0
            state.budget = state.budget._replace(paused=state.budget.paused + waited)
            state.scope_request = None
            if event.decision == "allow":
                state.scope_allowed = (*state.scope_allowed, *event.paths)
        case ScopeExceeded():
            _mark(state, event, "failed")
            state.verdict = event.iteration, failing(event.feedback.head.partition("\n")[2])
            _sent_back(state, event)


def _retried(state: Delivery, event: DeliveryRetried) -> None:
    state.budget = state.budget._replace(paused=event.paused)
    _pending(state)
    _mark(state, event, "running")
    state.stopped_at = state.final_summary = state.code = None


def _revised(state: Delivery, event: RevisionBegun) -> None:
    """Returns what stopped it, and how its result landed, no longer counts: another result follows."""
    state.budget = state.budget._replace(limits=event.limits, paused=event.paused)
    state.phase, state.feedback = "implementation", event.feedback
    later = ("implementation", "validation", "review", "packaging")
    _pending(state)
    state.phases = state.phases | {phase: "pending" for phase in state.way if phase in later}
    state.stuck, state.verdict = (0, 0), (0, "")
    state.resume = state.stopped_at = state.exhausted_by = state.final_summary = state.code = None
    state.last_error = state.failed_turn = state.landed = None


def _mark(state: Delivery, event: DeliveryEvent, mark: PhaseStatus) -> None:
    if event.phase is not None:
        state.phases = state.phases | {event.phase: mark}


def _pending(state: Delivery) -> None:
    """Phases that were skipped when it stopped are pending again; those that it goes without are not."""
    for phase in state.way:
        if state.phases[phase] == "skipped":
            state.phases = state.phases | {phase: "pending"}


def _sent_back(state: Delivery, event: SentBack) -> None:
    state.feedback = event.feedback
    state.history = (*state.history, f"{event.iteration}. {event.message}")


def _extended(state: Delivery, event: BudgetExtended) -> None:
    state.budget = state.budget._replace(limits=event.limits, paused=event.paused)
    hear(state, "extended", event.why)
    if state.resume is None:
        return
    state.stuck, state.verdict = (0, 0), (0, "")
    _pending(state)
    state.resume = state.stopped_at = state.exhausted_by = state.final_summary = state.code = None
