"""What a channel answers to a command: events, or a refusal."""

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
from domain.channel.state import PAUSED, Channel, current, resumable
from domain.orchestration.decide import NOTHING_TO_CONTINUE, NOTHING_TO_RESET
from domain.session.draft import Draft
from domain.triage import intent, nearly
from domain.values.base import Command, Refused

QUEUE = 100
"""So many messages wait at the most."""


def decide(draft: Draft[Channel], command: Command) -> None:
    match command:
        case ReceiveMessage():
            _receive(draft, command)
        case ContinueLatest():
            _continue(draft)
        case ResetLatest():
            _reset(draft, command)
        case NoteSession():
            _note(draft, command)
        case _:
            raise Refused("A channel takes messages, and words to continue or to reset; nothing else.")


def allowed_actions(_: Channel) -> tuple[str, ...]:
    return ()


def _receive(draft: Draft[Channel], command: ReceiveMessage) -> None:
    """Continue and reset by whole phrases only, and only where there is something to continue or reset (K-1, K-6).

    What is nearly such a phrase is asked about while a run waits or runs (contract §13).
    """
    channel, text = draft.before, command.opening.prompt
    meant = intent(text)
    latest, status = current(channel) if channel else (None, "")
    if meant == "reset":
        if latest is None or status in ("done", "reset"):
            return draft.record(MessageRejected(message=NOTHING_TO_RESET, reason="nothing_to_reset", text=text))
        return draft.record(ResetWanted(message=text, session_id=latest, reason=text))
    if meant == "continue" and latest is not None and status in PAUSED:
        return draft.record(ContinueWanted(message=text, session_id=latest))
    if meant == "continue" and channel and channel.busy:
        return draft.record(MessageRejected(message="The run is busy.", reason="busy", text=text))
    suggestions = nearly(text) if channel and (channel.busy or status in PAUSED) else ()
    if suggestions:
        return draft.record(
            MessageUnclear(message="The message may mean several things.", text=text, suggestions=suggestions)
        )
    if channel and channel.has_heard(command.opening, draft.at):
        first = channel.last_session
        return draft.record(
            MessageRejected(message="The same words came just now.", reason="duplicate", text=text, session_id=first)
        )
    if channel and (channel.busy or channel.queue):
        return _queue(draft, channel, command)
    return draft.record(
        MessageStarted(
            message="A message came in.", session_id=command.session_id, opening=command.opening, sender=command.sender
        )
    )


def _continue(draft: Draft[Channel]) -> None:
    latest, _ = current(draft.before) if draft.before else (None, "")
    if latest is None:
        raise Refused(NOTHING_TO_CONTINUE)
    draft.record(ContinueWanted(message=TO_GO_ON, session_id=latest))


def _reset(draft: Draft[Channel], command: ResetLatest) -> None:
    latest, _ = current(draft.before) if draft.before else (None, "")
    if latest is None:
        raise Refused(NOTHING_TO_RESET)
    draft.record(ResetWanted(message=TO_END, session_id=latest, reason=command.reason))


def _queue(draft: Draft[Channel], channel: Channel, command: ReceiveMessage) -> None:
    if len(channel.queue) >= QUEUE:
        return draft.record(
            MessageRejected(message="Too many messages wait.", reason="queue_full", text=command.opening.prompt)
        )
    return draft.record(
        MessageQueued(
            message="A message waits.",
            session_id=command.session_id,
            opening=command.opening,
            sender=command.sender,
            pending=len(channel.queue) + 1,
        )
    )


def _note(draft: Draft[Channel], command: NoteSession) -> None:
    """Follow a session; a second one may not claim an origin that is busy. What waited goes on when it is free.

    A new request that holds the origin begins clean: nobody resumes what was paused before (S1 §2, K-10). A direct
    answer leaves it alone (contract §13).
    """
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
            clears=_cleared(channel, command),
            direct=command.direct,
        )
    )
    channel = draft.session
    if channel.busy is None and channel.queue and command.status != "active":
        head = channel.queue[0]
        draft.record(
            MessageStarted(
                message="A message that waited goes on.",
                session_id=head.session_id,
                opening=head.opening,
                sender=head.sender,
                queued=True,
            )
        )


def _cleared(channel: Channel | None, command: NoteSession) -> tuple[str, ...]:
    if (
        channel is None
        or not command.opens
        or command.direct
        or not (command.claims or channel.busy == command.session_id)
    ):
        return ()
    return tuple(name for name in resumable(channel) if name != command.session_id)
