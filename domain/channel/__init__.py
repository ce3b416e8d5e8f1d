"""A channel: the messages of one origin, in order, one orchestration at a time (behaviour §1.2, K-6, K-17).

It decides what a message means (continue, reset, a new request), queues messages while a run is busy, and knows the
latest run of its origin. `domain/policy.py` maps its decisions to commands for the sessions themselves.
"""

import hashlib

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
from domain.channel.state import PAUSED, Channel, Waiting, empty, evolve
from domain.orchestration.commands import NOTHING_TO_CONTINUE, NOTHING_TO_RESET
from domain.orchestration.events import OrchestrationRequest
from domain.session.decision import Events, Now
from domain.session.record import RecordedCommand
from domain.session.state import EventMetadata
from domain.triage import intent, nearly
from domain.values.base import Command, Refused
from domain.values.sentences import Sentence

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


# -- decisions ---------------------------------------------------------------------------------------------------------


QUEUE = 100
"""Maximum number of waiting messages."""


def decide(now: Now[Channel], command: Command) -> Events:
    channel = now.state if now.begun else empty(EventMetadata(now.id, now.at))
    match command:
        case ReceiveMessage():
            yield receive(channel, command, now.at)
        case ContinueLatest():
            yield continue_latest(channel)
        case ResetLatest():
            yield reset_latest(channel, command)
        case NoteSession():
            yield note(channel, command)
            yield from start_next(now.state, command)
        case _:
            raise Refused(Sentence("channel_takes_messages"))


def allowed_actions(_: Channel) -> tuple[str, ...]:
    return ()


Received = MessageStarted | MessageQueued | MessageRejected | MessageUnclear | ContinueWanted | ResetWanted


def receive(channel: Channel, command: ReceiveMessage, at: int) -> Received:
    """Continue and reset: only whole phrases count, and only if there is something to continue or reset (K-1, K-6).

    While a run waits or runs, a message that resembles such a phrase is answered with a question (contract §13).
    """
    text = command.opening.prompt
    meant = intent(text)
    run, status = channel.current
    if meant == "reset":
        if run is None or status in ("done", "reset"):
            return MessageRejected(message=NOTHING_TO_RESET, reason="nothing_to_reset", text=text)
        return ResetWanted(message=text, session_id=run, reason=text)
    if meant == "continue" and run is not None and status in PAUSED:
        return ContinueWanted(message=text, session_id=run)
    if meant == "continue" and channel.busy:
        return MessageRejected(message="The run is busy.", reason="busy", text=text)
    suggestions = nearly(text) if channel.busy or status in PAUSED else ()
    if suggestions:
        return MessageUnclear(message="The message may mean several things.", text=text, suggestions=suggestions)
    return request(channel, command, at)


def request(channel: Channel, command: ReceiveMessage, at: int) -> MessageStarted | MessageQueued | MessageRejected:
    """A message with a new request: it starts a run, waits, or has no effect."""
    opening = command.opening
    if channel.has_heard(opening, at):
        sentence, first = "The same words came just now.", channel.last_session
        return MessageRejected(message=sentence, reason="duplicate", text=opening.prompt, session_id=first)
    if not channel.busy and not channel.queue:
        return MessageStarted(
            message="A message came in.",
            session_id=command.session_id,
            opening=in_conversation(channel, opening),
            sender=command.sender,
        )
    if len(channel.queue) >= QUEUE:
        return MessageRejected(message="Too many messages wait.", reason="queue_full", text=opening.prompt)
    return MessageQueued(
        message="A message waits.",
        session_id=command.session_id,
        opening=opening,
        sender=command.sender,
        pending=len(channel.queue) + 1,
    )


def in_conversation(channel: Channel, opening: OrchestrationRequest) -> OrchestrationRequest:
    """A message builds on the session before it. In old logs, the first event names no predecessor."""
    return opening if opening.follows is None else opening.changed(follows=channel.latest or "")


def continue_latest(channel: Channel) -> ContinueWanted:
    run, _ = channel.current
    if run is None:
        raise Refused(NOTHING_TO_CONTINUE)
    return ContinueWanted(message=TO_GO_ON, session_id=run)


def reset_latest(channel: Channel, command: ResetLatest) -> ResetWanted:
    run, _ = channel.current
    if run is None:
        raise Refused(NOTHING_TO_RESET)
    return ResetWanted(message=TO_END, session_id=run, reason=command.reason)


def note(channel: Channel, command: NoteSession) -> SessionNoted:
    """Follow a session; a second session may not claim an origin that is busy."""
    if command.claims and channel.busy not in (None, command.session_id):
        raise Refused(Sentence("origin_busy", origin=command.origin, session=channel.busy), allowed=("cancel", "reset"))
    return SessionNoted(
        message=f"{command.session_id} is {command.status}.",
        session_id=command.session_id,
        origin=command.origin,
        status=command.status,
        claims=command.claims,
        clears=cleared(channel, command),
        direct=command.direct,
    )


def cleared(channel: Channel, command: NoteSession) -> tuple[str, ...]:
    """A new request that takes the origin starts clean: runs that were paused before it are not resumed (S1 §2, K-10).
    A direct answer does not affect them (contract §13)."""
    if not command.opens or command.direct:
        return ()
    if not command.claims and channel.busy != command.session_id:
        return ()
    return tuple(name for name in channel.resumable if name != command.session_id)


def start_next(channel: Channel, command: NoteSession) -> Events:
    """Start the message that has waited longest, once the origin is free."""
    if channel.busy is not None or not channel.queue or command.status == "active":
        return
    head = channel.queue[0]
    yield MessageStarted(
        message="A waiting message continues.",
        session_id=head.session_id,
        opening=in_conversation(channel, head.opening),
        sender=head.sender,
        queued=True,
    )


def channel_id(origin: str) -> str:
    """The name of the stream of an origin."""
    return f"channel-{hashlib.sha256(origin.encode()).hexdigest()[:20]}"
