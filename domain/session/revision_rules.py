"""The rules for change requests that are the same for every kind of session with a result."""

from typing import TypeVar

from domain.session.decision import Now
from domain.session.revisions import ReviseSession, RevisionRequested
from domain.session.state import Session
from domain.values.base import Refused
from domain.values.sentences import Sentence

S = TypeVar("S", bound=Session)


def request_revision(
    now: Now[S], command: ReviseSession, *, iterations: int = 0, minutes: int = 0, rounds: int = 0
) -> RevisionRequested:
    """Record what the person wants, with what it adds to the budget. Raises Refused if the chart allows no revision,
    if there are no words, and while a landing is at work on the result."""
    state = now.state
    now.next("revise", refusal=command.REFUSAL)
    if not command.text.length and not command.comments:
        raise Refused(Sentence("revision_without_words"), allowed=now.allowed())
    if any(turn.work == "land" for turn in state.outstanding.values()):
        raise now.refusal("is_at_work")
    return RevisionRequested(
        revision_id=f"{state.id}.r{len(state.revisions) + 1}",
        text=command.text,
        comments=command.comments,
        by=command.actor,
        head=state.result_head,
        add_iterations=iterations,
        add_minutes=minutes,
        add_rounds=rounds,
    )
