"""Which validation commands the server allows: those that start with one of the configured prefixes (rule 8)."""

import shlex
from collections.abc import Sequence

from domain.values.sentences import Sentence

Prefixes = tuple[tuple[str, ...], ...]
"""The prefixes of allowed commands, as arguments. If there are none, any command is allowed."""


def prefixes(text: str) -> Prefixes:
    """Parse `pytest,python -m pytest,npm test`: separated by commas, each as typed in a shell. Raises ValueError."""
    try:
        commands = tuple(tuple(shlex.split(each)) for each in text.split(","))
    except ValueError as problem:
        raise ValueError(f"should be commands with commas between them: {problem}") from None
    return tuple(prefix for prefix in commands if prefix)


def is_allowed(argv: Sequence[str], allowed: Prefixes) -> bool:
    """Compares argument by argument: `npm test` allows `npm test -- --ci`, but not `npm tests` or `npm`."""
    return not allowed or any(tuple(argv[: len(prefix)]) == prefix for prefix in allowed)


def only(allowed: Prefixes) -> str:
    """The allowed commands, as the end of a sentence."""
    return Sentence("commands_allowed", commands=[f"`{shlex.join(prefix)}`" for prefix in allowed])
