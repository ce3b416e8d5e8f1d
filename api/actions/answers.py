"""The answers to commands, as models of what the writer answers as bytes. Tests check real answers against them."""

from typing import Any, Final, Literal

from pydantic import Field

from domain.triage import Suggestion
from domain.values.base import Value


def absent(value: object) -> bool:
    """Returns whether a field is left out of the answer."""
    return value is None


class WriterAnswer(Value):
    """The answer of the writer, which it keeps with the events."""


class Warned(Value):
    """Something that the caller should know, and that is not recorded."""

    detail: str
    code: str
    params: dict[str, Any]


WARNINGS: Final = "agents that may be asked and would fail as things are now; not part of a repeated answer"


class Receipt(WriterAnswer):
    """The answer to every command: the new version and the position in the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")
    warnings: tuple[Warned, ...] | None = Field(default=None, exclude_if=absent, description=WARNINGS)


class MessageAnswer(WriterAnswer):
    """What became of a message."""

    action: Literal["started", "queued", "rejected", "unclear"]
    kind: str
    position: int
    session_id: str | None = Field(default=None, exclude_if=absent)
    version: int = Field(description="version of the session it started or continued; 0 if none or queued")
    reason: str | None = Field(default=None, exclude_if=absent)
    continued: bool | None = Field(default=None, exclude_if=absent)
    reset: bool | None = Field(default=None, exclude_if=absent)
    queued: bool | None = Field(default=None, exclude_if=absent)
    pending: int | None = Field(default=None, exclude_if=absent, description="number of queued messages with this one")
    suggestions: tuple[Suggestion, ...] | None = Field(
        default=None, exclude_if=absent, description="possible meanings of an unclear message, best first"
    )
    warnings: tuple[Warned, ...] | None = Field(default=None, exclude_if=absent, description=WARNINGS)


class Done(Receipt):
    """The result of a continue or reset."""

    ok: Literal[True]
    action: Literal["started"]
    continued: bool | None = Field(default=None, exclude_if=absent)
    reset: bool | None = Field(default=None, exclude_if=absent)
