"""The steps of a delivery: how a phase begins and completes, and how the delivery stops (S4 §6, §7.1)."""

from collections.abc import Generator
from typing import Any, Literal

from domain.delivery.chart import PHASES, PROMPTS, ROLES, WORK, Phase, PhaseStatus
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BudgetExhausted,
    NoProgress,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    RevisionBegun,
    SessionFinished,
)
from domain.delivery.state import Delivery, context
from domain.delivery.validation import notes_on_validation
from domain.session.attempts import Failure
from domain.session.decision import Events, Now, ask, clear_agents, end_attempt
from domain.session.landing import why_sent_back
from domain.session.revisions import REVISION_ITERATIONS, REVISION_MINUTES
from domain.session.turns import RecordTurn, TurnAnswered, TurnFailed
from domain.values.base import DomainEvent, Text, iso
from domain.values.budget import BudgetLimits, ExhaustedBudget, Reason
from domain.values.sentences import Sentence, coded

BUDGET_EXHAUSTED = "failed_budget_exhausted"


# -- phases --------------------------------------------------------------------------------------------------------


def complete(now: Now[Delivery], phase: Phase) -> Events:
    """Complete a phase, and begin the next one."""
    now.next("complete")
    yield PhaseCompleted(message=f"Phase {phase} completed.", **about(now, phase))
    yield from proceed(now)


def begin(now: Now[Delivery]) -> Events:
    """Begin the phase that the delivery starts in: the first iteration, if it goes without the phases before it."""
    if now.state.state == "implementation":
        yield attempt(now, 1)
    yield from enter(now)


def proceed(now: Now[Delivery]) -> Events:
    """Go on to the next phase; with the first implementation, the first iteration begins. Without packaging, a delivery
    succeeds after its last phase."""
    following = now.next("complete")
    if following == "implementation":
        return (yield from _iterate(now, 1, by="complete"))
    if following in ("packaging", "success") and now.state.has_queued_revision:
        return (yield from _take_up_queued(now))
    if following == "success":
        return (yield from finish(now, "success", delivered(now.state), by="complete"))
    yield from enter(now, by="complete")


def next_iteration(now: Now[Delivery]) -> Events:
    """Back to the implementation."""
    yield from _iterate(now, now.state.iteration + 1, by="send_back")


def _take_up_queued(now: Now[Delivery]) -> Events:
    """In place of succeeding, go on with what people have asked for meanwhile. Where iterations or minutes do not allow
    that, it gets what a request gets that comes a moment later: approved work must not fail because of it."""
    budget, iteration = now.state.budget, now.state.iteration + 1
    limits = None
    if budget.exhausted(iteration=iteration, at=now.at) in ("iterations", "minutes"):
        limits = budget.limits.changed(
            max_iterations=budget.limits.max_iterations + REVISION_ITERATIONS,
            max_minutes=budget.limits.max_minutes + REVISION_MINUTES,
        )
    yield from take_up(now, by="send_back", limits=limits)


def take_up(now: Now[Delivery], *, by: str, limits: BudgetLimits | None = None) -> Events:
    """Go on with what people want changed: another iteration. `by` is the step of the chart that leads there."""
    state = now.state
    revisions = tuple(revision.revision_id for revision in state.revisions if revision.status != "done")
    yield now.move(
        by,
        RevisionBegun,
        message="The delivery goes on with a change request.",
        revisions=revisions,
        limits=limits or state.budget.limits,
        more=limits is not None,
        paused=state.budget.paused + state.stopped_for(now.at),
        feedback=_still_to_do(now),
        **about(now, "implementation", role="supervisor") | {"reason": None},
    )
    iteration = now.state.iteration + 1
    reason = now.state.budget.exhausted(iteration=iteration, at=now.at)
    if reason is not None:
        return (yield from exhaust(now, reason, "implementation", iteration))
    yield attempt(now, iteration)
    yield from enter(now)


def _still_to_do(now: Now[Delivery]) -> Text:
    """The feedback that nobody has acted on: what rejected the work last, or why its landing sent it back."""
    state = now.state
    if state.status == "failed":
        return state.feedback
    return now.text(why_sent_back(state.sent_back)) if state.sent_back is not None else Text()


def _iterate(now: Now[Delivery], iteration: int, *, by: str) -> Events:
    """Check the budget before each iteration (S4 §6.2, §7.1)."""
    now.next(by)
    reason = now.state.budget.exhausted(iteration=iteration, at=now.at)
    if reason is not None:
        return (yield from exhaust(now, reason, "implementation", iteration))
    yield attempt(now, iteration)
    yield from enter(now, by=by)


