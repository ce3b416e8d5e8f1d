"""The commands of a review or a debate, and how they are read back from its events."""

from typing import ClassVar, Final

from domain.discussion.events import Cancelled, Decided, DecisionVoted, DiscussionRetried, DiscussionStarted
from domain.session.children import Decide, DiscussionBrief
from domain.session.past_commands import RecordedCommand
from domain.session.state import Session
from domain.session.turns import RetryTurn
from domain.values.base import Command, StartCommand

POLICY = "discussion@1"
"""The version of the rules. A session keeps the name that it began with; there is one version so far."""


class StartDiscussion(StartCommand):
    topic: DiscussionBrief
    policy: str = POLICY


class CancelDiscussion(Command):
    REFUSAL: ClassVar[str] = "cannot_be_cancelled"
    ACTION: ClassVar[str] = "cancel"
    reason: str = ""


FROM_PEOPLE: Final = (Decide, RetryTurn, CancelDiscussion)


def command_of(recorded: RecordedCommand, _: Session | None) -> Command | None:
    """The command that led to these events, where it is one of the above, or a decision."""
    events = recorded.events
    if isinstance(events[0], DiscussionStarted):
        return StartDiscussion(topic=events[0].topic, policy=events[0].policy)
    for event in events:
        match event:
            case DecisionVoted():
                return _decide(event).changed(seen=event.seen)
            case Decided():
                return _decide(event)
            case DiscussionRetried():
                return RetryTurn(reason=event.why)
            case Cancelled():
                return CancelDiscussion(reason=event.reason)
    return None


def _decide(event: DecisionVoted | Decided) -> Decide:
    return Decide(choice=event.choice, rationale=event.rationale, actor=event.actor, comments=event.comments)
