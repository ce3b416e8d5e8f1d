"""Lists as people type them: `a,b`, repeated options, or both."""

from collections.abc import Iterable


def split(words: Iterable[str]) -> list[str]:
    """The items of all the words; a comma inside quotes or behind a backslash belongs to its item, and empty items
    are dropped. Quotes stay: they are the command's own."""
    return [item for word in words for item in _items(word)]


def _items(word: str) -> list[str]:
    items, current, quote, escaped = [], "", "", False
    for character in word:
        if escaped:
            current += character if character == "," else f"\\{character}"
        elif character == "," and not quote:
            items.append(current)
            current = ""
        elif character != "\\":
            quote = _quoting(quote, character)
            current += character
        escaped = character == "\\" and not escaped
    items.append(current + ("\\" if escaped else ""))
    return [item.strip() for item in items if item.strip()]


def _quoting(quote: str, character: str) -> str:
    """The quote that is open behind this character."""
    if character not in "\"'":
        return quote
    if not quote:
        return character
    return "" if character == quote else quote
