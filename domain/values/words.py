"""Messages in the reader's language, Korean particles, one spelling for texts that look the same, and templates.

Each room keeps its messages in a `messages.toml`: `[key]` with `en` and `ko`.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final, Literal, NamedTuple, get_args

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Words:
    """The messages of one language: `words("cancel")`, `words.of("status", "running")`."""

    language: Language
    messages: Mapping[str, str]

    def __call__(self, key: str) -> str:
        """Raises KeyError for a key that is not in the catalogue."""
        return self.messages[key]

    def fill(self, key: str, values: Mapping[str, object]) -> str:
        """The message with its `{places}` filled."""
        return with_particles(self.messages[key], values)

    def of(self, group: str, value: str) -> str:
        """The name of a recorded value; the value itself where it has none."""
        return self.messages.get(f"{group}.{value}", value)

    def group(self, name: str) -> dict[str, str]:
        """All messages of a group, by the rest of their keys."""
        return {key.removeprefix(f"{name}."): text for key, text in self.messages.items() if key.startswith(f"{name}.")}

    @property
    def other(self) -> Language:
        return "en" if self.language == "ko" else "ko"


@cache
def words(language: Language, *rooms: str) -> Words:
    """The messages of these packages. A key of a later one wins."""
    return Words(language, {key: both[language] for room in rooms for key, both in catalogue(room).items()})


@cache
def catalogue(room: str) -> dict[str, dict[Language, str]]:
    """The messages of one package, by key and language."""
    import tomllib  # most short commands show no message

    folder = import_module(room).__path__[0]
    with open(f"{folder}/messages.toml", "rb") as file:  # noqa: PTH123 - the domain has no paths, and `files` takes longer
        messages: dict[str, dict[Language, str]] = tomllib.load(file)
    return messages


def preferred(accept_language: str) -> Language:
    """The language of `Accept-Language` that weighs most (RFC 9110 §12.5.4); English if it names none of ours."""
    return best_match(accept_language) or "en"


def best_match(accept_language: str) -> Language | None:
    """The same; None if it names none of ours."""
    weights = dict.fromkeys(LANGUAGES, 0.0)
    for item in accept_language.split(",")[:50]:
        tag, _, parameters = item.partition(";")
        for language in LANGUAGES:
            if tag.strip().lower().partition("-")[0] == language:
                weights[language] = max(weights[language], _weight(parameters))
    best = max(LANGUAGES, key=lambda language: weights[language])
    return best if weights[best] else None


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0


def of_environment(environment: Mapping[str, str]) -> Language:
    """The terminal's language: the first of LC_ALL, LC_MESSAGES and LANG that is set; English unless it is Korean."""
    chosen = _first(environment.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ko" if chosen.lower().startswith("ko") else "en"


def _first(values: Iterable[str]) -> str:
    return next(filter(None, values), "")


# Korean particles: `{name}을(를)` becomes 을 or 를, by the sound on which the name ends.

_AFTER_PLACE: Final = re.compile(r"(\{[^{}]*\})([^\w\s{}]*)(을\(를\)|이\(가\)|은\(는\)|와\(과\)|\(으\)로)")
_PARTICLES: Final[Mapping[str, tuple[str, str]]] = {
    "을(를)": ("을", "를"), "이(가)": ("이", "가"), "은(는)": ("은", "는"), "와(과)": ("과", "와"),
    "(으)로": ("으로", "로"),
}  # fmt: skip
"""Each with its forms after a consonant and after a vowel."""
_LAST_WORD: Final = re.compile(r"([^\W_]+)[\W_]*$")
_ENDINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys("036", "consonant"), **dict.fromkeys("178", "l"), **dict.fromkeys("2459", "vowel"),
    **dict.fromkeys("mn", "consonant"), "l": "l", **dict.fromkeys("adfhijoqrsuvwxyz", "vowel"),
}  # fmt: skip
"""How digits and Latin letters end when Koreans say them; words in b, c, e, g, k, p and t end in either way."""


