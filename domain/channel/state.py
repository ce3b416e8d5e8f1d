"""A channel as its events made it."""

from dataclasses import dataclass, field

from domain.channel.events import (
    ContinueWanted,
    MessageQueued,
    MessageRejected,
    MessageStarted,
    MessageUnclear,
    ResetWanted,
    SessionNoted,
)
from domain.orchestration.events import OrchestrationRequest
from domain.session.draft import stamped
from domain.session.state import EventMetadata, Session
from domain.values.base import DomainEvent
from domain.values.spelling import composed

DUPLICATE_MS = 5_000
"""The same message within so long is one that was sent twice (behaviour §4)."""
PAUSED = ("checkpoint", "partial")
"""The statuses in which an orchestration can be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A message that waits for its turn."""

    session_id: str
    opening: OrchestrationRequest
    sender: str = ""
    queued_at: int


@dataclass(kw_only=True)
class Channel(Session):
    """The state of a channel.

    `busy` is the session that holds the origin now, `paused` are those that held it and whose agents may still be
    resumed, `last_…` tell of the newest message that led to a session.
    """

    latest: str | None = None
    latest_status: str = ""
    busy: str | None = None
    paused: tuple[str, ...] = ()
    queue: tuple[Waiting, ...] = ()
    last_opening: OrchestrationRequest | None = None
    last_at: int = -DUPLICATE_MS - 1
    last_session: str | None = None
    answer: dict[str, object] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return "busy" if self.busy else "free"

    @property
    def ended(self) -> bool:
        return False

    def has_heard(self, opening: OrchestrationRequest, at: int) -> bool:
        """Whether it is the newest message once more, however its letters were typed: the same words with other agents,
        or another scenario, are another one."""
        last = self.last_opening
        if last is None or at - self.last_at > DUPLICATE_MS:
            return False
        return last.changed(prompt=composed(last.prompt)) == opening.changed(prompt=composed(opening.prompt))

    def receipt(self) -> dict[str, object]:
        """What became of the message; the channel's own id and version say nothing to whoever sent it.

        The version is that of the session which the message began or moved on: 0 where it did neither, or not yet.
        """
        return {"kind": "orchestration", "sessionId": None, "version": 0} | self.answer


def evolve(channel: Channel | None, event: DomainEvent, metadata: EventMetadata) -> Channel:
    before = channel or Channel(
        id=metadata.session_id, kind="channel", state="open", created_at=metadata.at, updated_at=metadata.at
    )
    return stamped(before, metadata.at, **_changes(before, event, metadata.at))


def _changes(channel: Channel, event: DomainEvent, at: int) -> dict[str, object]:
    match event:
        case MessageStarted():
            answer = {"action": "started", "sessionId": event.session_id}
            said = {} if event.queued else _heard(event, at) | {"answer": answer}
            return said | {
                "origin": event.opening.origin,
                "busy": event.session_id,
                "paused": resumable(channel),
                "latest": event.session_id,
                "latest_status": "active",
                "queue": tuple(item for item in channel.queue if item.session_id != event.session_id),
            }
        case MessageQueued():
            waiting = Waiting(session_id=event.session_id, opening=event.opening, sender=event.sender, queued_at=at)
            return _heard(event, at) | {
                "origin": event.opening.origin,
                "queue": (*channel.queue, waiting),
                "answer": {
                    "action": "queued",
                    "queued": True,
                    "pending": event.pending,
                    "reason": "busy",
                    "sessionId": event.session_id,
                },
            }
        case MessageRejected():
            return {"answer": {"action": "rejected", "reason": event.reason, "sessionId": event.session_id}}
        case MessageUnclear():
            return {"answer": {"action": "unclear", "suggestions": list(event.suggestions)}}
        case ContinueWanted():
            return {
                "busy": channel.busy or event.session_id,
                "answer": {"action": "started", "continued": True, "sessionId": event.session_id},
            }
        case ResetWanted():
            return {"answer": {"action": "started", "reset": True, "sessionId": event.session_id}}
        case SessionNoted():
            return _noted(channel, event)
        case _:
            return {}


def _heard(event: MessageStarted | MessageQueued, at: int) -> dict[str, object]:
    return {"last_opening": event.opening, "last_at": at, "last_session": event.session_id}


def _noted(channel: Channel, event: SessionNoted) -> dict[str, object]:
    busy, held = channel.busy, channel.busy == event.session_id
    if event.status == "active" and event.claims:
        busy = event.session_id
    elif event.status != "active" and held:
        busy = None
    paused = tuple(name for name in channel.paused if name != event.session_id and name not in event.clears)
    newest = {"latest": event.session_id, "latest_status": event.status}
    known = newest if event.status == "active" or event.session_id == channel.latest else {}
    return known | {
        "origin": event.origin,
        "busy": busy,
        "paused": (*paused, event.session_id) if held and event.status in PAUSED else paused,
    }


def current(channel: Channel) -> tuple[str | None, str]:
    """The run that a word to continue or reset is about, and its status: the latest; after one that has ended, the
    newest that still waits.
    """
    waiting = resumable(channel)
    if not channel.busy and channel.latest_status not in PAUSED and waiting:
        return waiting[-1], PAUSED[0]
    return channel.latest, channel.latest_status


def resumable(channel: Channel) -> tuple[str, ...]:
    """The runs whose agents' conversations are kept: those that held the origin, and the latest."""
    latest = (channel.latest,) if channel.latest is not None and channel.latest_status in PAUSED else ()
    return tuple(dict.fromkeys((*channel.paused, *latest)))
