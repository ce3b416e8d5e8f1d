"""The commands behind recorded answers of turns, for a replay."""

from collections.abc import Iterator, Sequence
from typing import Any

from domain.session.attendance import SessionUnattended, absence_command
from domain.session.children import ChildClosed, CloseChild
from domain.session.comments import ChangeComment, CommentChanged, CommentMade, comment_command, touched_by
from domain.session.past_commands import Whole
from domain.session.permissions import (
    DecidePermission,
    PermissionDecided,
    PermissionRequested,
    PermissionWithdrawn,
    RequestPermission,
    WithdrawPermissions,
)
from domain.session.redaction import RedactText, TextRedacted
from domain.session.revisions import RevisionRequested, revise_command
from domain.session.state import Session
from domain.session.turns import (
    AttemptEnd,
    ExpireTurn,
    RecordReply,
    RetryTurn,
    TurnAttemptFailed,
    TurnCancelled,
    TurnFailed,
    TurnRetried,
)
from domain.values.base import Blob, Command, DomainEvent


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
        case event if isinstance(event, AttemptEnd) and (session and session.turn(event.turn_id).work == "ask"):
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


def _reply(event: AttemptEnd, session: Session) -> RecordReply:
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
        if isinstance(event, AttemptEnd) and event.reply.digest is not None:
            yield Blob(digest=event.reply.digest, content=whole(event.reply))