def attempt(now: Now[Delivery], iteration: int) -> AttemptStarted:
    fields = about(now, "implementation", role="supervisor", iteration=iteration)
    return AttemptStarted(message=f"Iteration {iteration} started.", **fields)


def enter(now: Now[Delivery], by: str = "") -> Events:
    """Begin the phase that `by` leads to, or the current one. Packaging finished work needs no budget."""
    state = now.state
    phase = _phase(now.next(by) if by else state.state)
    reason = None if phase == "packaging" else state.budget.overdrawn(at=now.at)
    if reason is not None:
        return (yield from exhaust(now, reason, phase, state.iteration))
    fields = {"message": f"Phase {phase} started.", **about(now, phase)}
    yield now.move(by, PhaseStarted, **fields) if by else now.stay(PhaseStarted, **fields)
    if phase == "packaging" and (not state.repository or state.delivers_nothing):
        return (yield from succeed(now, "Nothing is packaged (packaging is a no-op)."))
    yield ask(
        now,
        role=ROLES[phase],
        work=WORK.get(phase, "ask"),
        prompt=PROMPTS.get(phase, ""),
        reads="review_artifact" if phase == "review" else "text",
        context=context(now.state, phase),
        access="write" if phase == "implementation" else "read",
        deadline=None if phase == "packaging" else iso(state.budget.deadline_at),
        phase=phase,
        iteration=state.iteration or None,
    )


def _phase(state: str) -> Phase:
    return next(phase for phase in PHASES if phase == state)


# -- ends (S4 §6.3; K-36, K-41, K-43, K-44) ------------------------------------------------------------------------


def succeed(now: Now[Delivery], message: str, problem: str | None = None) -> Events:
    yield PhaseCompleted(message=message, problem=problem, sentence=coded(problem), **about(now, "packaging"))
    if now.state.has_queued_revision:
        return (yield from _take_up_queued(now))
    yield from finish(now, "success", delivered(now.state), by="complete")


def delivered(delivery: Delivery) -> str:
    """The summary of a success: the iteration, what was validated, the result of the review, and the branch."""
    if delivery.base is None:  # in old logs
        return "success" if "review" in delivery.way else "Success. Not reviewed."
    reviewed = delivery.reviewed
    score = "" if delivery.score is None else f" (score {delivery.score})"
    parts = [
        "Nothing was changed." if delivery.delivers_nothing else "",
        f"Success on iteration {delivery.iteration}.",
        f"Validated by {', '.join(step.command for step in delivery.steps)}." if delivery.validated else "",
        f"Review approved{score}." if "review" in delivery.way else "Not reviewed.",
        *(() if delivery.policy == "delivery@1" else notes_on_validation(delivery.validated, delivery.flaky.values())),
        "No tests ran." if delivery.proves_nothing else "",
        f"The validation may prove less than before: {len(delivery.weakened)}." if delivery.weakened else "",
        f"Review saw {reviewed.percent} % of the changes." if reviewed and reviewed.shown < reviewed.of else "",
        f"Branch {delivery.branch}." if delivery.branch else "",
    ]
    return " ".join(filter(None, parts))


def fail(now: Now[Delivery], phase: Phase, failure: Failure) -> Events:
    """A turn without further attempts fails its phase and skips the pending phases (K-36, K-41). It may be retried."""
    summary = Sentence("phase_failed_because", phase=phase, detail=failure.why or failure.code)
    yield PhaseFailed(
        message=str(summary),
        error_type=failure.code,
        error_message=failure.detail or failure.code,
        sentence=failure.sentence,
        **about(now, phase),
    )
    yield from skip(now, "pending")
    yield from finish(now, "failed", summary, by="fail")


def exhaust(now: Now[Delivery], reason: Reason, resume: Phase, iteration: int) -> Events:
    """The budget is used up: pending phases are skipped, and the delivery waits for an extension (S4 §6.3, K-43,
    K-44)."""
    fields = about(now, now.state.phase, role="supervisor", iteration=iteration) | {"reason": reason}
    yield now.move(
        "exhaust",
        BudgetExhausted,
        message=f"Budget exhausted by {reason}.",
        budget=_snapshot(now, reason, iteration),
        resume_phase=resume,
        resume_iteration=iteration,
        **fields,
    )
    yield from skip(now, "pending")
    yield from finish(now, "failed", BUDGET_EXHAUSTED, iteration=iteration)


