"""What a delivery answers to a command: events, or a refusal (S4 §4–§7, behaviour §3)."""

import json
from collections.abc import Sequence
from typing import Any

from domain.base import Command, Refused, Text, Unreadable
from domain.budget import Reason
from domain.children import CloseChild, fix_feedback
from domain.delivery.chart import PHASES, TABLE, Phase, PhaseStatus
from domain.delivery.commands import (
    CancelDelivery,
    ExpireTurn,
    ExtendBudget,
    RecordPackage,
    RecordValidation,
    StartDelivery,
)
from domain.delivery.events import (
    ArtifactCreated,
    AttemptStarted,
    BranchPublished,
    BudgetExhausted,
    BudgetExtended,
    FixRequested,
    PhaseCompleted,
    PhaseFailed,
    PhaseSkipped,
    PhaseStarted,
    ReviewApproved,
    ReviewBlockingDetected,
    ReviewHeld,
    SessionFinished,
    SessionStarted,
    TestsPassed,
    ValidationFailed,
)
from domain.delivery.state import Delivery, evolve
from domain.discussion.commands import Decide
from domain.instant import iso
from domain.replies.artifacts import PlanParts, plan_parts
from domain.replies.reviewer import ReviewArtifact, review_artifact
from domain.session import (
    Draft,
    Outstanding,
    cancel_turns,
    cancelled,
    clear_agents,
    close_child,
    content,
    headline,
    refuse_decision,
    request_child,
    settle,
)
from domain.turns import Access, Failure, RecordReply, TurnAnswered, TurnFailed, TurnRequested, Work

BUDGET_EXHAUSTED = "failed_budget_exhausted"

ROLES: dict[Phase, str] = {
    "planning": "planner",
    "architecture": "architect",
    "design": "designer",
    "implementation": "dev",
    "validation": "test",
    "review": "reviewer",
    "packaging": "supervisor",
}
PROMPTS: dict[Phase, str] = {
    "planning": "delivery_plan@1",
    "architecture": "architecture@1",
    "design": "design@1",
    "implementation": "implementation@1",
    "review": "review_artifact@1",
}
WORK: dict[Phase, Work] = {"validation": "validate", "packaging": "package"}

DeliveryDraft = Draft[Delivery]


def decide(draft: DeliveryDraft, command: Command) -> None:
    """Record into the draft what the command leads to; raises Refused where the delivery does not allow it."""
    match command:
        case StartDelivery():
            _start(draft, command)
        case RecordReply():
            _record_reply(draft, command)
        case RecordValidation():
            _record_validation(draft, command)
        case RecordPackage():
            _record_package(draft, command)
        case ExpireTurn():
            _expire(draft, command)
        case ExtendBudget():
            _extend(draft, command)
        case CancelDelivery():
            _cancel(draft, command)
        case CloseChild():
            _close_review(draft, command)
        case Decide():
            refuse_decision(draft.session, available(draft.session))
        case _:
            allowed = available(draft.before) if draft.before else ()
            raise Refused(f"A delivery does not know the command {type(command).__name__}.", allowed=allowed)


def available(delivery: Delivery) -> tuple[str, ...]:
    """What a person may do now, by the names of the doors (contract §2)."""
    allowed = TABLE.allowed(delivery.state, delivery.guard)
    doors = {"cancel": "cancel", "extend": "extend"}
    return tuple(door for event, door in doors.items() if event in allowed)


# -- a person's commands -------------------------------------------------------------------------------------------


def _start(draft: DeliveryDraft, command: StartDelivery) -> None:
    if draft.before is not None:
        raise Refused("This session has already started.", allowed=available(draft.session))
    draft.record(
        SessionStarted(
            message="Session started.",
            state=TABLE.initial,
            remaining_iterations=command.limits.max_iterations,
            **command.model_dump(include=set(StartDelivery.model_fields) - {"blobs"}),
        )
    )
    _enter(draft, "planning")


