"""What an origin is working on, and its queue (behaviour §1.2): a pure function of the channel."""

from domain.channel import Channel, Waiting
from domain.values.time import iso
from projections.views.sessions import ChannelView, WaitingMessage


def view(origin: str, channel: Channel | None) -> ChannelView:
    """`channel` is None if there was never a message."""
    return ChannelView(
        origin=origin,
        busy=channel.busy if channel else None,
        latest=channel.latest if channel else None,
        queue=tuple(_message(message) for message in channel.queue) if channel else (),
    )


def _message(message: Waiting) -> WaitingMessage:
    return WaitingMessage(
        session_id=message.session_id,
        prompt=message.opening.prompt,
        title=message.opening.title,
        sender=message.sender,
        queued_at=iso(message.queued_at),
    )