def with_particles(template: str, values: Mapping[str, object]) -> str:
    """The template with its `{places}` filled and each particle after one in the form that fits; both forms stay where
    the sound is not known."""

    def fill(match: re.Match[str]) -> str:
        place, between, particle = match.groups()
        value = place.format_map(values)
        return f"{value}{between}{_form(value, particle)}".replace("{", "{{").replace("}", "}}")

    if ")" in template:
        template = _AFTER_PLACE.sub(fill, template)
    return template.format_map(values)


def _form(value: str, particle: str) -> str:
    ending = _ending(value)
    if not ending:
        return particle
    after_consonant, after_vowel = _PARTICLES[particle]
    return after_vowel if ending == "vowel" or (ending == "l" and particle == "(으)로") else after_consonant


def _ending(value: str) -> str | None:
    """The last sound: "vowel", "l" (which takes 로), any other "consonant", or None where it depends on the word."""
    word = _LAST_WORD.search(value[-40:])
    if not word:
        return None
    last = composed(word[1])[-1]
    if "가" <= last <= "힣":
        return {0: "vowel", 8: "l"}.get((ord(last) - ord("가")) % 28, "consonant")
    spelled = len(word[1]) == 1 or any(letter.isdigit() for letter in word[1])
    return _ENDINGS.get(last.lower(), "vowel" if spelled and last.isascii() else None)


# One spelling for texts that look the same, however they were typed; in linear time.

SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space as the rules' authors knew it (ECMAScript `\\s`): neither Python's idea of it nor ASCII's."""

LONGEST_RUN = 30
"""Marks on one letter: Unicode's own limit for text that may be normalised piece by piece (UAX #15)."""


def composed(text: str) -> str:
    """The text in NFC, so that 리셋 typed as letters equals 리셋 typed as syllables.

    A text with more than `LONGEST_RUN` marks in a row is left as it is: no language writes it, and normalising
    takes time quadratic in such a run.
    """
    if text.isascii() or _longest_run_of_marks(text) > LONGEST_RUN:
        return text
    return unicodedata.normalize("NFC", text)


def trimmed(text: str) -> str:
    """The text without white space at its ends."""
    return text.strip(SPACE)


def folded(text: str) -> str:
    """The text as it is compared where case does not count."""
    return composed(composed(text).casefold())


def _longest_run_of_marks(text: str) -> int:
    longest = run = 0
    for character in text:
        # by category: a few marks are of combining class 0 and yet decompose into others (U+0F73)
        run = run + 1 if unicodedata.category(character)[0] == "M" else 0
        longest = max(longest, run)
    return longest


def thread_name(agent: str, role: str) -> str:
    """The name of an agent's conversation in a role: a reviewer does not continue the developer's."""
    return f"{agent} ({role})"


# Templates: texts with places such as `{{task}}`, and material blocks that no value can open or close.

NOTHING: Final[Mapping[Language, str]] = {"en": "(none)", "ko": "(없음)"}

PLACE: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_INVISIBLE: Final = r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*+"
_TAG: Final = re.compile(
    "<(?=" + _INVISIBLE + "/?" + _INVISIBLE + _INVISIBLE.join("material") + ")",
    re.IGNORECASE,
)


class SafePieces(NamedTuple):
    """A text in pieces that are safe inside a material block, also one after another."""

    pieces: tuple[str, ...]


def filled(template: str, values: Mapping[str, str | SafePieces], language: Language) -> str:
    """The template with its places replaced in one pass; missing or blank values become "(none)" or "(없음)".

    No value is expanded again, and none can open or close a material block.
    """
    pieces: list[str] = []
    for number, part in enumerate(PLACE.split(template)):  # its texts and, between them, the names of its places
        if number % 2 == 0:
            pieces.append(part)
        else:
            pieces += _in_pieces(values.get(part, ""), language)
    return "".join(pieces)


def _in_pieces(value: str | SafePieces, language: Language) -> tuple[str, ...]:
    if isinstance(value, SafePieces):
        return value.pieces
    return (closed(value) if value and not value.isspace() else NOTHING[language],)


def closed(words: str) -> str:
    """The text, safe inside a material block: it cannot open or close one."""
    return _TAG.sub("&lt;", words)