def _cancel(draft: DeliveryDraft, command: CancelDelivery) -> None:
    target = _next(draft, "cancel", sentence=f"A delivery that {_standing(draft.session)} cannot be cancelled.")
    cancel_turns(draft, "cancelled")
    _skip(draft, "running", "pending")
    _finish(draft, target, summary="cancelled" + (f": {command.reason}" if command.reason else ""))


def _extend(draft: DeliveryDraft, command: ExtendBudget) -> None:
    delivery = draft.session
    sentence = f"The budget of a delivery that {_standing(delivery)} cannot be extended."
    target = _next(draft, "extend", sentence=sentence)
    if not any((command.add_iterations, command.add_minutes, command.add_tokens, command.add_cost_micros)):
        sentence = "An extension adds at least one of iterations, minutes, tokens or cost."
        raise Refused(sentence, allowed=available(delivery))
    limits = delivery.budget.limits
    wider = limits.model_copy(
        update={
            "max_iterations": limits.max_iterations + (command.add_iterations or 0),
            "max_minutes": limits.max_minutes + (command.add_minutes or 0),
            "max_tokens": _more(limits.max_tokens, command.add_tokens),
            "max_cost_micros": _more(limits.max_cost_micros, command.add_cost_micros),
        }
    )
    resume = delivery.resume
    common = _common(draft, delivery.phase, role="supervisor") | {"reason": None}
    common["remaining_iterations"] = max(0, wider.max_iterations - max(1, delivery.gate) + 1)
    draft.record(
        BudgetExtended(
            message=f"Budget extended: {command.reason}",
            state=target,
            limits=wider,
            paused=delivery.budget.paused + _stood_still(delivery, draft.at),
            add_iterations=command.add_iterations or 0,
            add_minutes=command.add_minutes or 0,
            add_tokens=command.add_tokens or 0,
            add_cost_micros=command.add_cost_micros or 0,
            why=command.reason,
            **common,
        )
    )
    if resume is not None:
        _go_on(draft, resume.phase, resume.iteration)


def _go_on(draft: DeliveryDraft, phase: Phase, iteration: int) -> None:
    """An extended delivery takes up what it could not begin or finish (K-46); refused while it is still exhausted."""
    reason = draft.session.budget.exhausted(iteration=iteration, at=draft.at)
    if reason is not None:
        raise Refused(f"The budget would still be exhausted by {reason}: extend that too.", allowed=("extend",))
    if phase == "implementation" and iteration > draft.session.iteration:
        _attempt(draft, iteration)
    else:
        _enter(draft, phase)


def _stood_still(delivery: Delivery, at: int) -> int:
    """The clock stands still while an exhausted delivery waits for a person, at the latest once its deadline passed."""
    if delivery.stopped_at is None:
        return 0
    return at - min(delivery.stopped_at, delivery.budget.deadline_at + 1)


def _more(limit: int | None, extra: int | None) -> int | None:
    return limit if limit is None else limit + (extra or 0)


# -- turns that end ------------------------------------------------------------------------------------------------


def _record_reply(draft: DeliveryDraft, command: RecordReply) -> None:
    _turn(draft, command.turn_id, "ask")
    phase = draft.session.phase
    if not settle(draft, command):
        assert command.failure is not None, "what is not answered has failed"
        return _fail(draft, phase, command.failure)
    if phase == "review":
        return _record_review(draft, content(command, command.reply))
    parts = plan_parts(content(command, command.reply)) if phase == "planning" else PlanParts()
    _artifact(draft, phase, "text/markdown", command.reply, patch=command.patch, goals=parts.goals)
    return _complete(draft, phase)


def _record_review(draft: DeliveryDraft, words: str) -> None:
    """Only blocking issues send back, never the score; what cannot be read is never a pass (S4 §5.2, K-36)."""
    try:
        review = review_artifact(words)
    except Unreadable as problem:
        return _fail(draft, "review", Failure(code="bad_output", detail=str(problem)))
    artifact_id = _keep_review(draft, review)
    draft.record(PhaseCompleted(message="Phase review completed.", **_common(draft, "review")))
    if not review.blocking_issues:
        draft.record(
            ReviewApproved(
                message=f"Review approved at iteration {draft.session.iteration}.",
                artifact_id=artifact_id,
                score=review.score,
                non_blocking=len(review.non_blocking_issues),
                **_common(draft, "review"),
            )
        )
        return _approved(draft)
    feedback = draft.text(blocking_feedback(draft.session.iteration, review))
    draft.record(
        ReviewBlockingDetected(
            message=f"Review blocked at iteration {draft.session.iteration}.",
            artifact_id=artifact_id,
            blocking_issues=tuple(issue.model_dump() for issue in review.blocking_issues),
            fix_plan=review.fix_plan,
            score=review.score,
            feedback=feedback,
            **_common(draft, "review"),
        )
    )
    return _again(draft)


