"""What an agent meant to say: its reply without the blocks in which it only thought (behaviour §2.2)."""

import re

from domain.values.base import Unreadable

LONGEST_REPLY = 4 * 1024 * 1024
"""UTF-8 bytes. The bound on the work that one reply can cause here."""

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

    A block that nothing closes reaches to the end, an end that nothing opened from the beginning: when in doubt it was
    thought, not said. A tag between two double quotes of one line is a word in a string. Raises `Unreadable` for what
    no reader should try: more than `LONGEST_REPLY`, U+0000 or a lone surrogate.
    """
    _admit(text)
    return _without_thoughts(text) if _ANY_TAG.search(text) else text


def _admit(text: str) -> None:
    if _UNSTORABLE.search(text):
        raise Unreadable("The reply holds U+0000 or a lone surrogate.")
    if len(text) > LONGEST_REPLY or len(text.encode()) > LONGEST_REPLY:
        raise Unreadable(f"The reply is longer than {LONGEST_REPLY} bytes.")


def _without_thoughts(text: str) -> str:
    kept: list[str] = []
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
                kept, begin = [], at
            case "think" | "tool" as kind if not quoted:
                kept.append(text[begin : token.start()])
                end = _ENDS[kind].search(text, at)
                if end is None:
                    return "".join(kept)
                at = begin = end.end()
    return "".join([*kept, text[begin:]])
