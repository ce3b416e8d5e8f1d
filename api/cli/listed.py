"""Values as people type them: lists (`a,b`, repeated options, or both) and amounts of money."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from api.cli import exits
from api.cli.exits import Failed


def split(words: Iterable[str]) -> list[str]:
    """The items of all the words; a comma inside quotes or behind a backslash belongs to its item, and empty items
    are dropped. Quotes stay: they are the command's own."""
    return [item for word in words for item in _items(word)]


def micros(dollars: str | None, millionths: int | None, *, option: str) -> int | None:
    """Millionths of a dollar from `2.50`, or as given. Raises Failed for both, and for what is no amount."""
    if dollars is None:
        return millionths
    if millionths is not None:
        raise Failed(f"Give {option} or {option}-micros, not both.", code=exits.USAGE)
    try:
        amount = Decimal(dollars.removeprefix("$")) * 1_000_000
        exact = amount.is_finite() and abs(amount) < 2**53 and amount == int(amount)
    except InvalidOperation:
        exact = False
    if not exact:
        raise Failed(f"{option} {dollars}: an amount in US dollars was expected, as in 2.50.", code=exits.USAGE)
    return int(amount)


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