def _approved(draft: DeliveryDraft) -> None:
    """On to packaging; where the delivery asked for one, a review and a person's decision come first (S2)."""
    delivery = draft.session
    if delivery.review is None:
        return _enter(draft, _phase(_next(draft, "complete", sentence="Only a review approves.")))
    state = _next(draft, "hold", sentence="Only approved work is held for a review.")
    draft.record(ReviewHeld(message="Held for a review.", state=state, **_common(draft, "review")))
    return request_child(
        draft,
        kind="review",
        about="delivery",
        title=f"Iteration {delivery.iteration}: {delivery.title or headline(delivery.task)}",
        subject=_subject(delivery),
        wish=delivery.review,
        max_rounds=delivery.review.max_rounds,
    )


def _subject(delivery: Delivery) -> str:
    """Step, action and result (behaviour §2.4): what the developer says, what has changed, what the tests say."""
    said = delivery.contents.get("implementation", Text())
    parts = {
        "Step": f"iteration {delivery.iteration} of the implementation",
        "Action": delivery.task,
        "Result": said.shown(),
        "Validation": delivery.validation_summary,
        "Changes in this iteration": delivery.patch.shown() if delivery.patch else "",
    }
    return "\n\n".join(f"{name}:\n{words}" for name, words in parts.items() if words)


def _close_review(draft: DeliveryDraft, command: CloseChild) -> None:
    """The review is decided: the work is handed over, or what it found is mended in the next iteration (K-25).

    A delivery that has ended only takes down how its review was closed (K-33).
    """
    if close_child(draft, command) is None or draft.session.ended:
        return None
    if command.choice != "apply_fix":
        return _enter(draft, _phase(_next(draft, "complete", sentence="Only held work is released.")))
    draft.record(
        FixRequested(
            message=f"Review asks for a fix at iteration {draft.session.iteration}.",
            child_id=command.child_id,
            feedback=draft.text(fix_feedback(command.feedback, command.synthesis)),
            **_common(draft, "review"),
        )
    )
    return _again(draft)


def _record_validation(draft: DeliveryDraft, command: RecordValidation) -> None:
    turn = _turn(draft, command.turn_id, "validate")
    common: dict[str, Any] = {**turn.settled(), "attempt": command.attempt}
    if command.failure is not None:
        draft.record(TurnFailed(failure=command.failure, seconds=command.seconds, **common))
        return _fail(draft, "validation", command.failure)
    draft.record(TurnAnswered(seconds=command.seconds, slot=command.slot, **common))
    _artifact(draft, "validation", "application/json", command.report)
    if command.passed:
        draft.record(
            TestsPassed(message="Validation passed.", summary=command.summary, **_common(draft, "validation")),
        )
        return _complete(draft, "validation")
    classification = command.classification or "unknown"
    iteration = draft.session.iteration
    feedback = draft.text(f"Validation failed at iteration {iteration} ({classification}).\n{command.summary}")
    draft.record(
        ValidationFailed(
            message=f"Validation failed ({classification}).",
            classification=classification,
            summary=command.summary,
            feedback=feedback,
            **_common(draft, "validation"),
        )
    )
    return _again(draft)


