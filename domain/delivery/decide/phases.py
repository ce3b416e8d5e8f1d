"""The way through the phases, and the gate before each iteration (S4 §6, §7.1)."""

from domain.delivery.chart import Phase
from domain.delivery.decide.asking import request
from domain.delivery.decide.ends import exhaust, succeed
from domain.delivery.decide.parts import DeliveryDraft, about, next_phase, next_state
from domain.delivery.events import AttemptStarted, PhaseCompleted, PhaseStarted


def complete(draft: DeliveryDraft, phase: Phase) -> None:
    """A phase has done what it was for; the first iteration begins behind the design."""
    following = next_phase(draft, "complete", sentence="Only a phase that runs is completed.")
    draft.record(PhaseCompleted(message=f"Phase {phase} completed.", **about(draft, phase)))
    if phase == "design":
        return _gate(draft, 1)
    return enter(draft, following)


def again(draft: DeliveryDraft) -> None:
    """Back to the implementation, with the next iteration."""
    next_state(draft, "send_back", sentence="Only a validation or a review sends back.")
    _gate(draft, draft.session.iteration + 1)


def _gate(draft: DeliveryDraft, iteration: int) -> None:
    """The budget is asked before each iteration (S4 §6.2, §7.1)."""
    reason = draft.session.budget.exhausted(iteration=iteration, at=draft.at)
    if reason is not None:
        return exhaust(draft, reason, "implementation", iteration)
    return attempt(draft, iteration)


def attempt(draft: DeliveryDraft, iteration: int) -> None:
    fields = about(draft, "implementation", role="supervisor", iteration=iteration)
    draft.record(AttemptStarted(message=f"Iteration {iteration} started.", **fields))
    enter(draft, "implementation")


def enter(draft: DeliveryDraft, phase: Phase) -> None:
    """Begin a phase: nothing begins once the budget is overdrawn, and handing over finished work needs no budget."""
    delivery = draft.session
    reason = None if phase == "packaging" else delivery.budget.overdrawn(at=draft.at)
    if reason is not None:
        return exhaust(draft, reason, phase, delivery.iteration)
    draft.record(PhaseStarted(message=f"Phase {phase} started.", state=phase, **about(draft, phase)))
    if phase == "packaging" and not delivery.repository:
        return succeed(draft, "Nothing is packaged (packaging is a no-op).")
    return request(draft, phase)
