"""What the validation says about the work together with what people have committed on its branch."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from adapters.turns.job import Job
from domain.session.attempts import Failure


class MergedCheck(NamedTuple):
    """What the validation says about a state: the commands that passed, what fails there and did not before, and why
    nothing is known."""

    commands: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    failure: Failure | None = None


CheckMerged = Callable[[Job, str], Awaitable[MergedCheck]]
"""Validates a state that has the work and what people have committed."""
