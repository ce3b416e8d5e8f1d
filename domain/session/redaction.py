"""A redaction takes a long text out of the log.

The events that quote the beginning of a redacted text keep their hashes: the event of the redaction names them, with
what they are now.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

from pydantic import Field

from domain.values.base import Command, DomainEvent, Value

REDACTED: Final = "[redacted]"
"""What readers get in place of the text."""


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class RedactedEvent(Value):
    """An event that quoted the beginning of a text."""

    version: int = Field(ge=1)
    hash: str = Field(description="SHA-256 of the event as it is stored now")


class TextRedacted(DomainEvent):
    """A long text was removed from the log."""

    TOPIC: ClassVar[str] = "session.text_redacted"
    digest: str = Field(description="SHA-256 of the text")
    reason: str = Field(description="why it was removed")
    events: tuple[RedactedEvent, ...] = Field(
        default=(), description="the events of this session that quoted its beginning; they no longer do"
    )


REDACTIONS: tuple[type[DomainEvent], ...] = (TextRedacted,)


class RedactText(Command):
    """Remove the text from the session's events and from the log."""

    digest: Digest
    reason: str = Field(min_length=1, max_length=2_000)
    events: tuple[RedactedEvent, ...] = ()


def redact_text(command: RedactText) -> Iterator[DomainEvent]:
    yield TextRedacted(digest=command.digest, reason=command.reason, events=command.events)
