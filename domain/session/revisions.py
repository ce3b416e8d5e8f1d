"""Change requests: a person looks at a result, says what has to change, and the same session goes on."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from domain.session.comments import AddComment, CommentMade, comment_command
from domain.values.base import Command, Count, DomainEvent, Text
from domain.values.budget import Iterations, Minutes

REVISION_ITERATIONS: Final = 2
REVISION_MINUTES: Final = 15
"""What a revision of a finished delivery adds to its budget, unless the person says otherwise."""
REVISION: Final = "revision"
"""The place of a prompt for the open revisions. A request names them by their ids."""

RevisionStatus = Literal["queued", "delivered", "done"]
"""No agent has it yet; an agent has it; the session has come to its end with it."""


class RevisionRequested(DomainEvent):
    """A person asked for changes to the result. A session that had finished goes on; a running one takes it up with its
    next turn that writes."""

    TOPIC: ClassVar[str] = "session.revision_requested"
    revision_id: str
    text: Text = Field(default=Text(), description="the person's words")
    comments: tuple[str, ...] = Field(default=(), description="the comments that belong to it")
    by: str = Field(default="", description="who asked")
    head: str | None = Field(default=None, description="the commit of the result that it is about, if there is one")
    add_iterations: Count = Field(default=0, description="iterations that it adds to a delivery's budget")
    add_minutes: Count = Field(default=0, description="minutes that it adds to a delivery's budget")
    add_rounds: Count = Field(default=0, description="rounds that it adds to an orchestration")


class Revision(NamedTuple):
    """A person's change request, made `at` that time (milliseconds), and what became of it."""

    revision_id: str
    text: Text
    comments: tuple[str, ...]
    by: str
    at: int
    status: RevisionStatus = "queued"


class ReviseSession(Command):
    """A person wants changes to the result: words, comments, or both."""

    REFUSAL: ClassVar[str] = "cannot_be_revised"
    ACTION: ClassVar[str] = "revise"
    text: Text = Text()
    comments: tuple[str, ...] | None = Field(default=None, description="comments by their ids; null for the open ones")
    remarks: tuple[AddComment, ...] = Field(default=(), description="comments that are made with it")
    actor: str = ""
    add_iterations: Iterations | None = None
    add_minutes: Minutes | None = None
    add_rounds: int | None = Field(default=None, ge=1)


EVENTS: tuple[type[DomainEvent], ...] = (RevisionRequested,)


def revise_command(events: Sequence[DomainEvent]) -> ReviseSession | None:
    """The command that led to these events; None if it was another one. Its comments are made before it."""
    made = list(takewhile(lambda event: isinstance(event, CommentMade), events))
    event = next(iter(events[len(made) :]), None)
    if not isinstance(event, RevisionRequested):
        return None
    remarks = tuple(comment_command(each) for each in made if isinstance(each, CommentMade))
    return ReviseSession(
        text=event.text,
        comments=event.comments[: len(event.comments) - len(remarks)],
        remarks=remarks,
        actor=event.by,
        add_iterations=event.add_iterations or None,
        add_minutes=event.add_minutes or None,
        add_rounds=event.add_rounds or None,
    )


def delivered(revisions: tuple[Revision, ...], ids: str) -> tuple[Revision, ...]:
    """The revisions, where an agent is given those with these ids."""
    names = ids.split(",")
    return tuple(
        each._replace(status="delivered") if each.status == "queued" and each.revision_id in names else each
        for each in revisions
    )


def named_in(revisions: Iterable[Revision], ids: str) -> tuple[Revision, ...]:
    """The revisions with these ids, which a prompt's place names."""
    names = ids.split(",")
    return tuple(each for each in revisions if each.revision_id in names)


def concluded(revisions: tuple[Revision, ...]) -> tuple[Revision, ...]:
    """The revisions, where the session has come to its end with those that were delivered."""
    return tuple(each._replace(status="done") if each.status == "delivered" else each for each in revisions)


def to_write(revisions: Iterable[Revision]) -> dict[str, str | Text]:
    """The place of a prompt for an agent that writes: every revision with which the session has not come to its end."""
    return _place(each.revision_id for each in revisions if each.status != "done")


def to_judge(revisions: Iterable[Revision]) -> dict[str, str | Text]:
    """The same for an agent that judges: those that an agent has been given to work on."""
    return _place(each.revision_id for each in revisions if each.status == "delivered")


def _place(ids: Iterable[str]) -> dict[str, str | Text]:
    names = ",".join(ids)
    return {REVISION: names} if names else {}
