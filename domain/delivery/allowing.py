"""Which commands may validate at all: those that begin with words that the server's configuration lists (rule 8)."""

import shlex
from collections.abc import Sequence

from domain.values.sentences import Sentence

Prefixes = tuple[tuple[str, ...], ...]
"""The first arguments of commands that are allowed. None at all: any command is."""


def prefixes(listed: str) -> Prefixes:
    """`pytest,python -m pytest,npm test`: with commas, each as one would type it. Raises ValueError: cannot be read."""
    try:
        found = tuple(tuple(shlex.split(each)) for each in listed.split(","))
    except ValueError as problem:
        raise ValueError(f"should be commands with commas between them: {problem}") from None
    return tuple(prefix for prefix in found if prefix)


def is_allowed(argv: Sequence[str], listed: Prefixes) -> bool:
    """Argument by argument: `npm test` allows `npm test -- --ci`, and neither `npm tests` nor `npm`."""
    return not listed or any(tuple(argv[: len(prefix)]) == prefix for prefix in listed)


def only(listed: Prefixes) -> str:
    """What is allowed, as the end of a sentence."""
    return Sentence("commands_allowed", commands=[f"`{shlex.join(prefix)}`" for prefix in listed])
