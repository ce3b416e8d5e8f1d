"""The events of a channel."""

from typing import ClassVar

from pydantic import Field

from domain.orchestration.events import OrchestrationRequest
from domain.triage import Suggestion
from domain.values.base import DomainEvent


class ChannelEvent(DomainEvent):
    """Role and message."""

    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")


class MessageStarted(ChannelEvent):
    """A message started a session."""

    TOPIC: ClassVar[str] = "channel.message_started"
    session_id: str = Field(description="the session that begins")
    opening: OrchestrationRequest = Field(description="its start request")
    sender: str = Field(default="", description="the sender")
    queued: bool = Field(default=False, description="whether it was queued")


class MessageQueued(ChannelEvent):
    """A message was queued because a run of its origin is busy."""

    TOPIC: ClassVar[str] = "channel.message_queued"
    session_id: str = Field(description="the id of its future session")
    opening: OrchestrationRequest = Field(description="its start request")
    sender: str = Field(default="", description="the sender")
    pending: int = Field(description="number of queued messages, including this one")


class MessageRejected(ChannelEvent):
    """A message was rejected, and why."""

    TOPIC: ClassVar[str] = "channel.message_rejected"
    reason: str = Field(description="a reason code such as busy")
    text: str = Field(default="", description="the message")
    session_id: str | None = Field(default=None, description="the session that the earlier, identical message started")


class MessageUnclear(ChannelEvent):
    """A message that resembles continue, reset or cancel; nothing starts, the person is asked."""

    TOPIC: ClassVar[str] = "channel.message_unclear"
    text: str = Field(description="the message")
    suggestions: tuple[Suggestion, ...] = Field(description="possible meanings, best first")


class ContinueWanted(ChannelEvent):
    """A person asked to continue the latest run."""

    TOPIC: ClassVar[str] = "channel.continue_wanted"
    session_id: str = Field(description="the run")


class ResetWanted(ChannelEvent):
    """A person asked to reset the latest run; `reason` is theirs."""

    TOPIC: ClassVar[str] = "channel.reset_wanted"
    session_id: str = Field(description="the run")
    reason: str = Field(default="", description="as the person gave it")


class SessionNoted(ChannelEvent):
    """A session of the channel changed; `clears` are paused runs whose agents' conversations end now."""

    TOPIC: ClassVar[str] = "channel.session_noted"
    session_id: str = Field(description="the run that changed")
    origin: str = Field(description="its conversation")
    status: str = Field(description="the session's status")
    claims: bool = Field(default=False, description="whether the origin is now busy with it")
    clears: tuple[str, ...] = Field(default=(), description="sessions")
    direct: bool = Field(default=False, description="whether it is a new request that an agent answers directly")


EVENTS: tuple[type[DomainEvent], ...] = (
    MessageStarted,
    MessageQueued,
    MessageRejected,
    MessageUnclear,
    ContinueWanted,
    ResetWanted,
    SessionNoted,
)
