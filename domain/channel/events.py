"""What happens in a channel."""

from typing import ClassVar

from pydantic import Field

from domain.base import DomainEvent
from domain.orchestration.events import Opening


class ChannelEvent(DomainEvent):
    message: str = ""
    role: str = "supervisor"


class MessageStarted(ChannelEvent):
    """A message becomes a new session."""

    TOPIC: ClassVar[str] = "channel.message_started"
    session_id: str
    opening: Opening
    sender: str = ""
    queued: bool = Field(default=False, description="whether it had waited")


class MessageQueued(ChannelEvent):
    """A message waits, because a run of its origin is busy."""

    TOPIC: ClassVar[str] = "channel.message_queued"
    session_id: str
    opening: Opening
    sender: str = ""
    pending: int


class MessageRejected(ChannelEvent):
    """A message that leads to nothing, and why."""

    TOPIC: ClassVar[str] = "channel.message_rejected"
    reason: str
    text: str = ""
    session_id: str | None = Field(default=None, description="what the same words led to when they came before")


class ContinueWanted(ChannelEvent):
    """The latest run is to go on."""

    TOPIC: ClassVar[str] = "channel.continue_wanted"
    session_id: str


class ResetWanted(ChannelEvent):
    """The latest run is to be reset; `reason` as the person gave it."""

    TOPIC: ClassVar[str] = "channel.reset_wanted"
    session_id: str
    reason: str = ""


class SessionNoted(ChannelEvent):
    """What the channel knows of its sessions changed; `clears` are paused runs whose agents' conversations end now."""

    TOPIC: ClassVar[str] = "channel.session_noted"
    session_id: str
    origin: str
    status: str
    claims: bool = False
    clears: tuple[str, ...] = ()


EVENTS: tuple[type[DomainEvent], ...] = (
    MessageStarted,
    MessageQueued,
    MessageRejected,
    ContinueWanted,
    ResetWanted,
    SessionNoted,
)
