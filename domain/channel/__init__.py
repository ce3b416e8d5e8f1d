"""A channel: the messages of one origin, in order, one orchestration at a time (behaviour §1.2, K-6, K-17).

It decides what a message means (continue, reset, a new request), queues messages while a run is busy, and knows the
latest run of its origin. `domain/policy.py` maps its decisions to commands for the sessions themselves.
"""

from domain.channel.commands import (
    TO_END,
    TO_GO_ON,
    ContinueLatest,
    NoteSession,
    ReceiveMessage,
    ResetLatest,
    command_of,
)
from domain.channel.decide import allowed_actions, decide
from domain.channel.events import (
    EVENTS,
    ContinueWanted,
    MessageQueued,
    MessageRejected,
    MessageStarted,
    MessageUnclear,
    ResetWanted,
    SessionNoted,
)
from domain.channel.identity import channel_id
from domain.channel.state import Channel, Waiting, evolve

__all__ = [
    "EVENTS",
    "TO_END",
    "TO_GO_ON",
    "Channel",
    "ContinueLatest",
    "ContinueWanted",
    "MessageQueued",
    "MessageRejected",
    "MessageStarted",
    "MessageUnclear",
    "NoteSession",
    "ReceiveMessage",
    "ResetLatest",
    "ResetWanted",
    "SessionNoted",
    "Waiting",
    "allowed_actions",
    "channel_id",
    "command_of",
    "decide",
    "evolve",
]
