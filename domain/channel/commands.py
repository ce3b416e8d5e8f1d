"""The commands of a channel, and how they are read back from its events."""

from domain.channel.events import (
    ContinueWanted,
    MessageQueued,
    MessageRejected,
    MessageStarted,
    MessageUnclear,
    ResetWanted,
    SessionNoted,
)
from domain.channel.state import Channel
from domain.orchestration.events import OrchestrationRequest
from domain.session.past_commands import RecordedCommand
from domain.values.base import Command

TO_GO_ON, TO_END = "The latest run is to go on.", "The latest run is to end."
"""The message that is recorded for a continue or reset without a text."""


class ReceiveMessage(Command):
    """A message of `sender`; a session that it starts gets the id `session_id`."""

    session_id: str
    opening: OrchestrationRequest
    sender: str = ""


class ContinueLatest(Command):
    """Continue the latest orchestration of the origin."""


class ResetLatest(Command):
    """End the latest orchestration of the origin."""

    reason: str = ""


class NoteSession(Command):
    """An orchestration of this origin has reached a status.

    `claims`: it takes the origin for itself; `opens`: it is a new request; `direct`: an agent answers it directly.
    """

    session_id: str
    origin: str
    status: str
    claims: bool = False
    opens: bool = False
    direct: bool = False


def command_of(recorded: RecordedCommand, channel: Channel | None) -> Command | None:
    """The command that led to these events.

    For a message without effect, only its text is recorded, because deciding used nothing else. The other fields of a
    repeated message are those of the first one.
    """
    match recorded.events[0]:
        case MessageStarted() | MessageQueued() as event:
            return ReceiveMessage(session_id=event.session_id, opening=event.opening, sender=event.sender)
        case MessageRejected(reason="duplicate") as event if channel and channel.last_opening:
            return _message(event.text, channel.last_opening)
        case MessageRejected() | MessageUnclear() as event:
            return _message(event.text)
        case ContinueWanted() as event:
            return ContinueLatest() if event.message == TO_GO_ON else _message(event.message)
        case ResetWanted() as event:
            return ResetLatest(reason=event.reason) if event.message == TO_END else _message(event.message)
        case SessionNoted() as event:
            return NoteSession(
                session_id=event.session_id,
                origin=event.origin,
                status=event.status,
                claims=event.claims,
                opens=recorded.recorded[0].causation.causation_id == f"{event.session_id}:1",
                direct=event.direct,
            )
        case _:
            return None


def _message(words: str, like: OrchestrationRequest | None = None) -> ReceiveMessage:
    fields = {} if like is None else {name: getattr(like, name) for name in OrchestrationRequest.model_fields}
    return ReceiveMessage(session_id="", opening=OrchestrationRequest(**fields | {"prompt": words}))
