"""How a delivery ends, or comes to rest: done, failed, out of budget (S4 §6.3; K-36, K-41, K-43, K-44)."""

from domain.delivery.chart import PHASES, Phase, PhaseStatus
from domain.delivery.decide.parts import DeliveryDraft, about, next_state
from domain.delivery.events import BudgetExhausted, PhaseCompleted, PhaseFailed, PhaseSkipped, SessionFinished
from domain.session.budget import Reason
from domain.session.settling import clear_agents
from domain.session.turns import Failure

BUDGET_EXHAUSTED = "failed_budget_exhausted"


def succeed(draft: DeliveryDraft, message: str, problem: str | None = None) -> None:
    draft.record(PhaseCompleted(message=message, problem=problem, **about(draft, "packaging")))
    target = next_state(draft, "complete", sentence="Only packaging completes a delivery.")
    finish(draft, target, summary="success")


def fail(draft: DeliveryDraft, phase: Phase, failure: Failure) -> None:
    """A failing or unreadable agent fails its phase and skips what was pending (K-36, K-41)."""
    words = failure.detail or failure.code
    summary = f"Phase {phase} failed: {words}"
    failed = PhaseFailed(message=summary, error_type=failure.code, error_message=words, **about(draft, phase))
    draft.record(failed)
    skip(draft, "pending")
    target = next_state(draft, "fail", sentence="Only a phase can fail.")
    finish(draft, target, summary=summary)


def exhaust(draft: DeliveryDraft, reason: Reason, resume: Phase, iteration: int) -> None:
    """The budget is used up: what is pending is skipped, the delivery waits for an extension (S4 §6.3, K-43, K-44)."""
    target = next_state(draft, "exhaust", sentence="Only a running delivery can run out of budget.")
    fields = about(draft, draft.session.phase, role="supervisor", iteration=iteration) | {"reason": reason}
    draft.record(
        BudgetExhausted(
            message=f"Budget exhausted by {reason}.",
            state=target,
            resume_phase=resume,
            resume_iteration=iteration,
            **fields,
        )
    )
    skip(draft, "pending")
    finished = None if draft.session.policy == "delivery@1" else iteration
    finish(draft, target, summary=BUDGET_EXHAUSTED, iteration=finished)


def skip(draft: DeliveryDraft, *marks: PhaseStatus) -> None:
    """The phases with these marks will not be entered."""
    for phase in PHASES:
        if draft.session.phases[phase] in marks:
            draft.record(PhaseSkipped(message=f"Phase {phase} skipped.", **about(draft, phase, role="supervisor")))


def finish(draft: DeliveryDraft, target: str, *, summary: str, iteration: int | None = None) -> None:
    """Rest in `target`, in the running iteration or the one that is named.

    The agents' conversations end with it, unless an extension may go on with them.
    """
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
            **about(draft, draft.session.phase, role="supervisor", iteration=iteration),
        )
    )
