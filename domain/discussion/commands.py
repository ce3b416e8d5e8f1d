"""What can be asked of a review or a debate."""

from domain.base import Command
from domain.discussion.strategies import Choice
from domain.discussion.topic import Topic


class StartDiscussion(Command):
    topic: Topic


class Decide(Command):
    """A person's decision; `version` is the one they had seen, if they said so."""

    choice: Choice
    rationale: str = ""
    actor: str = ""
    version: int | None = None


class CancelDiscussion(Command):
    reason: str = ""
