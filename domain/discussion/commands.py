"""The commands of a review or a debate, and how they are read back from its events."""

from typing import ClassVar

from domain.discussion.events import Cancelled, Decided, SessionStarted
from domain.session.children import Decide, DiscussionBrief
from domain.session.record import RecordedCommand
from domain.session.state import Session
from domain.values.base import Command, StartCommand

POLICY = "discussion@3"
"""The version of the rules that new discussions follow; one that has begun keeps the version that it began with.

`discussion@2`: the lenses are asked by the second version of their prompt. `discussion@3`: who last said no more than a
word or two that are too short to be compared ("ok") does not keep the others from converging.
"""


class StartDiscussion(StartCommand):
    topic: DiscussionBrief
    policy: str = POLICY


class CancelDiscussion(Command):
    REFUSAL: ClassVar[str] = "cannot be cancelled"
    reason: str = ""


def command_of(recorded: RecordedCommand, _: Session | None) -> Command | None:
    """The command that led to these events, where it is one of the above, or a decision."""
    events = recorded.events
    if isinstance(events[0], SessionStarted):
        return StartDiscussion(topic=events[0].topic, policy=events[0].policy)
    for event in events:
        match event:
            case Decided():
                return Decide(choice=event.choice, rationale=event.rationale, actor=event.actor)
            case Cancelled():
                return CancelDiscussion(reason=event.reason)
    return None
