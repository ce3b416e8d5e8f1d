"""The prose of a reply: what it says to people, without thinking and without JSON (behaviour §1.10)."""

import re

from domain.replies.objects import pieces
from domain.replies.spoken import spoken
from domain.values.base import Unreadable

_EMPTY_FENCE = re.compile(r"^[ \t]*```[A-Za-z0-9]*[ \t]*\n\s*```[ \t]*$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")


def without_json(text: str) -> str:
    """The words around the JSON objects; empty for a reply that no reader would try."""
    try:
        words = spoken(text)
    except Unreadable:
        return ""
    kept, at = [], 0
    for piece in sorted(pieces(words)):
        if piece.closed and piece.end > at:
            kept.append(words[at : piece.begin])
            at = piece.end
    prose = _EMPTY_FENCE.sub("", "".join([*kept, words[at:]]))
    return _BLANK_LINES.sub("\n\n", prose).strip()
