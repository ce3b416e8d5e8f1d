"""What a person asks of a delivery: to begin, to be cancelled, to be given more budget (S4 §4.2, K-46)."""

from domain.delivery.chart import TABLE, Phase
from domain.delivery.commands import CancelDelivery, ExtendBudget, StartDelivery
from domain.delivery.decide.ends import finish, skip
from domain.delivery.decide.parts import DeliveryDraft, about, allowed_actions
from domain.delivery.decide.phases import attempt, enter
from domain.delivery.events import BudgetExtended, SessionStarted
from domain.delivery.state import Delivery
from domain.session.actions import refusal
from domain.session.budget import Limits
from domain.session.settling import cancel_turns
from domain.values.base import Refused

_OPENING = tuple(name for name in StartDelivery.model_fields if name != "blobs")
"""What a delivery is started with stands in its first event, name by name."""


def start(draft: DeliveryDraft, command: StartDelivery) -> None:
    if draft.before is not None:
        raise Refused("This session has already started.", allowed=allowed_actions(draft.session))
    draft.record(
        SessionStarted(
            message="Session started.",
            state=TABLE.initial,
            remaining_iterations=command.limits.max_iterations,
            **{name: getattr(command, name) for name in _OPENING},
        )
    )
    enter(draft, "planning")


def cancel(draft: DeliveryDraft, command: CancelDelivery) -> None:
    target = _through(draft, "cancel", "cannot be cancelled")
    cancel_turns(draft, "cancelled")
    skip(draft, "running", "pending")
    finish(draft, target, summary="cancelled" + (f": {command.reason}" if command.reason else ""))


def extend(draft: DeliveryDraft, command: ExtendBudget) -> None:
    """Wider limits. An exhausted delivery takes up what it could not begin or finish."""
    delivery = draft.session
    target = _through(draft, "extend", "cannot be given more budget")
    if not any((command.add_iterations, command.add_minutes, command.add_tokens, command.add_cost_micros)):
        sentence = "An extension adds at least one of iterations, minutes, tokens or cost."
        raise Refused(sentence, allowed=allowed_actions(delivery))
    resume = delivery.resume
    draft.record(_extended(draft, command, target))
    if resume is not None:
        _go_on(draft, resume.phase, resume.iteration)


def _through(draft: DeliveryDraft, door: str, verdict: str) -> str:
    """The state that a door leads to; Refused, with `verdict`, where it is closed."""
    delivery = draft.session
    target = TABLE.target(delivery.state, door, delivery.guard)
    if target is None:
        raise refusal(delivery, verdict, allowed_actions(delivery))
    return target


def _extended(draft: DeliveryDraft, command: ExtendBudget, target: str) -> BudgetExtended:
    delivery = draft.session
    wider = _wider(delivery.budget.limits, command)
    left = wider.remaining(delivery.gate)
    fields = about(draft, delivery.phase, role="supervisor") | {"remaining_iterations": left, "reason": None}
    return BudgetExtended(
        message=f"Budget extended: {command.reason}",
        state=target,
        limits=wider,
        paused=delivery.budget.paused + _stood_still(delivery, draft.at),
        add_iterations=command.add_iterations or 0,
        add_minutes=command.add_minutes or 0,
        add_tokens=command.add_tokens or 0,
        add_cost_micros=command.add_cost_micros or 0,
        why=command.reason,
        **fields,
    )


def _wider(limits: Limits, command: ExtendBudget) -> Limits:
    return limits.changed(
        max_iterations=limits.max_iterations + (command.add_iterations or 0),
        max_minutes=limits.max_minutes + (command.add_minutes or 0),
        max_tokens=_more(limits.max_tokens, command.add_tokens),
        max_cost_micros=_more(limits.max_cost_micros, command.add_cost_micros),
    )


def _more(limit: int | None, extra: int | None) -> int | None:
    return limit if limit is None else limit + (extra or 0)


def _stood_still(delivery: Delivery, at: int) -> int:
    """The clock stands still while an exhausted delivery waits for a person, at the latest once its deadline passed."""
    if delivery.stopped_at is None:
        return 0
    return at - min(delivery.stopped_at, delivery.budget.deadline_at + 1)


def _go_on(draft: DeliveryDraft, phase: Phase, iteration: int) -> None:
    """Where it was stopped; refused while it is still exhausted (K-46)."""
    reason = draft.session.budget.exhausted(iteration=iteration, at=draft.at)
    if reason is not None:
        raise Refused(f"The budget would still be exhausted by {reason}: extend that too.", allowed=("extend",))
    if phase == "implementation" and iteration > draft.session.iteration:
        attempt(draft, iteration)
    else:
        enter(draft, phase)