def _record_package(draft: DeliveryDraft, command: RecordPackage) -> None:
    turn = _turn(draft, command.turn_id, "package")
    common: dict[str, Any] = {**turn.settled(), "attempt": command.attempt}
    if command.failure is not None:
        draft.record(TurnFailed(failure=command.failure, seconds=command.seconds, **common))
        return _fail(draft, "packaging", command.failure)
    draft.record(TurnAnswered(seconds=command.seconds, slot=command.slot, **common))
    if command.patch is not None:
        _artifact(draft, "packaging", "text/x-diff", command.patch)
    if command.branch is not None and command.commit is not None:
        draft.record(
            BranchPublished(
                message=f"The work stands on branch {command.branch}.",
                branch=command.branch,
                commit=command.commit,
                **_common(draft, "packaging"),
            )
        )
    stands = f"The work stands on branch {command.branch}." if command.branch else command.problem or ""
    return _succeed(draft, f"{stands} Nothing is packaged (packaging is a no-op).".strip(), command.problem)


def _expire(draft: DeliveryDraft, command: ExpireTurn) -> None:
    """The deadline holds inside a running turn too: the turn is stopped, its phase has failed."""
    turn = draft.session.turn(command.turn_id, allowed=available(draft.session))
    phase = draft.session.phase
    if phase == "packaging":
        raise Refused("Handing over finished work has no deadline.", allowed=available(draft.session))
    if draft.at <= draft.session.budget.deadline_at:
        raise Refused("The deadline has not passed.", allowed=available(draft.session))
    draft.record(cancelled(turn, "deadline"))
    draft.record(
        PhaseFailed(
            message=f"Phase {phase} was stopped at the deadline.",
            error_type="deadline",
            error_message="stopped at the deadline",
            **_common(draft, phase),
        )
    )
    _exhaust(draft, "minutes", phase, draft.session.iteration)


# -- the way through the phases ------------------------------------------------------------------------------------


def _complete(draft: DeliveryDraft, phase: Phase) -> None:
    following = _next(draft, "complete", sentence=f"A delivery that {_standing(draft.session)} completes no phase.")
    draft.record(PhaseCompleted(message=f"Phase {phase} completed.", **_common(draft, phase)))
    if phase == "design":
        return _gate(draft, 1)
    return _enter(draft, _phase(following))


def _again(draft: DeliveryDraft) -> None:
    _next(draft, "send_back", sentence="Only a validation or a review sends back.")
    _gate(draft, draft.session.iteration + 1)


def _gate(draft: DeliveryDraft, iteration: int) -> None:
    """The budget is asked before each iteration (S4 §6.2, §7.1)."""
    reason = draft.session.budget.exhausted(iteration=iteration, at=draft.at)
    if reason is not None:
        return _exhaust(draft, reason, "implementation", iteration)
    return _attempt(draft, iteration)


def _attempt(draft: DeliveryDraft, iteration: int) -> None:
    common = _common(draft, "implementation", role="supervisor") | {"iteration": iteration}
    common["remaining_iterations"] = max(0, draft.session.budget.limits.max_iterations - iteration + 1)
    draft.record(AttemptStarted(message=f"Iteration {iteration} started.", **common))
    _enter(draft, "implementation")


def _enter(draft: DeliveryDraft, phase: Phase) -> None:
    """Begin a phase: nothing begins once the budget is overdrawn, and handing over finished work needs no budget."""
    delivery = draft.session
    reason = None if phase == "packaging" else delivery.budget.overdrawn(at=draft.at)
    if reason is not None:
        return _exhaust(draft, reason, phase, delivery.iteration)
    draft.record(PhaseStarted(message=f"Phase {phase} started.", state=phase, **_common(draft, phase)))
    if phase == "packaging" and not delivery.repository:
        return _succeed(draft, "Nothing is packaged (packaging is a no-op).")
    return _request(draft, phase)


def _request(draft: DeliveryDraft, phase: Phase) -> None:
    delivery = draft.session
    role = ROLES[phase]
    agent = delivery.crew.get(role, role)
    work = WORK.get(phase, "ask")
    deadline = None if phase == "packaging" else iso(delivery.budget.deadline_at)
    access: Access = "write" if phase == "implementation" else "read"
    draft.record(
        TurnRequested(
            turn_id=f"{delivery.id}.t{delivery.turns + 1}",
            work=work,
            agent=agent,
            role=role,
            prompt=PROMPTS.get(phase, ""),
            reads="review_artifact" if phase == "review" else "text",
            context=_context(draft, phase) if work == "ask" else {},
            access=access,
            ordinal=delivery.asked.get(agent, 0),
            role_ordinal=delivery.asked_roles.get(role, 0),
            agent_session=delivery.agent_sessions.get(agent),
            deadline=deadline,
            phase=phase,
            iteration=delivery.iteration or None,
        )
    )


