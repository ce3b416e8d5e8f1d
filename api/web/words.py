"""The page's own words: one catalogue, two languages, chosen by `?lang=` or by what the browser prefers."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Words:
    """The catalogue in one language: `words("cancel")`, `words.of("status", "running")`."""

    language: Language
    messages: Mapping[str, str]

    def __call__(self, key: str) -> str:
        """Raises KeyError for a key that the catalogue lacks."""
        return self.messages[key]

    def of(self, group: str, value: str) -> str:
        """A value of the record by its name for people; one that has none stands for itself."""
        return self.messages.get(f"{group}.{value}", value)

    def group(self, name: str) -> dict[str, str]:
        """All messages of a group, by the last part of their names."""
        found = ((key.partition("."), message) for key, message in self.messages.items())
        return {last: message for (first, dot, last), message in found if dot and first == name}

    @property
    def other(self) -> Language:
        return "en" if self.language == "ko" else "ko"


@cache
def words(language: Language) -> Words:
    return Words(language, {key: both[language] for key, both in catalogue().items()})


@cache
def catalogue() -> dict[str, dict[Language, str]]:
    """Message by key and language."""
    found: dict[str, dict[Language, str]] = tomllib.loads((files("api.web") / "messages.toml").read_text("utf-8"))
    return found


def preferred(accept_language: str) -> Language:
    """The language of `Accept-Language` that weighs most (RFC 9110 §12.5.4); English where none of ours is named."""
    weights = dict.fromkeys(LANGUAGES, 0.0)
    for item in accept_language.split(",")[:50]:
        tag, _, parameters = item.partition(";")
        for language in LANGUAGES:
            if tag.strip().lower().partition("-")[0] == language:
                weights[language] = max(weights[language], _weight(parameters))
    return max(LANGUAGES, key=lambda language: weights[language])


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0
