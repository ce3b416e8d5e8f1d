"""Changed copies of mappings: a state is never changed in place."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def counted(counts: dict[str, int], key: str) -> dict[str, int]:
    return counts | {key: counts.get(key, 0) + 1}


def without(known: dict[K, V], gone: K) -> dict[K, V]:
    """The same without one key, whether or not it is there."""
    return {key: value for key, value in known.items() if key != gone}
