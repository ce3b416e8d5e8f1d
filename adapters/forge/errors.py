"""The ways in which a forge does not do what it was asked:

ForgeError
├── ForgeAway       it cannot be reached, is too slow, or answers 5xx: wait, then ask again
├── ForgeLimited    it takes no requests until a moment: wait until then
├── ForgeRefused    it refuses this request (401, 403, 404, 409, 422, …): asking again does not help
└── ForgeNonsense   it answers, but not as a forge does: no JSON, missing fields, too much, a way to another host

Each says in one sentence which host, and what to do. None has a token in it: what a forge says is masked.
"""

from domain.values.base import HansardError
from domain.values.sentences import Sentence


class ForgeError(HansardError):
    """A forge does not do what it was asked."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class ForgeAway(ForgeError):
    """It cannot be reached, is too slow, or answers 5xx. A request that writes may have been carried out all the same:
    look for it by its marker or its branch before it is sent again."""


class ForgeLimited(ForgeError):
    """It takes no further requests before `until` (milliseconds)."""

    def __init__(self, sentence: Sentence, until: int) -> None:
        super().__init__(sentence)
        self.until = until


class ForgeRefused(ForgeError):
    """It refuses the request with this HTTP status."""

    def __init__(self, sentence: Sentence, status: int) -> None:
        super().__init__(sentence)
        self.status = status

    @property
    def gone(self) -> bool:
        """True if there is no such thing, as far as our account can see."""
        return self.status in (404, 410)


class ForgeNonsense(ForgeError):
    """It answers, but not as a forge does."""
