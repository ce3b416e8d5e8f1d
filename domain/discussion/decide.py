"""What a review or a debate answers to a command: events, or a refusal (S2, behaviour §2, K-24…K-35)."""

from typing import Any

from domain.delivery.commands import ExtendBudget
from domain.discussion import decision, rounds
from domain.discussion.chart import TABLES
from domain.discussion.commands import CancelDiscussion, StartDiscussion
from domain.discussion.events import VOICES, SessionStarted
from domain.discussion.parts import DiscussionDraft, allowed_actions
from domain.orchestration.commands import AddRounds
from domain.session.actions import NO_BUDGET, refusal, unfit
from domain.session.children import Decide
from domain.session.record import kind_of
from domain.session.turns import ExpireTurn, RecordReply
from domain.values.base import Command, Refused


def decide(draft: DiscussionDraft, command: Command) -> None:
    """Record into the draft what the command leads to; raises Refused where the discussion does not allow it."""
    match command:
        case StartDiscussion():
            _start(draft, command)
        case RecordReply():
            rounds.record(draft, command)
        case Decide():
            decision.record(draft, command)
        case ExpireTurn():
            decision.expire(draft, command)
        case CancelDiscussion():
            decision.cancel(draft, command)
        case ExtendBudget() | AddRounds():
            raise refusal(draft.session, NO_BUDGET, allowed_actions(draft.session))
        case _:
            raise unfit(draft.session, command, allowed_actions(draft.session))


def _start(draft: DiscussionDraft, command: StartDiscussion) -> None:
    if draft.before is not None:
        raise Refused("This session has already started.", allowed=allowed_actions(draft.session))
    kind = kind_of(draft.metadata.session_id)
    begun: dict[str, Any] = {"state": TABLES[kind].initial, "topic": command.topic, "policy": command.policy}
    draft.record(VOICES[kind][SessionStarted](message="Started.", **begun))
    rounds.ask_next(draft)


__all__ = ["allowed_actions", "decide"]