def _context(draft: DeliveryDraft, phase: Phase) -> dict[str, Text]:
    """What fills the places of the phase's prompt."""
    delivery = draft.session
    words = {
        "task": delivery.task,
        "files": "\n".join(f"- {path}" for path in delivery.file_paths),
        "max_iterations": str(delivery.budget.limits.max_iterations),
        "iteration": str(delivery.iteration),
        "goals": "\n".join(f"- {goal}" for goal in delivery.goals),
        "history": "\n".join(delivery.history),
        "validation": delivery.validation_summary
        if phase in ("implementation", "review")
        else "\n".join(step.command for step in delivery.steps),
    }
    context = {name: draft.text(text) for name, text in words.items() if name in PLACES[phase]}
    for name, source in MATERIAL.items():
        if name in PLACES[phase]:
            context[name] = delivery.contents.get(source, Text())
    if "feedback" in PLACES[phase]:
        context["feedback"] = delivery.feedback
    return context


MATERIAL: dict[str, Phase] = {
    "plan": "planning",
    "architecture": "architecture",
    "design": "design",
    "changes": "implementation",
}
"""The artifacts that stand in later prompts, by the name of their place."""

_WORK_PLACES = (
    *("task", "files", "iteration", "max_iterations", "goals", "plan", "architecture", "design"),
    *("feedback", "validation", "history"),
)
PLACES: dict[Phase, tuple[str, ...]] = {
    "planning": ("task", "files", "max_iterations", "validation"),
    "architecture": ("task", "files", "plan"),
    "design": ("task", "files", "plan", "architecture"),
    "implementation": _WORK_PLACES,
    "review": (*_WORK_PLACES, "changes"),
}


# -- the ends ------------------------------------------------------------------------------------------------------


def _succeed(draft: DeliveryDraft, message: str, problem: str | None = None) -> None:
    draft.record(PhaseCompleted(message=message, problem=problem, **_common(draft, "packaging")))
    target = _next(draft, "complete", sentence="Only packaging completes a delivery.")
    _finish(draft, target, summary="success")


def _fail(draft: DeliveryDraft, phase: Phase, failure: Failure) -> None:
    """A failing or unreadable agent fails its phase and skips what was pending (K-36, K-41)."""
    words = failure.detail or failure.code
    draft.record(
        PhaseFailed(
            message=f"Phase {phase} failed: {words}",
            error_type=failure.code,
            error_message=words,
            **_common(draft, phase),
        )
    )
    _skip(draft, "pending")
    target = _next(draft, "fail", sentence="Only a phase can fail.")
    _finish(draft, target, summary=f"Phase {phase} failed: {words}")


def _exhaust(draft: DeliveryDraft, reason: Reason, resume: Phase, iteration: int) -> None:
    """The budget is used up: what is pending is skipped, the delivery waits for an extension (S4 §6.3, K-43, K-44)."""
    delivery = draft.session
    target = _next(draft, "exhaust", sentence="Only a running delivery can run out of budget.")
    common = _common(draft, delivery.phase, role="supervisor") | {"iteration": iteration, "reason": reason}
    common["remaining_iterations"] = max(0, delivery.budget.limits.max_iterations - max(1, iteration) + 1)
    draft.record(
        BudgetExhausted(
            message=f"Budget exhausted by {reason}.",
            state=target,
            resume_phase=resume,
            resume_iteration=iteration,
            **common,
        )
    )
    _skip(draft, "pending")
    _finish(draft, target, summary=BUDGET_EXHAUSTED)


def _skip(draft: DeliveryDraft, *marks: PhaseStatus) -> None:
    for phase in PHASES:
        if draft.session.phases[phase] in marks:
            draft.record(PhaseSkipped(message=f"Phase {phase} skipped.", **_common(draft, phase, role="supervisor")))


