"""What becomes of a turn: an agent's answer, the verdict of the validation, work that is handed over, a deadline."""

from typing import Any

from domain.delivery.commands import ExpireTurn, RecordPackage, RecordValidation
from domain.delivery.decide.ends import exhaust, fail, succeed
from domain.delivery.decide.parts import DeliveryDraft, about, allowed_actions, artifact, waiting
from domain.delivery.decide.phases import again, complete
from domain.delivery.decide.reviews import record_review
from domain.delivery.events import BranchPublished, PhaseFailed, TestsPassed, ValidationFailed
from domain.replies.artifacts import PlanParts, plan_parts
from domain.session.settling import cancelled, content, settle
from domain.session.state import Outstanding
from domain.session.turns import RecordReply, TurnAnswered, TurnFailed, Work
from domain.values.base import Refused


def record_reply(draft: DeliveryDraft, command: RecordReply) -> None:
    _turn(draft, command.turn_id, "ask")
    phase = draft.session.phase
    if not settle(draft, command):
        assert command.failure is not None, "what is not answered has failed"
        return fail(draft, phase, command.failure)
    if phase == "review":
        return record_review(draft, content(command, command.reply))
    parts = plan_parts(content(command, command.reply)) if phase == "planning" else PlanParts()
    artifact(draft, phase, "text/markdown", command.reply, patch=command.patch, goals=parts.goals)
    return complete(draft, phase)


def record_validation(draft: DeliveryDraft, command: RecordValidation) -> None:
    _settle(draft, command, "validate")
    if command.failure is not None:
        return fail(draft, "validation", command.failure)
    artifact(draft, "validation", "application/json", command.report)
    if command.passed:
        passed = TestsPassed(message="Validation passed.", summary=command.summary, **about(draft, "validation"))
        draft.record(passed)
        return complete(draft, "validation")
    classification = command.classification or "unknown"
    iteration = draft.session.iteration
    feedback = draft.text(f"Validation failed at iteration {iteration} ({classification}).\n{command.summary}")
    draft.record(
        ValidationFailed(
            message=f"Validation failed ({classification}).",
            classification=classification,
            summary=command.summary,
            feedback=feedback,
            **about(draft, "validation"),
        )
    )
    return again(draft)


def record_package(draft: DeliveryDraft, command: RecordPackage) -> None:
    _settle(draft, command, "package")
    if command.failure is not None:
        return fail(draft, "packaging", command.failure)
    if command.patch is not None:
        artifact(draft, "packaging", "text/x-diff", command.patch)
    if command.branch is not None and command.commit is not None:
        draft.record(
            BranchPublished(
                message=f"The work stands on branch {command.branch}.",
                branch=command.branch,
                commit=command.commit,
                **about(draft, "packaging"),
            )
        )
    stands = f"The work stands on branch {command.branch}." if command.branch else command.problem or ""
    return succeed(draft, f"{stands} Nothing is packaged (packaging is a no-op).".strip(), command.problem)


def expire(draft: DeliveryDraft, command: ExpireTurn) -> None:
    """The deadline holds inside a running turn too: the turn is stopped, its phase has failed."""
    turn = waiting(draft, command.turn_id)
    delivery = draft.session
    phase = delivery.phase
    if phase == "packaging":
        raise Refused("Handing over finished work has no deadline.", allowed=allowed_actions(delivery))
    if draft.at <= delivery.budget.deadline_at:
        raise Refused("The deadline has not passed.", allowed=allowed_actions(delivery))
    draft.record(cancelled(turn, "deadline"))
    draft.record(
        PhaseFailed(
            message=f"Phase {phase} was stopped at the deadline.",
            error_type="deadline",
            error_message="stopped at the deadline",
            **about(draft, phase),
        )
    )
    exhaust(draft, "minutes", phase, delivery.iteration)


def _turn(draft: DeliveryDraft, turn_id: str, work: Work) -> Outstanding:
    """The turn that ends; only the outcome of its own kind of work ends it (a reply is no validation)."""
    turn = waiting(draft, turn_id)
    if turn.work != work:
        sentence = f"Turn {turn_id} waits for an outcome of the work {turn.work!r}, not {work!r}."
        raise Refused(sentence, allowed=allowed_actions(draft.session))
    return turn


def _settle(draft: DeliveryDraft, command: RecordValidation | RecordPackage, work: Work) -> None:
    """Record the end of a turn in which nobody was asked."""
    turn = _turn(draft, command.turn_id, work)
    fields: dict[str, Any] = {**turn.settled(), "attempt": command.attempt, "seconds": command.seconds}
    if command.failure is not None:
        draft.record(TurnFailed(failure=command.failure, **fields))
    else:
        draft.record(TurnAnswered(slot=command.slot, **fields))
