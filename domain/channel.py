"""A channel: what comes in from one origin, in order, one orchestration at a time (behaviour §1.2, K-6, K-17).

It decides what a message means (continue, reset, a new request), queues what comes while a run is busy, and knows the
latest run of its origin. What follows from its decisions for the sessions themselves says `domain/policy.py`.
"""

import hashlib
from typing import ClassVar

from pydantic import Field

from domain.base import Command, DomainEvent, Refused, Value
from domain.orchestration.events import Opening
from domain.session import Draft, Moment, Session
from domain.triage import intent

DUPLICATE_MS = 5_000
"""The same words within so long are one message that was sent twice (behaviour §4)."""
QUEUE = 100


def channel_id(origin: str) -> str:
    """The stream of an origin."""
    return f"channel-{hashlib.sha256(origin.encode()).hexdigest()[:20]}"


# -- commands ------------------------------------------------------------------------------------------------------


class ReceiveMessage(Command):
    """A message; `session_id` is the id that a session it starts will have."""

    session_id: str
    opening: Opening


class NoteSession(Command):
    """An orchestration of this origin has come to a status; `claims` when it takes the origin for itself."""

    session_id: str
    origin: str
    status: str
    claims: bool = False


# -- events --------------------------------------------------------------------------------------------------------


class Waiting(Value):
    """A message that waits for its turn."""

    session_id: str
    opening: Opening


class ChannelEvent(DomainEvent):
    message: str = ""
    role: str = "supervisor"


class MessageStarted(ChannelEvent):
    """A message becomes a new session; `clears` is the run whose agents' conversations end with it."""

    TOPIC: ClassVar[str] = "channel.message_started"
    session_id: str
    opening: Opening
    clears: str | None = None
    queued: bool = Field(default=False, description="whether it had waited")


class MessageQueued(ChannelEvent):
    """A message waits, because a run of its origin is busy."""

    TOPIC: ClassVar[str] = "channel.message_queued"
    session_id: str
    opening: Opening
    pending: int


class MessageRejected(ChannelEvent):
    """A message that leads to nothing, and why."""

    TOPIC: ClassVar[str] = "channel.message_rejected"
    reason: str
    text: str = ""


class ContinueWanted(ChannelEvent):
    """A message asked to go on with the latest run."""

    TOPIC: ClassVar[str] = "channel.continue_wanted"
    session_id: str


class ResetWanted(ChannelEvent):
    """A message asked to reset the latest run."""

    TOPIC: ClassVar[str] = "channel.reset_wanted"
    session_id: str


class SessionNoted(ChannelEvent):
    """What the channel knows of its sessions changed."""

    TOPIC: ClassVar[str] = "channel.session_noted"
    session_id: str
    origin: str
    status: str
    claims: bool = False


EVENTS: tuple[type[DomainEvent], ...] = (
    MessageStarted,
    MessageQueued,
    MessageRejected,
    ContinueWanted,
    ResetWanted,
    SessionNoted,
)


# -- state ---------------------------------------------------------------------------------------------------------


class Channel(Session):
    """The state of a channel. `busy` is the session that holds the origin now."""

    latest: str | None = None
    latest_status: str = ""
    busy: str | None = None
    queue: tuple[Waiting, ...] = ()
    last_text: str = ""
    last_at: int = -DUPLICATE_MS - 1
    answer: dict[str, object] = {}

    @property
    def status(self) -> str:
        return "busy" if self.busy else "free"

    @property
    def ended(self) -> bool:
        return False

    def receipt(self) -> dict[str, object]:
        """What became of the message; the channel's own id and version say nothing to whoever sent it."""
        return {"kind": "orchestration", "sessionId": None, "version": None} | self.answer


def evolve(channel: Channel | None, event: DomainEvent, moment: Moment) -> Channel:
    before = channel or Channel(
        id=moment.session_id, kind="channel", state="open", created_at=moment.at, updated_at=moment.at
    )
    return before.stamped(moment.at, **_changes(before, event, moment.at))


