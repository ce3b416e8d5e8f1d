"""Our sentences in the reader's language. They are written in English where they are said; this is the one place where
they become another (`sentences.toml`). One that is not in the catalogue stays English."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from domain.values.words import Words

LONGEST: Final = 2_000
"""Characters of what is looked up; what is longer stays as it is."""
ENDS: Final = 6
"""A text that may end at more places than these is not cut into sentences."""
DEPTH: Final = 3
"""Sentences within one another."""
_PLACE: Final = re.compile(r"\{(\w+?)(\d?)\}")
_END: Final = re.compile(r"(?<=[.!?)]) (?=\S)")
_WORD: Final = re.compile(r"[\w-]+")
_FIGURES: Final = frozenset({"number", "most", "given", "newest", "line", "column"})
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": ("kind",),
    "state": ("status", "session_state"),
    "doors": ("door",),
    "choice": ("choice",),
    "choices": ("choice", "listed"),
    "reason": ("amount",),
    "fields": ("amount",),
}
"""Whose names stand in a place, each of which people know by another."""


class Template(NamedTuple):
    """A sentence with places, as a pattern and in the other language."""

    pattern: re.Pattern[str]
    told: str


@cache
def catalogue() -> dict[str, str]:
    """Korean by English."""
    return tomllib.loads((files("api.web") / "sentences.toml").read_text("utf-8"))


@cache
def _templates() -> tuple[Template, ...]:
    """What says the most itself comes first."""
    found = sorted(
        (english for english in catalogue() if _PLACE.search(english)),
        key=lambda english: len(_PLACE.sub("", english)),
        reverse=True,
    )
    return tuple(Template(_pattern(english), catalogue()[english]) for english in found)


def _pattern(english: str) -> re.Pattern[str]:
    written, at = "", 0
    for place in _PLACE.finditer(english):
        written += re.escape(english[at : place.start()]) + f"(?P<{place[1]}{place[2]}>{_shape(place[1])})"
        at = place.end()
    return re.compile(written + re.escape(english[at:]), re.DOTALL)


def _shape(place: str) -> str:
    if place in _FIGURES:
        return r"-?[0-9.]+"
    return {"kind": r"\w+", "article": "An?", "type": r"an? \w+", "field": r"[\w./-]+"}.get(place, ".+?")


def in_words(say: Words, text: str) -> str:
    """The sentence, or the sentences one after another, as the reader says it."""
    if say.language == "en" or not text or len(text) > LONGEST:
        return text
    return _known(say, text) or text


def told_in(say: Words, told: Mapping[str, Any]) -> dict[str, Any]:
    """A problem document (RFC 9457) with its sentences as the reader says them."""
    found = dict(told)
    errors = [{**error, "detail": in_words(say, error["detail"])} for error in told.get("errors", ())]
    detail = in_words(say, told.get("detail", ""))
    if errors:
        found["errors"] = errors
        detail = "; ".join(": ".join(part for part in (e["pointer"].lstrip("/"), e["detail"]) if part) for e in errors)
    return found | ({"detail": detail} if detail else {})


def _known(say: Words, text: str, deep: int = DEPTH) -> str | None:
    """None where a part of it is not in the catalogue. A sentence ends as early as can be."""
    ends = [end.start() for end in _END.finditer(text)]
    for end in ends if len(ends) <= ENDS else ():
        first = _sentence(say, text[:end], deep)
        rest = _known(say, text[end + 1 :], deep) if first else None
        if rest:
            return f"{first} {rest}"
    return _sentence(say, text, deep)


def _sentence(say: Words, text: str, deep: int) -> str | None:
    if text in catalogue():
        return catalogue()[text]
    for template in _templates():
        match = template.pattern.fullmatch(text)
        filled = _filled(say, template.told, match, deep) if match else None
        if filled is not None:
            return filled
    return None


def _filled(say: Words, told: str, match: re.Match[str], deep: int) -> str | None:
    """None where a sentence within the sentence is not known."""
    places = {name: _placed(say, name.rstrip("0123456789"), value, deep) for name, value in match.groupdict().items()}
    return None if None in places.values() else told.format_map(places)


def _placed(say: Words, place: str, value: str, deep: int) -> str | None:
    """What stands in a place: other words of ours, which have to be known (`sentence`, `type`) or may be (`detail`);
    names of ours, one by one; or whatever it is."""
    match place:
        case "sentence" | "type":
            return _known(say, value, deep - 1) if deep else None
        case "detail":
            return (_known(say, value, deep - 1) if deep else None) or value
        case _ if place in _GROUPS:
            return _WORD.sub(lambda word: _name(say, _GROUPS[place], word[0]), value)
        case _:
            return value


def _name(say: Words, groups: tuple[str, ...], word: str) -> str:
    names = (say.of(group, word) for group in groups)
    return next((name for name in names if name != word), word)
