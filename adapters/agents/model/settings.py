"""The settings of the `model` adapter: how a model is reached. They are checked when the team file is read."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from domain.values.base import Value

Speaks = Literal["planner", "architect", "designer", "reviewer", "judge", "assistant", "coder", "critic", "synthesizer"]
"""The roles that only write text. All others change files, which a model cannot."""
SPEAKS: Final[tuple[Speaks, ...]] = get_args(Speaks)
Seconds = Annotated[float, Field(gt=0, le=604_800)]


def _address(url: str) -> str:
    """The address without a slash at its end."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isascii():
        raise ValueError("must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a login: name the key with api_key")
    if parts.query or parts.fragment or any(letter.isspace() for letter in url):
        raise ValueError("must be the address that /chat/completions is added to, without ? or #")
    return url.rstrip("/")


def _reference(key: str) -> str:
    if not key.startswith(("env:", "file:/")):
        raise ValueError("say env:NAME or file:/path, not the key itself")
    return key


class ModelSettings(Value):
    """`/chat/completions` is appended to `base_url`. Without `api_key` (`env:NAME`, `file:/path`), no key is sent."""

    model: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S([^\x00-\x1f\x7f]*\S)?$")] | None = None
    base_url: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)]
    api_key: Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(_reference)] | None = None
    max_tokens: Annotated[int, Field(gt=0, le=10_000_000)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    timeout_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    output_bytes: Annotated[int, Field(gt=0, le=1_073_741_824)] | None = None

    def named(self, model: str | None) -> Self:
        """The same settings with this model, unless they name one."""
        return self if self.model or not model else self.model_copy(update={"model": model})

    def unfit(self, roles: Iterable[str]) -> str | None:
        """Which field is unsuitable for an agent in these roles, and why."""
        for number, role in enumerate(roles):
            if role not in SPEAKS:
                return f"roles[{number}]: {role!r} changes files, which a model cannot: it may be {', '.join(SPEAKS)}"
        return "settings.model: is missing" if self.model is None else None
