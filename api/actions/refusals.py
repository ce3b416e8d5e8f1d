"""Refusals of actions that have more to say than a sentence."""

from domain.values.json import Malformed
from domain.values.sentences import Sentence


class EmptyMessage(Malformed):
    """A message to the team without words."""

    def __init__(self) -> None:
        super().__init__(Sentence("message_empty"))