def _finish(draft: DeliveryDraft, target: str, *, summary: str) -> None:
    outcome = {"success": "success", "cancelled": "cancelled"}.get(target, "failed")
    if target != "exhausted" and draft.session.agent_sessions:
        clear_agents(draft, outcome)
    draft.record(
        SessionFinished(
            message=summary,
            state=target,
            status=outcome,
            final_summary=summary,
            children=tuple(draft.session.open_children),
            **_common(draft, draft.session.phase, role="supervisor"),
        )
    )


# -- parts ---------------------------------------------------------------------------------------------------------


def _turn(draft: DeliveryDraft, turn_id: str, work: Work) -> Outstanding:
    """The turn that ends; only the outcome of its own kind of work ends it (a reply is no validation)."""
    turn = draft.session.turn(turn_id, allowed=available(draft.session))
    if turn.work != work:
        sentence = f"Turn {turn_id} waits for an outcome of the work {turn.work!r}, not {work!r}."
        raise Refused(sentence, allowed=available(draft.session))
    return turn


def _standing(delivery: Delivery) -> str:
    """How it stands, to be said behind "a delivery that"."""
    ended = {
        "success": "has succeeded",
        "failed": "has failed",
        "exhausted": "has run out of budget",
        "cancelled": "was cancelled",
    }
    return ended.get(delivery.state, f"is in {delivery.state}")


def _next(draft: DeliveryDraft, event: str, *, sentence: str) -> str:
    return TABLE.next(draft.session.state, event, draft.session.guard, sentence=sentence)


def _phase(state: str) -> Phase:
    return next(phase for phase in PHASES if phase == state)


def _common(draft: DeliveryDraft, phase: Phase, *, role: str | None = None) -> dict[str, Any]:
    """S4's flat fields for an event about a phase."""
    snapshot = draft.session.snapshot(draft.at)
    return {
        "role": role or ROLES[phase],
        "phase": phase,
        "iteration": draft.session.iteration,
        "elapsed_ms": snapshot.elapsed_ms,
        "remaining_iterations": snapshot.remaining_iterations,
        "reason": snapshot.reason,
    }


def _artifact(
    draft: DeliveryDraft,
    phase: Phase,
    media_type: str,
    text: Text,
    *,
    patch: Text | None = None,
    goals: Sequence[str] = (),
) -> str:
    artifact_id = f"{draft.session.id}.a{draft.session.artifacts + 1}"
    draft.record(
        ArtifactCreated(
            message=f"Artifact of {phase} created.",
            artifact_id=artifact_id,
            media_type=media_type,
            content=text,
            patch=patch,
            goals=tuple(goals),
            **_common(draft, phase),
        )
    )
    return artifact_id


def _keep_review(draft: DeliveryDraft, review: ReviewArtifact) -> str:
    """The reviewer's answer as S4 §5.1 keeps it; all are kept, `artifactRefs.review` is the latest."""
    delivery = draft.session
    report = {
        "id": f"{delivery.id}.a{delivery.artifacts + 1}",
        "sessionId": delivery.id,
        "phase": "review",
        "iteration": delivery.iteration,
        **review.model_dump(mode="json", by_alias=True),
        "createdAt": iso(draft.at),
    }
    return _artifact(draft, "review", "application/json", draft.text(json.dumps(report, ensure_ascii=False)))


def blocking_feedback(iteration: int, review: ReviewArtifact) -> str:
    """What the next iteration is told (behaviour §3.2)."""
    return "\n".join(
        [
            f"Review blocked at iteration {iteration}.",
            "Blocking issues:",
            *_numbered([f"{issue.title}: {issue.detail}" for issue in review.blocking_issues]),
            *(["Fix plan:", *_numbered(review.fix_plan)] if review.fix_plan else []),
        ]
    )


def _numbered(lines: Sequence[str]) -> list[str]:
    return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


__all__ = ["BUDGET_EXHAUSTED", "available", "blocking_feedback", "decide", "evolve"]
