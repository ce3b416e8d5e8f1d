"""JSON from outside: a strict decoder for HTTP bodies and agents' replies (contract §3).

The decoder refuses what the standard library accepts but later code would fail on or misread: encodings other than
UTF-8, a byte order mark, duplicate keys (the last would win), NaN and infinity, integers that JavaScript cannot hold,
U+0000, lone surrogates, and nesting that would exhaust the stack.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Final, NoReturn, TypeAlias

from domain.values.base import HansardError
from domain.values.sentences import Sentence, at_place

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
    """Not valid JSON by these rules; the sentence says what is wrong and, if known, at which place.

    `pointer` leads to the value where only the value is wrong.
    """

    def __init__(self, sentence: Sentence, pointer: str = "") -> None:
        super().__init__(sentence)
        self.sentence, self.pointer = sentence, pointer

    @property
    def placed(self) -> Sentence:
        """The sentence, with the place of the value in front of it."""
        if not self.pointer or "place" in self.sentence.params:
            return self.sentence
        return at_place(_shortened(self.pointer), self.sentence)


def decode(raw: bytes | str, *, max_depth: int = MAX_DEPTH) -> JSON:
    """The one JSON value that `raw` holds. Raises `Malformed`, and nothing else."""
    text = _text(raw)
    _check_depth(text, max_depth)
    try:
        value: JSON = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        sentence = Sentence("malformed_json", reason=_reason(problem.msg), line=problem.lineno, column=problem.colno)
        raise Malformed(sentence) from None
    except Malformed as problem:
        raise Malformed(problem.sentence, _place_of_fault(text)) from None
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


# -- the place of a fault ----------------------------------------------------------------------------------------------


class _Fault:
    """A mark in place of a value that is refused."""


def _fault_or(check: Callable[[str], object]) -> Callable[[str], object]:
    def checked_or_fault(words: str) -> object:
        try:
            return check(words)
        except Malformed:
            return _Fault()

    return checked_or_fault


def _object_or_fault(pairs: list[tuple[str, object]]) -> object:
    """The object; what it has under a name that occurs twice is a fault."""
    result: dict[str, object] = {}
    for key, value in pairs:
        result[key] = _Fault() if key in result else value
    return result


_FAULTS: Final = json.JSONDecoder(
    object_pairs_hook=_object_or_fault,
    parse_constant=_fault_or(_refuse_constant),
    parse_float=_fault_or(_finite),
    parse_int=_fault_or(_exact),
)


def _place_of_fault(text: str) -> str:
    """The pointer to the first value that is refused; empty where the text cannot be read to its end."""
    try:
        value = _FAULTS.decode(text)
    except json.JSONDecodeError:
        return ""
    return next(_faults(value, ""), "")


def _faults(value: object, pointer: str) -> Iterator[str]:
    """The pointers to faults. The depth was checked, so recursion is bounded."""
    match value:
        case _Fault():
            yield pointer
        case list():
            for index, item in enumerate(value):
                yield from _faults(item, f"{pointer}/{index}")
        case dict():
            for key, item in value.items():
                yield from _faults(item, f"{pointer}/{_escaped(key)}")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


# -- strings and integers ----------------------------------------------------------------------------------------------


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
                _check_strings(item, f"{pointer}/{_escaped(key)}")


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
        raise Malformed(Sentence("json_string_holds", what=_name(match.group()), place=_quoted(pointer)), pointer)


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
