"""The one way to JSON in prose (K-29, K-49): the last object of a reply that fits what was asked for."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from domain.replies.objects import Piece, pieces
from domain.replies.spoken import spoken
from domain.values.base import Unreadable
from domain.values.strict import JSON, Malformed, decode

Object: TypeAlias = dict[str, JSON]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """What is looked for: its name in sentences, the keys that mark it, and how an object becomes it.

    `claims` tells an object that is given as an answer from one that merely stands in the text; the last that claims
    decides.
    """

    name: str
    keys: tuple[str, ...]
    claims: Callable[[Object], bool]
    fit: Callable[[Object], T]


def last(text: str, shape: Shape[T]) -> T:
    """The last object of the reply that fits. Raises `Unreadable`.

    The last words that try to be an answer are the answer. Where they claim to be one and do not fit
    (`{"verdict":"NEEDS_FIX","issues":"x"}`), or bear a key of it and are no JSON, the whole reply is unreadable,
    whatever stands before or within them: K-29's last object that fits might else make an approval of a refusal that
    was badly written (K-15, K-36). Braces and quotes that bear no such key are prose and count for nothing.
    """
    for piece in reversed(pieces(words := spoken(text))):
        found = _read(piece, words[piece.begin : piece.end], shape)
        if found is not None and shape.claims(found):
            return shape.fit(found)
    raise Unreadable(f"The reply holds no {shape.name}.")


def _read(piece: Piece, source: str, shape: Shape[T]) -> Object | None:
    """The object, or None for code and other braces; what bears a key of the answer has to be JSON."""
    problem = "it is cut off or holds a raw line break."
    if piece.closed:
        try:
            value = decode(source)
        except Malformed as malformed:
            problem = str(malformed)
        else:
            return value if isinstance(value, dict) else None
    if _keys(shape.keys).search(piece.own):
        raise Unreadable(f"The {shape.name} in the reply cannot be read: {problem}")
    return None


@cache
def _keys(names: tuple[str, ...]) -> re.Pattern[str]:
    """One of these where a key stands: first in its braces, before a colon, or where the text was cut off."""
    key = f'"(?:{"|".join(map(re.escape, names))})"'
    return re.compile(rf"\{{\s*+{key}|{key}\s*+(?::|\Z)")
