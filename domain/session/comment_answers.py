"""The rules for what agents say to comments: what holds of it, and which comments were left as they were.

Comments are asked for by a change request that an agent has been given. Who wrote says what became of them; whether
`fixed` holds is compared with what the turn changed. Who judges may object, and nothing that was left as it was is
approved. Only a person resolves a comment.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeVar

from domain.replies.comments import SCRIPT_WORDS, AnsweredComment, comment_answers, readable_answers
from domain.session.attempts import Failure, unreadable
from domain.session.comments import Comment, CommentAnswered
from domain.session.decision import Events, Now, content
from domain.session.state import Session
from domain.session.turns import RecordReply
from domain.values.base import Unreadable

S = TypeVar("S", bound=Session)
_FOR_PEOPLE: Final = ("resolved", "withdrawn")


def asked_comments(session: Session) -> tuple[Comment, ...]:
    """Returns the comments of the change requests that agents are at work on, in the order in which they were made."""
    names = {name for each in session.revisions if each.status == "delivered" for name in each.comments}
    return tuple(each for each in session.comments.all if each.comment_id in names) if names else ()


def unchanged_comments(session: Session) -> tuple[Comment, ...]:
    """Returns those of them that were left as they were, or whose answer somebody who judges has objected to."""
    return tuple(each for each in asked_comments(session) if each.status == "unchanged")


def illegible_answers(session: Session, command: RecordReply) -> Failure | None:
    """Returns why the answers to comments in a reply cannot be read; None where they can, and where there are none. The
    work counts where they were asked for again and still cannot: comments without an answer are seen to later."""
    if command.failure is not None:
        return command.failure
    turn = session.outstanding.get(command.turn_id)
    try:
        _strict_answers(session, command)
    except Unreadable as problem:
        return unreadable(problem) if turn is None or turn.tries.repaired < session.retry.repairs else None
    return None


def answer_comments(now: Now[S], command: RecordReply) -> Events:
    """Record what the reply says to comments, as far as it holds: `fixed` needs a change of the comment's lines or of
    a path that the answer names. Lines that changed without an answer are fixed, too, and what was fixed stays so until
    it changes again."""
    if command.failure is not None:
        return
    answers = {each.comment_id: each for each in _answers(now.state, command)}
    for comment in _unsettled(now.state):
        answer = answers.get(comment.comment_id)
        if answer and answer.words == SCRIPT_WORDS and comment.comment_id in command.touched_comments:
            answer = None
        if answer and not _is_settled(comment, answer, command):
            event: CommentAnswered | None = _with_words(comment, answer, command)
        else:
            event = _without_words(comment, command)
        if event is not None:
            yield event


def leave_comments(now: Now[S], turn_id: str) -> Events:
    """Record which comments nobody has answered, and nobody's changes have touched, at the latest with this turn."""
    for comment in _unsettled(now.state):
        if comment.status == "open" or (comment.status == "unchanged" and comment.answers[-1].turn_id != turn_id):
            yield CommentAnswered(comment_id=comment.comment_id, turn_id=turn_id, answer="unchanged")


def object_to_answers(now: Now[S], turn_id: str, objections: Iterable[tuple[str, str]]) -> Events:
    """Record that who judges finds comments not dealt with: each by its id, and why. Other ids are about something
    else."""
    words = dict(objections)
    for comment in _unsettled(now.state):
        name = comment.comment_id
        if name in words:
            yield CommentAnswered(comment_id=name, turn_id=turn_id, answer="unchanged", words=words[name])


def left_words(comments: Iterable[Comment]) -> str:
    """Returns what an agent reads about comments that nothing was done about."""
    head = "These comments of a person were left as they were: nothing that they are about changed, and no answer says "
    lines = [f"- {each.comment_id}: {_why_open(each)}" for each in comments]
    return "\n".join([f"{head}why, or the answer does not hold. Deal with each, and answer it:", *lines])


def _why_open(comment: Comment) -> str:
    """Returns what was said about it last, or else the person's own words."""
    return next((each.words for each in reversed(comment.newest_answers) if each.words.strip()), comment.text)


def _answers(session: Session, command: RecordReply) -> tuple[AnsweredComment, ...]:
    """Returns the answers of a reply that counts, those that can be read."""
    try:
        return _strict_answers(session, command)
    except Unreadable:
        return readable_answers(content(command, command.reply), _names(session))


def _strict_answers(session: Session, command: RecordReply) -> tuple[AnsweredComment, ...]:
    names = _names(session)
    return comment_answers(content(command, command.reply), names) if names else ()


def _names(session: Session) -> frozenset[str]:
    return frozenset(each.comment_id for each in asked_comments(session))


def _unsettled(session: Session) -> Iterator[Comment]:
    return (each for each in asked_comments(session) if each.status not in _FOR_PEOPLE)


def _is_settled(comment: Comment, answer: AnsweredComment, command: RecordReply) -> bool:
    """Returns whether the comment was fixed before in the same request, and this turn touched nothing of that: an agent
    with another task has only seen it."""
    if comment.status != "fixed" or answer.answer == "fixed" or comment.path is None:
        return False
    named = {posixpath.normpath(path) for each in comment.newest_answers for path in each.changed_paths}
    return comment.comment_id not in command.touched_comments and named.isdisjoint(command.files)


def _with_words(comment: Comment, answer: AnsweredComment, command: RecordReply) -> CommentAnswered:
    holds = answer.answer != "fixed" or _is_fixed(comment, answer.changed_paths, command)
    kind = answer.answer if holds else "unchanged"
    return CommentAnswered(
        comment_id=comment.comment_id,
        turn_id=command.turn_id,
        answer=kind,
        words=answer.words,
        changed_paths=answer.changed_paths,
    )


def _without_words(comment: Comment, command: RecordReply) -> CommentAnswered | None:
    """Returns that a change settles the comment without a word, unless it is settled already."""
    if comment.comment_id not in command.touched_comments or comment.status == "fixed":
        return None
    return CommentAnswered(comment_id=comment.comment_id, turn_id=command.turn_id, answer="fixed")


def _is_fixed(comment: Comment, named: Collection[str], command: RecordReply) -> bool:
    """Returns whether it has no path, if its lines or a named path changed now, or if they did before in the same
    request."""
    if comment.path is None or comment.status == "fixed":
        return True
    paths = {posixpath.normpath(path) for path in named}
    return comment.comment_id in command.touched_comments or not paths.isdisjoint(command.files)
