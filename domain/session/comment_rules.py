"""The rules for comments: who may remark what on a result, and who may say what has become of it."""

from typing import TypeVar

from domain.session.comments import (
    MOST_COMMENTS,
    AddComment,
    ChangeComment,
    Comment,
    CommentChanged,
    CommentMade,
)
from domain.session.decision import Events, Now
from domain.session.state import Session
from domain.values.base import Forbidden, Refused, Unknown, iso
from domain.values.sentences import Sentence

S = TypeVar("S", bound=Session)


def add_comment(now: Now[S], command: AddComment) -> Events:
    """Whatever the status of the session, a person may comment on what it has made, as one of its commits has it."""
    state = now.state
    if not state.takes_comments:
        raise now.refusal(command.REFUSAL)
    if command.head is not None and command.head not in state.commits:
        raise Refused(other_commit(state, command.head), allowed=now.allowed())
    if len(state.comments) >= MOST_COMMENTS:
        raise Refused(Sentence("too_many_comments", number=MOST_COMMENTS), allowed=now.allowed())
    yield CommentMade(
        comment_id=state.comments.next_id,
        text=command.text,
        path=command.path,
        line=command.line,
        end_line=command.end_line,
        side=command.side,
        quote=command.quote,
        head=command.head,
        by=command.actor,
        at=iso(now.at),
    )


def other_commit(state: Session, head: str) -> Sentence:
    """Says that a commit is not one of the session's."""
    return Sentence("comment_on_another_commit", id=state.id, commit=head[:10])


def change_comment(now: Now[S], command: ChangeComment) -> Events:
    """A person settles a comment, takes back what they said, or insists with a reason."""
    state = now.state
    if not state.takes_comments:
        raise now.refusal(command.REFUSAL)
    comment = state.comments.by_id.get(command.comment_id)
    if comment is None:
        raise Unknown(Sentence("session_has_no_comment", id=state.id, given=command.comment_id))
    _check(now, command, comment)
    yield CommentChanged(
        comment_id=comment.comment_id,
        status=command.status,
        reason=command.reason,
        by=command.actor,
        at=iso(now.at),
    )


def _check(now: Now[S], command: ChangeComment, comment: Comment) -> None:
    """Only its author takes a comment back, for good; only with a reason does somebody insist."""
    if command.status == "withdrawn" and command.actor != comment.by:
        raise Forbidden(Sentence("comment_of_another", comment=comment.comment_id))
    if comment.status == "withdrawn":
        raise Refused(Sentence("comment_was_withdrawn", comment=comment.comment_id), allowed=now.allowed())
    if comment.status == command.status:
        code = f"comment_already_{command.status}"
        raise Refused(Sentence(code, comment=comment.comment_id), allowed=now.allowed())
    if command.status == "open" and not command.reason.strip():
        raise Refused(Sentence("insists_without_reason"), allowed=now.allowed())
