"""The way back from recorded events to the commands that led to them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby, takewhile
from typing import Any

from domain.session.activity import ActivityRecorded
from domain.session.attendance import SessionUnattended, absence_command
from domain.session.children import ChildClosed, CloseChild
from domain.session.comments import ChangeComment, CommentChanged, CommentMade, comment_command, touched_by
from domain.session.forks import (
    RECAST,
    Diverge,
    ForkSession,
    Release,
    SessionDiverged,
    SessionForked,
    SessionReleased,
)
from domain.session.permissions import (
    DecidePermission,
    PermissionDecided,
    PermissionRequested,
    PermissionWithdrawn,
    RequestPermission,
    WithdrawPermissions,
)
from domain.session.record import Recorded
from domain.session.redaction import RedactText, TextRedacted
from domain.session.revisions import RevisionRequested, revise_command
from domain.session.state import Session
from domain.session.turns import (
    ExpireTurn,
    RecordReply,
    RetryTurn,
    TurnAnswered,
    TurnAttemptFailed,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
    TurnRetried,
)
from domain.values.base import Blob, Command, DomainEvent, Text

Whole = Callable[[Text], str]
"""Finds the whole text for a digest."""


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """The recorded events of one command, in order."""

    recorded: tuple[Recorded, ...]

    @property
    def events(self) -> tuple[DomainEvent, ...]:
        return tuple(recorded.event for recorded in self.recorded)

    @property
    def activity(self) -> ActivityRecorded | None:
        """Returns what the attempt that this command ends had done; it is recorded first."""
        first = self.recorded[0].event
        return first if isinstance(first, ActivityRecorded) else None

    @property
    def tail(self) -> "RecordedCommand | None":
        """The part after the first event, if any, without the questions that a fork asks other agents instead."""
        rest = tuple(takewhile(lambda recorded: not _is_recast(recorded.event), self.recorded[1:]))
        return RecordedCommand(rest) if rest else None


def commands_in(history: Sequence[Recorded]) -> Iterator[RecordedCommand]:
    """A session's history, split into commands."""
    for _, group in groupby(history, key=mark):
        yield RecordedCommand(tuple(group))


def mark(recorded: Recorded) -> tuple[str, str, int]:
    """Returns what the events of one command have in common; another session may have had a command with the same id
    before."""
    return recorded.causation.command_id, recorded.causation.causation_id, recorded.at


def fork_command(events: Sequence[DomainEvent], then: Command | None) -> Command | None:
    """The command about the fork itself that led to these events; `then` is what was decided together with it."""
    match events[0]:
        case SessionForked() as event:
            return ForkSession(
                source=event.source,
                at_version=event.source_version,
                mode=event.mode,
                substitute=event.substitute,
                profile=event.profile,
                author=event.author,
                agents=event.agents,
                models=event.models,
                requests=_asked_instead(events),
                restarts_wait=event.wait is not None,
                then=then,
            )
        case SessionDiverged() as event:
            return Diverge(turn_id=event.turn_id)
        case SessionReleased():
            return Release(requests=tuple(event for event in events if isinstance(event, TurnRequested)))
        case _:
            return None


def _asked_instead(events: Sequence[DomainEvent]) -> tuple[TurnRequested, ...]:
    """The questions that waited in the source for agents whose roles the fork gives to others."""
    rest = tuple(dropwhile(lambda event: not _is_recast(event), events))
    cancelled = [event for event in rest if isinstance(event, TurnCancelled)]
    requested = [event for event in rest if isinstance(event, TurnRequested)]
    return tuple(
        request.model_copy(update={"turn_id": before.turn_id, "agent": before.agent})
        for before, request in zip(cancelled, requested, strict=True)
    )


def _is_recast(event: DomainEvent) -> bool:
    return isinstance(event, TurnCancelled) and event.reason == RECAST


def shared_command(events: Sequence[DomainEvent], session: Session | None) -> Command | None:
    """The command that led to these events, if it is one that every kind of session takes."""
    match events[0]:
        case TurnRetried() as event:
            return RetryTurn(reason=event.reason)
        case RevisionRequested():
            return revise_command(events)
        case TextRedacted() as event:
            return RedactText(digest=event.digest, reason=event.reason, events=event.events)
        case CommentMade() as event:
            return revise_command(events) or comment_command(event)
        case CommentChanged() as event:
            names = ChangeComment.model_fields.keys() - {"blobs", "actor"}
            return ChangeComment(actor=event.by, **{name: getattr(event, name) for name in names})
        case (TurnAnswered() | TurnFailed() | TurnAttemptFailed()) as event if (
            session and session.turn(event.turn_id).work == "ask"
        ):
            return _reply(event, session).changed(touched_comments=touched_by(events))
        case TurnCancelled(reason="deadline" | "expired") as event:
            return ExpireTurn(turn_id=event.turn_id)
        case PermissionRequested() as event:
            names = RequestPermission.model_fields.keys() - {"blobs"}
            return RequestPermission(**{name: getattr(event, name) for name in names})
        case PermissionDecided() as event:
            names = DecidePermission.model_fields.keys() - {"blobs"}
            return DecidePermission(**{name: getattr(event, name) for name in names})
        case PermissionWithdrawn() as event:
            return WithdrawPermissions(turn_id=event.turn_id)
        case SessionUnattended() as event:
            return absence_command(event)
        case ChildClosed() as event:
            names = CloseChild.model_fields.keys() - {"blobs"}
            return CloseChild(**{name: getattr(event, name) for name in names})
        case _:
            return None


def _reply(event: TurnAnswered | TurnFailed | TurnAttemptFailed, session: Session) -> RecordReply:
    fields: dict[str, Any] = {
        "turn_id": event.turn_id,
        "attempt": event.attempt,
        "reply": event.reply,
        "prompt": event.prompt,
        "usage": event.usage,
        "model": event.model,
        "seconds": event.seconds,
        "fence": event.fence,
        "fence_gaps": event.fence_gaps,
        "refused_hosts": event.refused_hosts,
    }
    if isinstance(event, TurnAttemptFailed):
        return RecordReply(failure=event.failure, agent_session=event.agent_session, **fields)
    if isinstance(event, TurnFailed):
        return RecordReply(failure=event.failure, **fields)
    return RecordReply(
        agent_session=event.agent_session,
        resumed=event.resumed,
        new_conversation=event.new_conversation,
        files=event.files,
        patch=event.patch,
        base=session.tree,
        tree=event.tree,
        changes=event.changes,
        reviewed=event.reviewed,
        slot=event.slot,
        **fields,
    )


def reply_blobs(events: Sequence[DomainEvent], whole: Whole) -> Iterator[Blob]:
    """The long texts that came with an answer and that deciding needs in full."""
    for event in events:
        if isinstance(event, TurnAnswered | TurnFailed | TurnAttemptFailed) and event.reply.digest is not None:
            yield Blob(digest=event.reply.digest, content=whole(event.reply))
