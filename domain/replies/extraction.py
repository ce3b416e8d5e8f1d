"""The one way to JSON in prose (K-29, K-49): the last object of a reply that fits what was asked for.

Objects are found by balancing braces, aware of strings, in one pass over the text, so that no reply costs more than
time linear in its length. A fence (three backticks or tildes at the start of a line) ends whatever stood open before
it: braces and quotes of prose do not reach into a fenced block.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from domain.base import Unreadable
from domain.replies.spoken import spoken
from domain.strict import JSON, Malformed, decode

MOST_OBJECTS = 256
"""Only so many objects, counted from the end of a reply, are looked at."""

Object: TypeAlias = dict[str, JSON]
T = TypeVar("T")

_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
_BEGINNING = re.compile(r'\{(?=[ \t\r\n]*+")')
_STRING_OR_BRACE = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+(?P<closed>")?+|[{}]')


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """What is looked for: its name in sentences, the keys that mark it, and how an object becomes it.

    `claims` tells an object that is given as an answer from one that merely stands in the text; the last that claims
    decides. If it does not fit, or is no JSON, the whole reply is unreadable: falling back on an earlier object could
    make an approval of a refusal with a malformed issue (K-36).
    """

    name: str
    keys: tuple[str, ...]
    claims: Callable[[Object], bool]
    fit: Callable[[Object], T]


class Piece(NamedTuple):
    """An object as it stands in the text; `closed` is false where its braces or its strings never close."""

    begin: int
    end: int
    closed: bool


def last(text: str, shape: Shape[T]) -> T:
    """The last object of the reply that fits. Raises `Unreadable`."""
    words = spoken(text)
    for piece in reversed(pieces(words)):
        found = _read(words[piece.begin : piece.end], closed=piece.closed, shape=shape)
        if found is not None and shape.claims(found):
            return shape.fit(found)
    raise Unreadable(f"The reply holds no {shape.name}.")


def _read(source: str, *, closed: bool, shape: Shape[T]) -> Object | None:
    """The object, or None for code and other braces; what bears a key of the answer has to be JSON."""
    problem = "it is cut off or holds a raw line break."
    if closed:
        try:
            value = decode(source)
        except Malformed as malformed:
            problem = str(malformed)
        else:
            return value if isinstance(value, dict) else None
    if any(f'"{key}"' in source for key in shape.keys):
        raise Unreadable(f"The {shape.name} in the reply cannot be read: {problem}")
    return None


def pieces(words: str) -> list[Piece]:
    """The outermost objects in order of their beginnings, the last `MOST_OBJECTS` of them."""
    found: deque[Piece] = deque(maxlen=MOST_OBJECTS)
    for start, stop in _sections(words):
        found.extend(_section_pieces(words, start=start, stop=stop))
    return list(found)


def _sections(words: str) -> Iterator[tuple[int, int]]:
    start = 0
    for fence in _FENCE.finditer(words):
        yield start, fence.start()
        start = fence.start()
    yield start, len(words)


def _section_pieces(words: str, *, start: int, stop: int) -> list[Piece]:
    """Outside of objects nothing counts but a brace before a quote: a quote alone is an inch, a brace alone is code."""
    opened: list[int] = []
    found: deque[Piece] = deque(maxlen=MOST_OBJECTS)
    at = start
    while token := (_STRING_OR_BRACE if opened else _BEGINNING).search(words, at, stop):
        begin, at = token.span()
        match words[begin]:
            case "{":
                opened.append(begin)
            case "}":
                _close(found, begin=opened.pop(), end=at)
            case _ if token["closed"] is None:
                found.append(Piece(opened[0], at, closed=False))
                opened.clear()
    if opened:
        found.append(Piece(opened[0], stop, closed=False))
    return sorted(found)


def _close(found: deque[Piece], *, begin: int, end: int) -> None:
    """An object takes the place of those within it: a part of an answer is not the answer."""
    while found and found[-1].begin > begin:
        found.pop()
    found.append(Piece(begin, end, closed=True))
