"""Reads what malformed text next to an answer says (K-15, K-36): broken JSON, JSON5, a Python literal, an object cut
off.

A rejection with a trailing comma must not be skipped in favour of an approval that follows it. So the values of the
answer's keys are read as far as they are certain without parsing the rest.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from domain.values.json import JSON, Malformed, decode
from domain.values.json_pieces import STRING, JsonPiece

_PLACEHOLDER = r"(?:\.\.\.|…|<[^<>\n]{0,200}>)"
_WHOLE = (
    rf"(?P<placeholder>{_PLACEHOLDER}|\[\s*+{_PLACEHOLDER}\s*+\])"
    rf"|(?P<nothing>\[\s*+\])|(?P<text>{STRING})|['“‘](?P<word>\w++)['”’]"
)
_VALUE = re.compile(
    rf"\s*+:?\s*+(?:(?P<choice>[\"'“‘]?\w++[\"'”’]?\s*+\|)"
    rf"|(?:{_WHOLE})(?=\s*+(?:[,}}]|//|/\*|\#|\Z))|(?P<code>\w++)(?=\s*+[,;.()\[}}]))"
)
"""A value that is certainly complete: a comma, a closing bracket, a comment or the end follows. `PASS|NEEDS_FIX` is a
choice in a form."""


class _Key(NamedTuple):
    name: str
    end: int
    quoted: bool


def values_of(piece: JsonPiece, words: str, keys: Sequence[str], answer: dict[str, JSON]) -> dict[str, JSON] | None:
    """The values of these keys in a malformed object; None if one is uncertain.

    Empty if the object has no such key or only shows the form of an answer: `{"blockingIssues": [ ... ]}`. `answer` is
    the valid one next to it.
    """
    values: dict[str, JSON] = {}
    is_form = False
    for key in _keys_in(piece.own, tuple(keys)):
        match = _VALUE.match(words, piece.begin + key.end, piece.end)
        if match is None:
            return None
        if match["choice"] or match["placeholder"]:
            is_form = True
        elif match["code"] and not key.quoted and not isinstance(answer.get(key.name), str):
            continue  # `{ changes: diff }` is source code
        elif values.setdefault(key.name, value := _value(match)) != value or value is None:
            return None
    return {} if is_form and all(value == [] for value in values.values()) else values


def _keys_in(text: str, names: tuple[str, ...]) -> Iterator[_Key]:
    for match in quoted_keys(names).finditer(text):
        yield _Key(match[1] or match[2], match.end(), True)
    for match in _other_keys(names).finditer(text):
        if match["name"]:
            yield _Key(match["name"], match.end(), bool(match["quote"]))


@cache
def quoted_keys(names: tuple[str, ...]) -> re.Pattern[str]:
    """One of these keys in the position of a key: first in the braces, before a colon, or where the text was cut
    off."""
    key = f'"({"|".join(map(re.escape, names))})"'
    return re.compile(rf"\{{\s*+{key}|{key}\s*+(?::|\Z)")


@cache
def _other_keys(names: tuple[str, ...]) -> re.Pattern[str]:
    """One of these keys in other quotes or in none, outside of strings."""
    key = f"(?P<quote>['“‘`])?(?P<name>{'|'.join(map(re.escape, names))})['”’`]?"
    return re.compile(rf"{STRING}|(?:[{{,]\s*+|^[ \t]*+|\*/\s*+){key}\s*+:", re.MULTILINE)


def _value(match: re.Match[str]) -> JSON:
    """None if it is uncertain."""
    if match["nothing"]:
        return []
    if match["text"] is None:
        return match["word"] or (match["code"] if match["code"] not in ("null", "None") else None)
    try:
        return decode(match["text"])
    except Malformed:
        return None
