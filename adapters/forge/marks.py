"""Markers in posts: by them a post is found again, so that nothing is posted twice. And what makes an agent's words
harmless in a post: they give no orders to anybody."""

import re
from typing import Final

_MARKER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}")
_AT_END: Final = re.compile(r"<!-- hansard ([A-Za-z0-9][A-Za-z0-9._:/-]{0,199}) -->\s*\Z")
_INVISIBLE: Final = "\u200b"
_COMMAND: Final = re.compile(r"^(\s*(?:>\s*)*)(/[A-Za-z])", re.MULTILINE)
_MENTION: Final = re.compile(r"(?<![\w`.])@(?=[A-Za-z0-9])")


def marked_text(text: str, marker: str) -> str:
    """The text with the marker, invisible to readers, as its last line. What looks like a marker in the text is none
    any more. Raises ValueError for a marker with other characters than letters, digits, `.`, `_`, `:`, `/` and `-`."""
    if not _MARKER.fullmatch(marker) or "--" in marker:
        raise ValueError(f"not a marker: {marker!r}")
    return f"{without_orders(text).rstrip()}\n\n<!-- hansard {marker} -->"


def marker_in(text: str) -> str | None:
    """The marker on the last line of a post; None without one. It says nothing unless the post is our own account's."""
    found_marker = _AT_END.search(text)
    return found_marker[1] if found_marker else None


def unmarked_text(text: str) -> str:
    """The text without the marker's line."""
    return _AT_END.sub("", text).rstrip()


def without_orders(text: str) -> str:
    """The text with a space of no width where a forge or a bot would read an order or call somebody: before a `/word`
    at the beginning of a line, and after the @ of a mention. Hidden comments are shown."""
    shown = text.replace("<!--", f"<{_INVISIBLE}!--")
    return _MENTION.sub(f"@{_INVISIBLE}", _COMMAND.sub(rf"\1{_INVISIBLE}\2", shown))