def _snapshot(now: Now[Delivery], reason: Reason, iteration: int) -> ExhaustedBudget:
    status = now.state.budget.snapshot(iteration=iteration, at=now.state.budget_time(now.at), reason=reason)
    times = {"started_at": iso(status.started_at), "deadline_at": iso(status.deadline_at)}
    return ExhaustedBudget(**status._asdict() | times)


def skip(now: Now[Delivery], *marks: PhaseStatus) -> Events:
    """Skip the phases with these marks."""
    for phase in PHASES:
        if now.state.phases[phase] in marks:
            yield skipped(now, phase)


def skipped(now: Now[Delivery], phase: Phase) -> PhaseSkipped:
    return PhaseSkipped(message=f"Phase {phase} skipped.", **about(now, phase, role="supervisor"))


def finish(
    now: Now[Delivery],
    status: str,
    summary: str,
    *,
    by: str = "",
    iteration: int | None = None,
    code: str | None = None,
) -> Events:
    """Stop, in the running iteration or the given one.

    This also ends the agents' conversations, unless an extension or a retry may resume them.
    """
    if by not in ("", "fail") and now.state.agent_sessions:
        yield clear_agents(now, status)
    fields: dict[str, Any] = {
        "message": str(summary),
        "status": status,
        "final_summary": str(summary),
        "sentence": coded(summary),
        "children": tuple(now.state.open_children),
        "code": "no_change" if status == "success" and now.state.delivers_nothing else code,
        **about(now, now.state.phase, role="supervisor", iteration=iteration),
    }
    yield now.move(by, SessionFinished, **fields) if by else now.stay(SessionFinished, **fields)


# -- what the events share -----------------------------------------------------------------------------------------


def artifact(
    now: Now[Delivery],
    phase: Phase,
    media_type: str,
    text: Text,
    *,
    patch: Text | None = None,
    goals: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
) -> ArtifactCreated:
    """The artifact of a phase; `patch` is its change in the workspace."""
    return ArtifactCreated(
        message=f"Artifact of {phase} created.",
        artifact_id=now.state.next_artifact,
        media_type=media_type,
        content=text,
        patch=patch,
        goals=goals,
        files=files,
        **about(now, phase),
    )


def about(now: Now[Delivery], phase: Phase | None, *, role: str = "", iteration: int | None = None) -> dict[str, Any]:
    """S4's flat fields for an event about a phase, for the running iteration or the given one."""
    return {
        "role": role or (ROLES[phase] if phase else "supervisor"),
        "phase": phase,
        **now.state.figures(now.at, iteration),
    }


# -- the end of an attempt, and what follows ---------------------------------------------------------------------------


Same = Literal["files", "failures", "issues"]


def repeated(delivery: Delivery, verdict: str) -> Same | None:
    """The points that the iteration which this verdict rejects has in common with the previous one; None if there is
    progress.

    If there is a workspace to write to, changing no file counts as no progress, too.
    """
    if delivery.workspace is not None and (delivery.patch is None or not delivery.patch.length):
        return "files"
    if delivery.verdict != (delivery.iteration - 1, verdict):
        return None
    return "failures" if verdict.startswith("failures ") else "issues"


def send_back(now: Now[Delivery], same: Same | None) -> Events:
    """Begin the next iteration, unless too many in a row have made no progress."""
    state, limit = now.state, now.state.no_progress_limit
    if same is None or not limit:
        return (yield from next_iteration(now))
    last, count = state.stuck
    count = count + 1 if last == state.iteration - 1 else 1
    message = f"No progress in iteration {state.iteration}: the same {same}."
    fields: dict[str, Any] = {"message": message, "same": same, "iterations": count}
    fields |= about(now, state.phase, role="supervisor")
    if count < limit:
        yield now.stay(NoProgress, **fields)
        return (yield from next_iteration(now))
    yield now.move("exhaust", NoProgress, **fields)
    yield from skip(now, "pending")
    yield from finish(now, "failed", "failed_no_progress")


def answered(
    now: Now[Delivery], command: RecordTurn, failure: Failure | None, *, barred: tuple[str, ...] = ()
) -> Generator[DomainEvent, None, bool]:
    """Record the end of an attempt. Returns whether the turn was answered. Without further attempts its phase has
    failed."""
    event = end_attempt(now, command, failure, barred=barred)
    yield event
    if isinstance(event, TurnFailed):
        yield from fail(now, now.state.phase, event.failure)
    return isinstance(event, TurnAnswered)
