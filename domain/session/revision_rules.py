"""The rules for change requests that are the same for every kind of session with a result."""

from typing import TypeVar

from domain.session.comment_rules import add_comment
from domain.session.decision import Events, Now
from domain.session.revisions import ReviseSession, RevisionRequested
from domain.session.state import Session
from domain.values.base import Refused
from domain.values.sentences import Sentence

S = TypeVar("S", bound=Session)


def request_revision(
    now: Now[S], command: ReviseSession, *, iterations: int = 0, minutes: int = 0, rounds: int = 0
) -> Events:
    """Record what the person wants: the comments that come with it, then the request, with what it adds to the budget.
    Raises Refused if the chart allows no revision, if there are no words, for a comment that asks for nothing any more,
    and while a landing is at work on the result."""
    state = now.state
    now.next("revise", refusal=command.REFUSAL)
    chosen = _chosen(now, command)
    if not command.text.length and not chosen and not command.remarks:
        raise Refused(Sentence("revision_without_words"), allowed=now.allowed())
    if any(turn.work == "land" for turn in state.outstanding.values()):
        raise now.refusal("is_at_work")
    made: list[str] = []
    for remark in command.remarks:
        made.append(now.state.comments.next_id)
        yield from add_comment(now, remark)
    yield RevisionRequested(
        revision_id=f"{state.id}.r{len(state.revisions) + 1}",
        text=command.text,
        comments=(*chosen, *made),
        by=command.actor,
        head=state.result_head,
        add_iterations=iterations,
        add_minutes=minutes,
        add_rounds=rounds,
    )


def _chosen(now: Now[S], command: ReviseSession) -> tuple[str, ...]:
    """The comments that the person names, or those that are open."""
    comments = now.state.comments
    if command.comments is None:
        return tuple(each.comment_id for each in comments.open)
    for name in command.comments:
        if problem := not_revisable(now.state, name):
            raise Refused(problem, allowed=now.allowed())
    return tuple(dict.fromkeys(command.comments))


def not_revisable(state: Session, name: str) -> Sentence | None:
    """Tells why a comment cannot be part of a change request: it is not there, or it asks for nothing any more."""
    comment = state.comments.by_id.get(name)
    if comment is None:
        return Sentence("session_has_no_comment", id=state.id, given=name)
    if comment.status == "withdrawn":
        return Sentence("comment_was_withdrawn", comment=name)
    return Sentence("comment_already_resolved", comment=name) if comment.status == "resolved" else None
