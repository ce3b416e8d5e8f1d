"""What settings refer to instead of holding it: secrets in variables and files, and addresses of other services."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final
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
