"""What a delivery answers to a command: events, or a refusal (S4 §4–§7, behaviour §3)."""

from domain.delivery.commands import (
    CancelDelivery,
    ExpireTurn,
    ExtendBudget,
    RecordPackage,
    RecordValidation,
    StartDelivery,
)
from domain.delivery.decide.ends import BUDGET_EXHAUSTED
from domain.delivery.decide.outcomes import expire, record_package, record_reply, record_validation
from domain.delivery.decide.parts import ROLES, DeliveryDraft, allowed_actions
from domain.delivery.decide.person import cancel, extend, start
from domain.delivery.decide.reviews import blocking_feedback, close_review
from domain.discussion.commands import Decide
from domain.session.actions import refuse_decision, unfit
from domain.session.children import CloseChild
from domain.session.turns import RecordReply
from domain.values.base import Command


def decide(draft: DeliveryDraft, command: Command) -> None:
    """Record into the draft what the command leads to; raises Refused where the delivery does not allow it."""
    match command:
        case StartDelivery():
            start(draft, command)
        case RecordReply():
            record_reply(draft, command)
        case RecordValidation():
            record_validation(draft, command)
        case RecordPackage():
            record_package(draft, command)
        case ExpireTurn():
            expire(draft, command)
        case ExtendBudget():
            extend(draft, command)
        case CancelDelivery():
            cancel(draft, command)
        case CloseChild():
            close_review(draft, command)
        case Decide():
            refuse_decision(draft.session, allowed_actions(draft.session))
        case _:
            raise unfit(draft.session, command, allowed_actions(draft.session))


__all__ = ["BUDGET_EXHAUSTED", "ROLES", "allowed_actions", "blocking_feedback", "decide"]
