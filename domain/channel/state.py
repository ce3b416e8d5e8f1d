"""The state of a channel, folded from its events."""

from dataclasses import dataclass, field
from typing import Any

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
from domain.session.state import EventMetadata, Session
from domain.values.base import DomainEvent
from domain.values.words import composed

DUPLICATE_MS = 5_000
"""A repeated message within this time counts as a duplicate (behaviour §4)."""
PAUSED = ("checkpoint", "partial")
"""The statuses in which an orchestration can be continued."""

Answer = MessageStarted | MessageQueued | MessageRejected | MessageUnclear | ContinueWanted | ResetWanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A message that waits until the origin is free."""

    session_id: str
    opening: OrchestrationRequest
    sender: str = ""
    queued_at: int


@dataclass(kw_only=True)
class Channel(Session):
    """The state of a channel.

    `busy` is the session that holds the origin now, `paused` are earlier ones whose agents may still be resumed,
    `last_…` describe the newest message that led to a session, and `answer` is the reply to its sender.
    """

    latest: str | None = None
    latest_status: str = ""
    busy: str | None = None
    paused: tuple[str, ...] = ()
    queue: tuple[Waiting, ...] = ()
    last_opening: OrchestrationRequest | None = None
    last_at: int = -DUPLICATE_MS - 1
    last_session: str | None = None
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return "busy" if self.busy else "free"

    @property
    def ended(self) -> bool:
        return False

    @property
    def resumable(self) -> tuple[str, ...]:
        """The runs whose agents' conversations are kept: those that held the origin, and the latest one."""
        latest = (self.latest,) if self.latest is not None and self.latest_status in PAUSED else ()
        return tuple(dict.fromkeys((*self.paused, *latest)))

    @property
    def current(self) -> tuple[str | None, str]:
        """The run that "continue" or "reset" refers to, and its status: the latest run, or if that has ended, the
        newest one that still waits (contract §13)."""
        waiting = self.resumable
        if not self.busy and self.latest_status not in PAUSED and waiting:
            return waiting[-1], PAUSED[0]
        return self.latest, self.latest_status

    def has_heard(self, opening: OrchestrationRequest, at: int) -> bool:
        """Returns whether this repeats the newest message, ignoring how its characters are composed. The same text with
        other agents, or with another scenario, is a different message."""
        last = self.last_opening
        if last is None or at - self.last_at > DUPLICATE_MS:
            return False
        before, now = (words.changed(prompt=composed(words.prompt), follows=None) for words in (last, opening))
        return before == now

    def receipt(self) -> dict[str, object]:
        """The result of the message; the channel's own id and version mean nothing to its sender.

        The version is that of the session that the message started or continued, or 0 if it did neither (yet).
        """
        return {"kind": "orchestration", "sessionId": None, "version": 0} | self.answer


def _answer(answered: Answer) -> dict[str, Any]:
    match answered:
        case MessageStarted():
            return {"action": "started", "sessionId": answered.session_id}
        case MessageQueued():
            waits = {"queued": True, "pending": answered.pending, "reason": "busy"}
            return {"action": "queued", "sessionId": answered.session_id, **waits}
        case MessageRejected():
            return {"action": "rejected", "reason": answered.reason, "sessionId": answered.session_id}
        case MessageUnclear():
            return {"action": "unclear", "suggestions": list(answered.suggestions)}
        case ContinueWanted():
            return {"action": "started", "continued": True, "sessionId": answered.session_id}
        case ResetWanted():
            return {"action": "started", "reset": True, "sessionId": answered.session_id}


def empty(metadata: EventMetadata) -> Channel:
    """A channel before its first event."""
    return Channel(id=metadata.session_id, kind="channel", state="open", created_at=metadata.at, updated_at=metadata.at)


def evolve(channel: Channel | None, event: DomainEvent, metadata: EventMetadata) -> Channel:
    """The channel after one more event."""
    state = (channel or empty(metadata)).next(metadata)
    match event:
        case MessageStarted():
            _started(state, event, metadata.at)
        case MessageQueued():
            state.origin = event.opening.origin
            state.queue = (
                *state.queue,
                Waiting(session_id=event.session_id, opening=event.opening, sender=event.sender, queued_at=metadata.at),
            )
            state.answer = _answer(event)
            _hear(state, event, metadata.at)
        case ContinueWanted():
            state.busy = state.busy or event.session_id
            state.answer = _answer(event)
        case MessageRejected() | MessageUnclear() | ResetWanted():
            state.answer = _answer(event)
        case SessionNoted():
            _noted(state, event)
    return state


def _started(state: Channel, event: MessageStarted, at: int) -> None:
    """A queued message was answered when it arrived."""
    if not event.queued:
        state.answer = _answer(event)
        _hear(state, event, at)
    state.origin = event.opening.origin
    state.paused = state.resumable
    state.busy = state.latest = event.session_id
    state.latest_status = "active"
    state.queue = tuple(item for item in state.queue if item.session_id != event.session_id)


def _hear(state: Channel, event: MessageStarted | MessageQueued, at: int) -> None:
    state.last_opening, state.last_at, state.last_session = event.opening, at, event.session_id


def _noted(state: Channel, event: SessionNoted) -> None:
    held = state.busy == event.session_id
    paused = tuple(name for name in state.paused if name != event.session_id and name not in event.clears)
    state.origin = event.origin
    state.paused = (*paused, event.session_id) if held and event.status in PAUSED else paused
    if event.status == "active" or event.session_id == state.latest:
        state.latest, state.latest_status = event.session_id, event.status
    if event.status == "active" and event.claims:
        state.busy = event.session_id
    elif event.status != "active" and held:
        state.busy = None
