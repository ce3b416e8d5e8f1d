"""The JSON objects in a reply, and the remains of broken ones.

An object is whatever JSON's grammar accepts, wherever it begins: the quotes of prose may not come in pairs, so each
brace before a name and a colon is tried. A brace that was met outside of strings while an earlier one was tried has
been tried with it, and an escape outside of strings ends a try. So each character is read by at most two tries, in a
string and outside, and the time is linear. A fence (three backticks or tildes at the start of a line) ends whatever
was open before it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

MOST_OBJECTS = 256
"""How many objects are considered, counted from the end of a reply."""


_BLANKS = r"[ \t\r\n]*+"


STRING = r'"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+"'


_VALUE = rf"(?:{STRING}|-?[0-9][0-9.eE+\-]*+|true|false|null|NaN|-?Infinity|(?P<opening>[{{\[]))"


_MEMBER = rf"{STRING}{_BLANKS}:{_BLANKS}{_VALUE}"


_TOKENS = {
    ("{", True): re.compile(rf"{_BLANKS}(?:{_MEMBER}|(?P<closing>}}))"),
    ("{", False): re.compile(rf"{_BLANKS}(?:,{_BLANKS}{_MEMBER}|(?P<closing>}}))"),
    ("[", True): re.compile(rf"{_BLANKS}(?:{_VALUE}|(?P<closing>\]))"),
    ("[", False): re.compile(rf"{_BLANKS}(?:,{_BLANKS}{_VALUE}|(?P<closing>\]))"),
}
"""What may follow within braces and brackets, right after the opening one or later; numbers are left to the decoder."""


_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)


_BRACE = re.compile(rf"\{{(?={_BLANKS}{STRING}{_BLANKS}:)")


_BEGUN = re.compile(rf'\{{{_BLANKS}(?:{STRING}{_BLANKS}:|"\w++")')


_COMMENTS = r"(?:\s|(?://|\#)[^\n]{0,200}\n|/\*[^*]{0,200}\*/)*+"


_LOOSELY_BEGUN = re.compile(rf"\{{{_COMMENTS}(?:(?:{STRING}|['“‘`]?\w++['”’`]?)\s*+:|\"\w++\")")


_STRING_OR_BRACE = re.compile(r'"[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+"?+|[{}]')


class JsonPiece(NamedTuple):
    """An object as written in the text, or the remains of one; `closed` is false if its braces never close.

    `own` is its text; for remains, without the whole objects inside.
    """

    begin: int
    end: int
    closed: bool
    own: str


def pieces(words: str) -> list[JsonPiece]:
    """The outermost objects, and the remains around and between them, in order of their ends; the last `MOST_OBJECTS`
    of them.

    Remains start like an object (a brace, a name, a colon) but are none: they extend to the brace that closes them if
    line breaks end their strings, or to the end of their section.
    """
    spans = [span for start, stop in _sections(words) for span in _whole(words, start, stop)]
    bare = _blanked(words, spans)
    candidates = [JsonPiece(begin, end, True, words[begin:end]) for begin, end in spans[-MOST_OBJECTS:]]
    candidates += [piece for start, stop in _sections(words) for piece in _wreckage(bare, start, stop, _BEGUN)]
    return sorted(candidates, key=lambda piece: (piece.end, -piece.begin))[-MOST_OBJECTS:]


def lookalikes(words: str, objects: Sequence[JsonPiece]) -> Iterator[JsonPiece]:
    """Texts outside of these that start like an object, also in JSON5 or Python: `{'a': 1}`, `{a: 1}`."""
    bare = _blanked(words, [(piece.begin, piece.end) for piece in objects])
    for start, stop in _sections(words):
        yield from _wreckage(bare, start, stop, _LOOSELY_BEGUN)


def _sections(words: str) -> Iterator[tuple[int, int]]:
    return pairwise([0, *(fence.start() for fence in _FENCE.finditer(words)), len(words)])


def _whole(words: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """From the brace to just past its closing brace, for each outermost object."""
    at = start
    tried: dict[int, int | None] = {}
    while brace := _BRACE.search(words, at, stop):
        begin = brace.start()
        if begin not in tried:
            tried |= _tried(words, begin, stop)
        end = tried[begin]
        if end is not None:
            yield begin, end
        at = end or begin + 1


def _tried(words: str, begin: int, stop: int) -> dict[int, int | None]:
    """For each brace outside of strings and objects, where its object ends; None if it does not end."""
    opened, at, first = [begin], begin + 1, True
    closed: list[tuple[int, int]] = []
    while opened and (token := _TOKENS[words[opened[-1]], first].match(words, at, stop)):
        at = token.end()
        first = token["opening"] is not None
        if first:
            opened.append(at - 1)
        elif token["closing"] == "}":
            _close(closed, opened.pop(), at)
        elif token["closing"] == "]":
            opened.pop()
    return dict.fromkeys(opened) | dict(closed)


def _close(closed: list[tuple[int, int]], begin: int, end: int) -> None:
    """An object replaces those inside it: a part of an answer is not the answer."""
    while closed and closed[-1][0] > begin:
        closed.pop()
    closed.append((begin, end))


def _blanked(words: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with these parts blanked out; they may overlap if quotes can be read in two ways."""
    parts, at = [], 0
    for begin, end in spans:
        parts += [words[at:begin], " " * (end - max(at, begin))]
        at = max(at, end)
    return "".join([*parts, words[at:]])


def _wreckage(bare: str, start: int, stop: int, begun: re.Pattern[str]) -> Iterator[JsonPiece]:
    at = start
    while match := begun.search(bare, at, stop):
        end = _closing(bare, match.start(), stop)
        at = end or stop
        yield JsonPiece(match.start(), at, end is not None, bare[match.start() : at])


def _closing(bare: str, begin: int, stop: int) -> int | None:
    depth = 0
    for token in _STRING_OR_BRACE.finditer(bare, begin, stop):
        depth += {"{": 1, "}": -1}.get(bare[token.start()], 0)
        if depth == 0:
            return token.end()
    return None
