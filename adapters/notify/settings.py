"""Notifications: what starts to wait for a person is reported to a command or a webhook, each item once."""

from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from adapters.references import SecretReference, web_address
from domain.values.base import Value
from domain.values.sentences import Sentence

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def _address(url: str) -> str:
    parts = web_address(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError(Sentence("address_not_encrypted"))
    return url


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command or not command[0] or any("\0" in word for word in command):
        raise ValueError(Sentence("must_name_a_program"))
    if "/" in command[0] and not command[0].startswith("/"):
        raise ValueError(Sentence("not_a_program_name"))
    return command


class NotifySettings(Value):
    """`command` gets each notification on standard input; `webhook` gets it as Standard Webhooks describe, signed with
    `secret` (`env:NAME` or `file:/path`; `whsec_` and base64, or any text)."""

    command: Annotated[tuple[str, ...], Field(max_length=100), AfterValidator(_program)] | None = None
    webhook: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)] | None = None
    secret: SecretReference | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.command is None and self.webhook is None:
            raise ValueError(Sentence("needs_command_or_webhook"))
        if (self.webhook is None) != (self.secret is None):
            raise ValueError(Sentence("webhook_without_secret"))
        return self