def _changes(channel: Channel, event: DomainEvent, at: int) -> dict[str, object]:
    match event:
        case MessageStarted():
            heard = {} if event.queued else {"last_text": event.opening.prompt, "last_at": at}
            return heard | {
                "origin": event.opening.origin,
                "busy": event.session_id,
                "latest": event.session_id,
                "latest_status": "active",
                "queue": tuple(item for item in channel.queue if item.session_id != event.session_id),
                "answer": {"action": "started", "sessionId": event.session_id},
            }
        case MessageQueued():
            return {
                "queue": (*channel.queue, Waiting(session_id=event.session_id, opening=event.opening)),
                "last_text": event.opening.prompt,
                "last_at": at,
                "answer": {
                    "action": "queued",
                    "queued": True,
                    "pending": event.pending,
                    "reason": "busy",
                    "sessionId": event.session_id,
                },
            }
        case MessageRejected():
            return {"answer": {"action": "rejected", "reason": event.reason}}
        case ContinueWanted():
            return {"answer": {"action": "started", "continued": True, "sessionId": event.session_id}}
        case ResetWanted():
            return {"answer": {"action": "started", "reset": True, "sessionId": event.session_id}}
        case SessionNoted():
            return _noted(channel, event)
        case _:
            return {}


def _noted(channel: Channel, event: SessionNoted) -> dict[str, object]:
    busy = channel.busy
    if event.status == "active" and event.claims:
        busy = event.session_id
    elif event.status != "active" and busy == event.session_id:
        busy = None
    newest = {"latest": event.session_id, "latest_status": event.status}
    known = newest if event.status == "active" or event.session_id == channel.latest else {}
    return known | {"origin": event.origin, "busy": busy}


# -- deciding ------------------------------------------------------------------------------------------------------


def decide(draft: Draft[Channel], command: Command) -> None:
    match command:
        case ReceiveMessage():
            _receive(draft, command)
        case NoteSession():
            _note(draft, command)
        case _:
            raise Refused(f"A channel does not know the command {type(command).__name__}.")


def available(_: Channel) -> tuple[str, ...]:
    return ()


def _receive(draft: Draft[Channel], command: ReceiveMessage) -> None:
    """Continue and reset by whole phrases only, and only where there is something to continue or reset (K-1, K-6)."""
    channel, text = draft.before, command.opening.prompt
    meant = intent(text)
    latest = channel.latest if channel else None
    status = channel.latest_status if channel else ""
    if meant == "reset":
        if latest is None or status in ("done", "reset"):
            return draft.record(
                MessageRejected(message="리셋할 worklog가 없습니다.", reason="nothing_to_reset", text=text)
            )
        return draft.record(ResetWanted(message=text, session_id=latest))
    if meant == "continue" and latest is not None and status in ("checkpoint", "partial"):
        return draft.record(ContinueWanted(message=text, session_id=latest))
    if meant == "continue" and channel and channel.busy:
        return draft.record(MessageRejected(message="The run is busy.", reason="busy", text=text))
    if channel and channel.last_text == text and draft.at - channel.last_at <= DUPLICATE_MS:
        return draft.record(MessageRejected(message="The same words came just now.", reason="duplicate", text=text))
    if channel and (channel.busy or channel.queue):
        return _queue(draft, channel, command)
    clears = latest if status in ("checkpoint", "partial") else None
    return draft.record(
        MessageStarted(message=text, session_id=command.session_id, opening=command.opening, clears=clears)
    )


def _queue(draft: Draft[Channel], channel: Channel, command: ReceiveMessage) -> None:
    if len(channel.queue) >= QUEUE:
        return draft.record(
            MessageRejected(message="Too many messages wait.", reason="queue_full", text=command.opening.prompt)
        )
    return draft.record(
        MessageQueued(
            message=command.opening.prompt,
            session_id=command.session_id,
            opening=command.opening,
            pending=len(channel.queue) + 1,
        )
    )


def _note(draft: Draft[Channel], command: NoteSession) -> None:
    """Follow a session; a second one may not claim an origin that is busy. What waited goes on when it is free."""
    channel = draft.before
    if command.claims and channel and channel.busy not in (None, command.session_id):
        raise Refused(f"Origin {command.origin!r} is busy with session {channel.busy}.", allowed=("cancel", "reset"))
    draft.record(
        SessionNoted(
            message=f"{command.session_id} is {command.status}.",
            session_id=command.session_id,
            origin=command.origin,
            status=command.status,
            claims=command.claims,
        )
    )
    channel = draft.session
    if channel.busy is None and channel.queue and command.status in ("done", "reset", "checkpoint", "partial"):
        head = channel.queue[0]
        clears = channel.latest if channel.latest_status in ("checkpoint", "partial") else None
        draft.record(
            MessageStarted(
                message=head.opening.prompt,
                session_id=head.session_id,
                opening=head.opening,
                clears=clears,
                queued=True,
            )
        )
