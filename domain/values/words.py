"""Messages in the reader's language. Each room keeps its own in a `messages.toml`: `[key]` with `en` and `ko`."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Words:
    """The messages of one language: `words("cancel")`, `words.of("status", "running")`."""

    language: Language
    messages: Mapping[str, str]

    def __call__(self, key: str) -> str:
        """Raises KeyError for a key that the catalogue lacks."""
        return self.messages[key]

    def fill(self, key: str, values: Mapping[str, object]) -> str:
        """The message with its `{places}` filled."""
        return self.messages[key].format_map(values)

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
    found: dict[str, dict[Language, str]] = tomllib.loads((files(room) / "messages.toml").read_text("utf-8"))
    return found


def preferred(accept_language: str) -> Language:
    """The language of `Accept-Language` that weighs most (RFC 9110 §12.5.4); English where none of ours is named."""
    return asked(accept_language) or "en"


def asked(accept_language: str) -> Language | None:
    """The same, None where none of ours is named."""
    weights = dict.fromkeys(LANGUAGES, 0.0)
    for item in accept_language.split(",")[:50]:
        tag, _, parameters = item.partition(";")
        for language in LANGUAGES:
            if tag.strip().lower().partition("-")[0] == language:
                weights[language] = max(weights[language], _weight(parameters))
    found = max(LANGUAGES, key=lambda language: weights[language])
    return found if weights[found] else None


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
