"""Extracts JSON from prose (K-29, K-49): the last object of a reply, unless an earlier one contradicts it.

Also the part of a reply for people: without thinking, without JSON (behaviour §1.10, §2.2).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Generic, TypeAlias, TypeVar

from domain.replies.broken_json import quoted_keys, values_of
from domain.values.base import Unreadable
from domain.values.json import JSON, Malformed, decode
from domain.values.json_pieces import JsonPiece, lookalikes, pieces
from domain.values.sentences import Sentence

Object: TypeAlias = dict[str, JSON]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """One kind of answer: the code of its name, the keys that identify it, and how an object becomes a value.

    `claims` distinguishes an object that is meant as an answer from a quoted one. `decides` is the part that two
    answers in one reply must agree on; None if the last one simply wins. `rejects` is true for an answer that nothing
    malformed next to it could make worse. `concludes`: an answer that does not reject counts only where it ends the
    reply, because a reply may quote one; a rejection counts anywhere.
    """

    name: str
    keys: tuple[str, ...]
    claims: Callable[[Object], bool]
    fit: Callable[[Object], T]
    decides: Callable[[Object], object] | None = None
    rejects: Callable[[Object], bool] | None = None
    concludes: bool = False

    def approves(self, answer: Object) -> bool:
        """Returns whether the answer would let work through."""
        return self.concludes and not (self.rejects is not None and self.rejects(answer))


def last(text: str, shape: Shape[T]) -> T:
    """The last object of the reply that is meant as the answer. Raises `Unreadable`, also if there is none."""
    answer = find(text, shape)
    if answer is None:
        raise Unreadable(_missing(shape.name))
    return answer


@cache
def _missing(name: str) -> Sentence:
    return Sentence("reply_without", what=Sentence(name))


def find(text: str, shape: Shape[T]) -> T | None:
    """The last object of the reply that is meant as the answer, None if there is none. Raises `Unreadable`.

    The reply is unreadable if that object does not fit (`{"verdict":"NEEDS_FIX","issues":"x"}`), if broken JSON with a
    key of the answer follows it, or if another object that is meant as the answer decides differently or is malformed
    and might. Otherwise a malformed rejection could be skipped and an approval accepted, or a quoted approval could
    replace a rejection (K-15, K-36). Braces and quotes without such a key are prose and are ignored.
    """
    words = spoken(text)
    candidates = pieces(words)
    loose: Object | None = None
    for piece in reversed(candidates):
        answer = _read(piece, words, shape)
        if answer is None or not shape.claims(answer):
            continue
        if shape.approves(answer) and not _ends(piece, words):
            loose = answer
            continue
        value = shape.fit(answer)
        _check_agreement(answer, candidates, words, shape)
        return value
    if loose is not None:
        _check_agreement(loose, candidates, words, shape)
        raise Unreadable(Sentence("approval_not_at_end", what=Sentence(shape.name)))
    return None


_CLOSED: Final = re.compile(r"\s*(?:`{3,}|~{3,})\s*")
_QUOTED: Final = re.compile(r"\s*(?:>|[+|]\s*$|(?:[^\s:]+:)?\d+(?::\d+)?[:|\t-]\s*$)")
"""How a line begins that is quoted: from a letter, a diff, a search, or a listing with the numbers of lines."""
_OPENED: Final = re.compile(r"(?:\A|\n)[ \t]*(?:`{3,}|~{3,})[^\n`]*\n\s*\Z")


def _ends(piece: JsonPiece, words: str) -> bool:
    """Returns whether only white space, and the end of the fence that begins right before the object, follow it. The
    object is not in a line that is marked as quoted."""
    before, after = words[: piece.begin], words[piece.end :]
    if _QUOTED.match(before.rpartition("\n")[2]):
        return False
    return not after.strip() or (_CLOSED.fullmatch(after) is not None and _OPENED.search(before) is not None)


def _check_agreement(answer: Object, candidates: Sequence[JsonPiece], words: str, shape: Shape[T]) -> None:
    """Raises `Unreadable` if another answer decides differently, or may do so but is malformed."""
    if shape.decides is None:
        return
    decision = shape.decides(answer)
    objects = [(piece, value) for piece in candidates if (value := _object(piece, words)) is not None]
    rejected = shape.rejects is not None and shape.rejects(answer)
    others = (value for _, value in objects if not (rejected and shape.approves(value)))
    if any(_contradicts(value, decision, shape) for value in others):
        raise Unreadable(Sentence("reply_contradictory", what=Sentence(shape.name)))
    if rejected:
        return
    for piece in lookalikes(words, [piece for piece, _ in objects]):
        values = values_of(piece, words, shape.keys, answer)
        if values is None or _contradicts(values, decision, shape):
            raise _malformed(piece, words, shape)


def _contradicts(other: Object, decision: object, shape: Shape[T]) -> bool:
    return shape.decides is not None and shape.claims(other) and shape.decides(other) != decision


def _malformed(piece: JsonPiece, words: str, shape: Shape[T]) -> Unreadable:
    why: Sentence | Malformed = Sentence("json_cut_off")
    try:
        if piece.closed:
            decode(words[piece.begin : piece.end])
    except Malformed as problem:
        why = problem
    return Unreadable(Sentence("reply_json_unreadable", what=Sentence(shape.name), detail=why))


def _object(piece: JsonPiece, words: str) -> Object | None:
    """The object, or None for code and other braces."""
    try:
        value = decode(words[piece.begin : piece.end])
    except Malformed:
        return None
    return value if isinstance(value, dict) else None


def _read(piece: JsonPiece, words: str, shape: Shape[T]) -> Object | None:
    """The object, or None for code and other braces. Text with a key of the answer must be valid JSON."""
    if piece.closed:
        try:
            value = decode(words[piece.begin : piece.end])
        except Malformed:
            pass
        else:
            return value if isinstance(value, dict) else None
    if quoted_keys(shape.keys).search(piece.own):
        raise _malformed(piece, words, shape)
    return None


# -- what was said ----------------------------------------------------------------------------------------------------

LONGEST_REPLY = 4 * 1024 * 1024
"""Maximum size in UTF-8 bytes. Limits the work that one reply can cause here."""
_TAG = re.compile(
    r"""\\[^\n] | (?P<quote>") | (?P<line>\n)
      | (?P<think><think(?:ing)?>) | (?P<tool>\[TOOL_CALL\])
      | (?P<end></think(?:ing)?>|\[/TOOL_CALL\])""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
_ANY_TAG = re.compile(r"</?think(?:ing)?>|\[/?TOOL_CALL\]", re.IGNORECASE | re.ASCII)
_ENDS = {
    "think": re.compile(r"</think(?:ing)?>", re.IGNORECASE | re.ASCII),
    "tool": re.compile(r"\[/TOOL_CALL\]", re.IGNORECASE | re.ASCII),
}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def spoken(text: str) -> str:
    """The reply without `<think>…</think>`, `<thinking>…</thinking>` and `[TOOL_CALL]…[/TOOL_CALL]`.

    A block that is never closed extends to the end, and one that is never opened starts at the beginning: in doubt,
    text counts as thinking. A tag between two double quotes of one line is part of a string. Raises `Unreadable` for
    text that no reader should try: more than `LONGEST_REPLY`, U+0000 or a lone surrogate.
    """
    _admit(text)
    return _without_thoughts(text) if _ANY_TAG.search(text) else text


def without_thinking(text: str) -> str:
    """The reply without its thinking; empty if no reader should try it."""
    try:
        return spoken(text).strip()
    except Unreadable:
        return ""


def _admit(text: str) -> None:
    if _UNSTORABLE.search(text):
        raise Unreadable(Sentence("reply_unstorable"))
    if len(text) > LONGEST_REPLY or len(text.encode()) > LONGEST_REPLY:
        raise Unreadable(Sentence("reply_too_long", number=LONGEST_REPLY))


def _without_thoughts(text: str) -> str:
    parts: list[str] = []
    at = begin = 0
    quoted = False
    while token := _TAG.search(text, at):
        at = token.end()
        match token.lastgroup:
            case "quote":
                quoted = not quoted
            case "line":
                quoted = False
            case "end" if not quoted:
                parts, begin = [], at
            case "think" | "tool" as kind if not quoted:
                parts.append(text[begin : token.start()])
                end = _ENDS[kind].search(text, at)
                if end is None:
                    return "".join(parts)
                at = begin = end.end()
    return "".join([*parts, text[begin:]])


_EMPTY_FENCE = re.compile(r"^[ \t]*```[A-Za-z0-9]*[ \t]*\n\s*```[ \t]*$", re.MULTILINE)
_OPENED_FENCE = re.compile(r"^[ \t]*```[A-Za-z0-9]*\s*\Z", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def without_json(text: str) -> str:
    """The text around the JSON objects; empty for a reply that no reader would try."""
    try:
        words = spoken(text)
    except Unreadable:
        return ""
    parts, at = [], 0
    for piece in sorted(pieces(words)):
        if piece.closed and piece.end > at:
            parts.append(words[at : piece.begin])
            at = piece.end
    return _tidied("".join([*parts, words[at:]]))


def parted(text: str, key: str) -> tuple[str, Object | None]:
    """The prose of a reply without its answer, the last object with this key; and the answer, None if it is missing or
    cut off."""
    try:
        words = spoken(text)
    except Unreadable:
        return text, None
    for piece in reversed(pieces(words)):
        if quoted_keys((key,)).search(words, piece.begin, piece.end) is None:
            continue
        if not piece.closed:
            return _tidied(_OPENED_FENCE.sub("", words[: piece.begin])), None
        answer = _object(piece, words)
        if answer is not None and key in answer:
            return _tidied(words[: piece.begin] + words[piece.end :]), answer
    return words, None


def _tidied(words: str) -> str:
    """The text without fences and blank lines that have lost their content."""
    return _BLANK_LINES.sub("\n\n", _EMPTY_FENCE.sub("", words)).strip()
