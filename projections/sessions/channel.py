"""What an origin is busy with, and what waits (behaviour §1.2): a pure function of the channel."""

from typing import Any

from domain.channel import Channel, Waiting
from domain.values.time import iso


def view(origin: str, channel: Channel | None) -> dict[str, Any]:
    """`busy` and `latest` are sessions' ids or null, `queue` what waits, in order; null: nothing ever came in."""
    return {
        "origin": origin,
        "busy": channel.busy if channel else None,
        "latest": channel.latest if channel else None,
        "queue": [_waiting(message) for message in channel.queue] if channel else [],
    }


def _waiting(message: Waiting) -> dict[str, Any]:
    """A message that waits; the session of that id begins when it is its turn."""
    return {
        "sessionId": message.session_id,
        "prompt": message.opening.prompt,
        "title": message.opening.title,
        "sender": message.sender,
        "queuedAt": iso(message.queued_at),
    }
