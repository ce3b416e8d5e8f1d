"""The answers that the writer and the guard make as bytes, as models: receipts and problems. Tests check real answers
against them (contract §2 and §3)."""

from typing import Literal

from pydantic import Field

from domain.triage import Suggestion
from domain.values.base import Value


def _absent(value: object) -> bool:
    return value is None


class Fault(Value):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="JSON Pointer into the body, or / and the name of a query parameter")
    detail: str
    code: str | None = Field(default=None, exclude_if=_absent, description="stable code of the detail")
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")


class ProblemDetails(Value):
    """RFC 9457. Never repeats what was sent."""

    type: str = Field(description="documentation of this kind of problem")
    title: str
    status: int
    detail: str
    code: str | None = Field(
        default=None, exclude_if=_absent, description="stable code of the detail; `invalid` if `errors` says more"
    )
    params: dict[str, object] | None = Field(default=None, exclude_if=_absent, description="the values in the detail")
    errors: tuple[Fault, ...] | None = Field(default=None, exclude_if=_absent)
    allowed: tuple[str, ...] | None = Field(default=None, exclude_if=_absent, description="409: the allowed actions")
    current_version: int | None = Field(default=None, exclude_if=_absent, description="412: the session's version")
    reason: str | None = Field(
        default=None,
        exclude_if=_absent,
        description="409 for a claimed turn: settled, cancelled, waiting, elsewhere, deadline or timeout",
    )


class Receipt(Value):
    """The answer to every command: the new version and the position in the log."""

    session_id: str
    kind: str
    version: int
    position: int = Field(description="for `Read-After`")


class MessageAnswer(Value):
    """What became of a message."""

    action: Literal["started", "queued", "rejected", "unclear"]
    kind: str
    position: int
    session_id: str | None = Field(default=None, exclude_if=_absent)
    version: int = Field(description="version of the session it started or continued; 0 if none or queued")
    reason: str | None = Field(default=None, exclude_if=_absent)
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)
    queued: bool | None = Field(default=None, exclude_if=_absent)
    pending: int | None = Field(default=None, exclude_if=_absent, description="number of queued messages with this one")
    suggestions: tuple[Suggestion, ...] | None = Field(
        default=None, exclude_if=_absent, description="possible meanings of an unclear message, best first"
    )


class Done(Receipt):
    """The result of a continue or reset."""

    ok: Literal[True]
    action: Literal["started"]
    continued: bool | None = Field(default=None, exclude_if=_absent)
    reset: bool | None = Field(default=None, exclude_if=_absent)
