"""JSON from outside: a strict decoder for HTTP bodies and agents' replies (contract §3), and the objects in a reply.

The decoder refuses what the standard library accepts but later code would fail on or misread: encodings other than
UTF-8, a byte order mark, duplicate keys (the last would win), NaN and infinity, integers that JavaScript cannot hold,
U+0000, lone surrogates, and nesting that would exhaust the stack.

`pieces` finds the objects of a reply, and remains of broken ones. An object is whatever JSON's grammar accepts,
wherever it begins: the quotes of prose may not come in pairs, so each brace before a name and a colon is tried. A brace
that was met outside of strings while an earlier one was tried has been tried with it, and an escape outside of strings
ends a try. So each character is read by at most two tries, in a string and outside, and the time is linear. A fence
(three backticks or tildes at the start of a line) ends whatever was open before it.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, NoReturn, TypeAlias

from domain.values.base import HansardError
from domain.values.sentences import Sentence

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
    """What starts like an object outside of these, also in JSON5 or Python: `{'a': 1}`, `{a: 1}`."""
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


# -- strict decoding ---------------------------------------------------------------------------------------------------

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"

MAX_DEPTH = 64
"""Objects and lists inside one another; a scalar has depth 0."""

LARGEST_INTEGER = 2**53
"""Up to this magnitude, every JSON reader sees the same integer."""

_REASONS: Final = {
    "Expecting value": "expecting_value",
    "Expecting property name enclosed in double quotes": "expecting_name",
    "Expecting ':' delimiter": "expecting_colon",
    "Expecting ',' delimiter": "expecting_comma",
    "Extra data": "extra_data",
    "Invalid control character at": "control_character",
    "Unterminated string starting at": "unterminated_string",
    "Invalid \\escape": "invalid_escape",
    "Invalid \\uXXXX escape": "invalid_unicode_escape",
    "Illegal trailing comma before end of object": "trailing_comma_in_object",
    "Illegal trailing comma before end of array": "trailing_comma_in_list",
}
"""The sentences of the standard library's decoder."""

_INTEGER_LENGTH = len(str(-LARGEST_INTEGER))
_BRACKETS_AND_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Malformed(HansardError):
    """Not valid JSON by these rules; the sentence says what is wrong and, if known, at which place."""


def decode(raw: bytes | str, *, max_depth: int = MAX_DEPTH) -> JSON:
    """The one JSON value that `raw` holds. Raises `Malformed`, and nothing else."""
    text = _text(raw)
    _check_depth(text, max_depth)
    try:
        value: JSON = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        sentence = Sentence("malformed_json", reason=_reason(problem.msg), line=problem.lineno, column=problem.colno)
        raise Malformed(sentence) from None
    if "\\u" in text:
        _check_strings(value, "")
    return value


def checked(value: dict[str, JSON]) -> dict[str, JSON]:
    """Returns a value that was made here, such as from a form, if `decode` would take its strings and integers.
    Raises Malformed."""
    _check_strings(value, "")
    _check_integers(value)
    return value


def _text(raw: bytes | str) -> str:
    text = raw if isinstance(raw, str) else _utf8(raw)
    if text.startswith("\ufeff"):
        raise Malformed(Sentence("byte_order_mark"))
    if not text or text.isspace():
        raise Malformed(Sentence("json_empty"))
    if match := _UNSTORABLE.search(text):
        raise Malformed(Sentence("json_holds", what=_name(match.group()), **_place(text, match.start())))
    return text


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Malformed(Sentence("not_utf8", number=problem.start)) from None


def _check_depth(text: str, limit: int) -> None:
    """Before parsing, and without recursion. Few brackets cannot nest deeply, so most texts need no scan."""
    if text.count("{") + text.count("[") <= limit:
        return
    depth = 0
    for token in _BRACKETS_AND_STRINGS.finditer(text):
        first = text[token.start()]
        if first in "{[":
            depth += 1
        elif first != '"':
            depth -= 1
        if depth > limit:
            raise Malformed(Sentence("nested_too_deep", number=limit, **_place(text, token.start())))


def _object(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    result: dict[str, JSON] = {}
    for key, value in pairs:
        if key in result:
            raise Malformed(Sentence("duplicate_key", key=_quoted(key)))
        result[key] = value
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed(Sentence("not_json_number", name=name))


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise Malformed(Sentence("number_too_large", digits=_shortened(digits)))
    return number


def _exact(digits: str) -> int:
    if len(digits) > _INTEGER_LENGTH or abs(int(digits)) > LARGEST_INTEGER:
        raise Malformed(Sentence("integer_too_large", digits=_shortened(digits)))
    return int(digits)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_exact
)


def _check_strings(value: JSON, pointer: str) -> None:
    """Escapes can spell what the text itself may not contain. The depth was checked, so recursion is bounded."""
    match value:
        case str():
            _check_string(value, pointer)
        case list():
            for index, item in enumerate(value):
                _check_strings(item, f"{pointer}/{index}")
        case dict():
            for key, item in value.items():
                _check_string(key, pointer)
                _check_strings(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")


def _check_integers(value: JSON) -> None:
    match value:
        case bool():
            return
        case int():
            _exact(str(value))
        case list():
            for item in value:
                _check_integers(item)
        case dict():
            for item in value.values():
                _check_integers(item)


def _check_string(words: str, pointer: str) -> None:
    if match := _UNSTORABLE.search(words):
        raise Malformed(Sentence("json_string_holds", what=_name(match.group()), place=_quoted(pointer)))


def _name(character: str) -> str:
    return "U+0000" if character == "\x00" else Sentence("lone_surrogate", code=f"U+{ord(character):04X}")


def _place(text: str, index: int) -> dict[str, int]:
    line_start = text.rfind("\n", 0, index) + 1
    return {"line": text.count("\n", 0, index) + 1, "column": index - line_start + 1}


def _reason(problem: str) -> str:
    """The decoder's own message; with a code if we know it."""
    code = _REASONS.get(problem)
    text = problem[:1].lower() + problem[1:].removesuffix(" at")
    return Sentence.foreign(text, f"json_{code}") if code else text


def _shortened(words: str, limit: int = 60) -> str:
    return words if len(words) <= limit else f"{words[:limit]}…"


def _quoted(words: str) -> str:
    """As a JSON string in ASCII: what a hostile text chose is shown without its control characters."""
    return json.dumps(_shortened(words))
