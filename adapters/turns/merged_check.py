"""Validates the work together with what people have committed on its branch."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from adapters.turns.job import Job
from domain.session.attempts import Failure


class MergedCheck(NamedTuple):
    """The result of the validation for a state: the commands that passed, what fails there and did not before, and why
    nothing is known."""

    commands: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    failure: Failure | None = None


CheckMerged = Callable[[Job, str], Awaitable[MergedCheck]]
"""Validates a state that has the work and what people have committed."""
