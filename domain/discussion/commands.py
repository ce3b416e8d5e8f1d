"""What can be asked of a review or a debate."""

from typing import ClassVar

from domain.discussion.strategies import Choice
from domain.session.actions import NO_DECISION
from domain.session.children import DiscussionBrief
from domain.values.base import Command, StartCommand

POLICY = "discussion@3"
"""The version of the rules that new discussions follow; one that has begun keeps the version that it began with.

`discussion@2`: the lenses are asked by the second version of their prompt. `discussion@3`: who last said no more than a
word or two that are too short to be compared ("ok") does not keep the others from converging.
"""


class StartDiscussion(StartCommand):
    topic: DiscussionBrief
    policy: str = POLICY


class Decide(Command):
    """A person's decision; `version` is the one they had seen, if they said so."""

    REFUSAL: ClassVar[str] = NO_DECISION
    choice: Choice
    rationale: str = ""
    actor: str = ""
    version: int | None = None


class CancelDiscussion(Command):
    REFUSAL: ClassVar[str] = "cannot be cancelled"
    reason: str = ""
