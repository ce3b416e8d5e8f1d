"""References in settings, in place of what they must not hold: secrets in variables and files, and addresses of other
services."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Protocol, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field

from domain.values.sentences import Sentence

REFERENCES: Final = ("env:", "file:")
"""How a secret is referred to: by the variable or the file that contains it."""


def _reference(text: str) -> str:
    if not text.startswith(("env:", "file:/")):
        raise ValueError(Sentence("not_a_reference"))
    return text


SecretReference = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(_reference)]
"""`env:NAME` or `file:/path`."""


def web_address(url: str) -> SplitResult:
    """The parts of an address. Raises ValueError unless it has http:// or https://, a host, and no login."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(Sentence("not_an_address", detail=error)) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isascii():
        raise ValueError(Sentence("address_without_host"))
    if parts.username is not None or parts.password is not None:
        raise ValueError(Sentence("address_with_login"))
    if any(letter.isspace() for letter in url):
        raise ValueError(Sentence("address_with_spaces"))
    return parts


def resolve_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with `env:NAME` and `file:/path` replaced by their values. ValueError names the setting, but no
    value."""
    return {name: _resolve(name, value) for name, value in settings.items()}


def _resolve(name: str, value: str) -> str:
    kind, _, where = value.partition(":")
    if kind == "env":
        secret = os.environ.get(where, "")
    elif kind == "file":
        try:
            secret = Path(where).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError):
            raise ValueError(Sentence("secret_file_unreadable", name=name, path=where)) from None
    else:
        return value
    if not secret:
        raise ValueError(Sentence(f"secret_missing_in_{kind}", name=name, given=where))
    return secret


# -- their values in texts and files -----------------------------------------------------------------------------------


MASK: Final = "***"
"""What a text has instead of the value of a secret."""
_SHORTEST: Final = 4
"""Shorter values are ordinary words."""
_SHORTEST_IN_FILES: Final = 8
"""In a file, a match costs the whole answer: a short value may be there by chance."""


class Searchable(Protocol):
    """Bytes, or a file in memory."""

    def find(self, sub: bytes, start: int = ..., end: int = ..., /) -> int: ...


@dataclass(frozen=True, slots=True)
class Secrets:
    """The values of secrets, each as it is and as it is escaped in JSON, with the names that a person knows them by.
    Longer ones come first: a value may be part of another."""

    spellings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Self:
        pairs = {form: name for name, value in values.items() for form in _spellings(value) if len(form) >= _SHORTEST}
        return cls(tuple(sorted(pairs.items(), key=lambda pair: len(pair[0]), reverse=True)))

    def joined(self, others: Self) -> Self:
        """These secrets and others."""
        both = {*self.spellings, *others.spellings}
        return type(self)(tuple(sorted(both, key=lambda pair: len(pair[0]), reverse=True)))

    def scrub(self, text: str) -> str:
        """The text without the values."""
        for value, _ in self.spellings:
            text = text.replace(value, MASK)
        return text

    def named_in(self, text: str) -> tuple[str, ...]:
        """The names of the secrets whose values `scrub` removes from the text."""
        return tuple(dict.fromkeys(name for value, name in self.spellings if value in text))

    def values_in(self, data: Searchable, start: int, end: int) -> dict[bytes, str]:
        """The values in this part of a file, with their names."""
        return {value: name for value, name in self._in_files() if data.find(value, start, end) >= 0}

    def _in_files(self) -> Iterator[tuple[bytes, str]]:
        return ((value.encode(), name) for value, name in self.spellings if len(value) >= _SHORTEST_IN_FILES)


NO_SECRETS: Final = Secrets()


def _spellings(secret: str) -> tuple[str, ...]:
    return secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
