"""The answers of a channel to commands: events, or a refusal."""

from domain.channel.commands import TO_END, TO_GO_ON, ContinueLatest, NoteSession, ReceiveMessage, ResetLatest
from domain.channel.events import (
    ContinueWanted,
    MessageQueued,
    MessageRejected,
    MessageStarted,
    MessageUnclear,
    ResetWanted,
    SessionNoted,
)
from domain.channel.state import PAUSED, Channel, empty
from domain.orchestration.commands import NOTHING_TO_CONTINUE, NOTHING_TO_RESET
from domain.orchestration.events import OrchestrationRequest
from domain.session.decision import Events, Now
from domain.session.state import EventMetadata
from domain.triage import intent, nearly
from domain.values.base import Command, Refused
from domain.values.sentences import Sentence

QUEUE = 100
"""Maximum number of waiting messages."""


def decide(now: Now[Channel], command: Command) -> Events:
    """The event of a message or wish, then the next message that waits. Raises Refused for other commands."""
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

    While a run waits or runs, a message that resembles such a phrase is answered with a question (contract §13). After
    the end of a run it is answered with that: it would start a new run with a word for an old one.
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
    suggestions = nearly(text)
    if suggestions and (channel.busy or status in PAUSED):
        return MessageUnclear(message="The message may mean several things.", text=text, suggestions=suggestions)
    if suggestions and meant is None and channel.latest:
        return MessageRejected(message="Nothing runs.", reason="nothing_runs", text=text)
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
