"""Who is notified: `[notify]` of the team file, checked when the file is read."""

from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from domain.values.base import Value

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isascii():
        raise ValueError("must begin with https:// and name a host")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError("must begin with https://, unless the receiver is on this machine")
    if parts.username is not None or parts.password is not None or any(letter.isspace() for letter in url):
        raise ValueError("must not hold a login")
    return url


def _reference(secret: str) -> str:
    if not secret.startswith(("env:", "file:/")):
        raise ValueError("say env:NAME or file:/path, not the secret itself")
    return secret


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command or not command[0] or any("\0" in word for word in command):
        raise ValueError("must name a program")
    if "/" in command[0] and not command[0].startswith("/"):
        raise ValueError("the program must be a bare name or an absolute path")
    return command


class NotifySettings(Value):
    """`command` gets each notification on standard input; `webhook` gets it as Standard Webhooks describe, signed with
    `secret` (`env:NAME` or `file:/path`; `whsec_` and base64, or any text)."""

    command: Annotated[tuple[str, ...], Field(max_length=100), AfterValidator(_program)] | None = None
    webhook: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)] | None = None
    secret: Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(_reference)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.command is None and self.webhook is None:
            raise ValueError("needs command or webhook")
        if (self.webhook is None) != (self.secret is None):
            raise ValueError("webhook and secret belong together")
        return self
