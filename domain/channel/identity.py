"""The id of a channel."""

import hashlib


def channel_id(origin: str) -> str:
    """The name of the stream of an origin."""
    return f"channel-{hashlib.sha256(origin.encode()).hexdigest()[:20]}"
