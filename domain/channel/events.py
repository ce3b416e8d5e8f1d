"""What happens in a channel."""

from typing import ClassVar

from pydantic import Field

from domain.orchestration.events import OrchestrationRequest
from domain.triage import Suggestion
from domain.values.base import DomainEvent


class ChannelEvent(DomainEvent):
    """Who says what."""

    message: str = Field(default="", description="the event as a sentence")
    role: str = Field(default="supervisor", description="who speaks; the supervisor is Hansard itself")


class MessageStarted(ChannelEvent):
    """A message becomes a new session."""

    TOPIC: ClassVar[str] = "channel.message_started"
    session_id: str = Field(description="the session that begins")
    opening: OrchestrationRequest = Field(description="what it begins with")
    sender: str = Field(default="", description="who said it")
    queued: bool = Field(default=False, description="whether it had waited")


class MessageQueued(ChannelEvent):
    """A message waits, because a run of its origin is busy."""

    TOPIC: ClassVar[str] = "channel.message_queued"
    session_id: str = Field(description="the session that it will be")
    opening: OrchestrationRequest = Field(description="what it will begin with")
    sender: str = Field(default="", description="who said it")
    pending: int = Field(description="how many messages wait, with this one")


class MessageRejected(ChannelEvent):
    """A message that leads to nothing, and why."""

    TOPIC: ClassVar[str] = "channel.message_rejected"
    reason: str = Field(description="a word for it, such as busy")
    text: str = Field(default="", description="the message")
    session_id: str | None = Field(default=None, description="what the same words led to when they came before")


class MessageUnclear(ChannelEvent):
    """A message that is nearly a word to continue, reset or cancel; it starts nothing, the person is asked."""

    TOPIC: ClassVar[str] = "channel.message_unclear"
    text: str = Field(description="the message")
    suggestions: tuple[Suggestion, ...] = Field(description="what it may mean, the nearest first")


class ContinueWanted(ChannelEvent):
    """The latest run is to go on."""

    TOPIC: ClassVar[str] = "channel.continue_wanted"
    session_id: str = Field(description="the run")


class ResetWanted(ChannelEvent):
    """The latest run is to be reset; `reason` as the person gave it."""

    TOPIC: ClassVar[str] = "channel.reset_wanted"
    session_id: str = Field(description="the run")
    reason: str = Field(default="", description="as the person gave it")


class SessionNoted(ChannelEvent):
    """What the channel knows of its sessions changed; `clears` are paused runs whose agents' conversations end now."""

    TOPIC: ClassVar[str] = "channel.session_noted"
    session_id: str = Field(description="the run that changed")
    origin: str = Field(description="whose")
    status: str = Field(description="how it stands")
    claims: bool = Field(default=False, description="whether it is now what the origin is busy with")
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
