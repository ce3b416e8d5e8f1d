"""Comments: what a person remarks on a result, and what has become of each (contract-3 §18).

The lines that a comment quotes are those of the commit that the person saw. Its words are the person's for good.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, Self

from pydantic import Field

from domain.values.base import Command, DomainEvent, Value

CommentSide = Literal["new", "old"]
CommentAnswerKind = Literal["fixed", "declined", "answered", "unchanged"]
ChosenStatus = Literal["resolved", "withdrawn", "open"]
"""The statuses that a person gives."""
CommentStatus = Literal[ChosenStatus, CommentAnswerKind]

MOST_COMMENTS: Final = 1_000
"""How many comments a session takes."""
LONGEST_COMMENT: Final = 16_000
LONGEST_PATH: Final = 4_096
MOST_QUOTED: Final = 200
"""How many lines a comment is about at most."""
LONGEST_QUOTED: Final = 1_000
"""Characters of a quoted line; the rest is cut off."""


class CommentMade(DomainEvent):
    """A person has remarked something on the result, on lines of it, or on a file."""

    TOPIC: ClassVar[str] = "session.commented"
    comment_id: str
    text: str = Field(description="the person's words")
    path: str | None = Field(default=None, description="the file; null if it is about the whole")
    line: int | None = Field(default=None, description="the first of the lines, from 1; null if it is about the file")
    end_line: int | None = Field(default=None, description="the last of the lines")
    side: CommentSide = Field(default="new", description="whether the lines are those of the result or of its base")
    quote: tuple[str, ...] = Field(default=(), description="the lines, as they were in the commit")
    head: str | None = Field(default=None, description="the result that the person saw; null before there is one")
    by: str = Field(description="who said it")
    at: str


class CommentChanged(DomainEvent):
    """A person has settled a comment, taken it back, or insists on it."""

    TOPIC: ClassVar[str] = "session.comment_changed"
    comment_id: str
    status: ChosenStatus
    reason: str = Field(default="", description="the person's words; with `open`, why it is not settled")
    by: str
    at: str


class CommentAnswered(DomainEvent):
    """An agent has dealt with a comment, or has left it as it was. Whether `fixed` holds was compared with what the
    turn changed."""

    TOPIC: ClassVar[str] = "session.comment_answered"
    comment_id: str
    turn_id: str = Field(description="the turn that answered, or that left it as it was; or a judgement that objects")
    answer: CommentAnswerKind
    words: str = Field(default="", description="the agent's words")
    changed_paths: tuple[str, ...] = Field(
        default=(), alias="changed", description="the paths that it changed because of the comment, as it says"
    )


EVENTS: tuple[type[DomainEvent], ...] = (CommentMade, CommentChanged, CommentAnswered)


class AddComment(Command):
    """A person remarks something. `quote` was read from the commit, never sent."""

    REFUSAL: ClassVar[str] = "has_no_result_to_comment_on"
    text: str = Field(min_length=1, max_length=LONGEST_COMMENT)
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    side: CommentSide = "new"
    quote: tuple[str, ...] = ()
    head: str | None = None
    actor: str


class ChangeComment(Command):
    """A person says what has become of a comment."""

    REFUSAL: ClassVar[str] = "has_no_result_to_comment_on"
    comment_id: str
    status: ChosenStatus
    reason: str = Field(default="", max_length=2_000)
    actor: str


def comment_command(event: CommentMade) -> AddComment:
    """The command that led to this event."""
    names = AddComment.model_fields.keys() - {"blobs", "actor"}
    return AddComment(actor=event.by, **{name: getattr(event, name) for name in names})


def touched_by(events: Sequence[DomainEvent]) -> tuple[str, ...]:
    """Returns the comments whose lines a turn has changed, as far as it mattered for what was recorded with its end."""
    return tuple(each.comment_id for each in events if isinstance(each, CommentAnswered) and each.answer != "unchanged")


class CommentAnswer(Value):
    """What an agent says to a comment."""

    turn_id: str
    answer: CommentAnswerKind
    words: str = ""
    changed_paths: tuple[str, ...] = Field(
        default=(), alias="changed", description="the paths that it changed because of it"
    )


class CommentChange(Value):
    """The newest change that a person made to the status of a comment, and why."""

    status: ChosenStatus
    reason: str
    by: str
    at: str


class Comment(Value):
    """A comment as it stands."""

    comment_id: str
    text: str
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    side: CommentSide = "new"
    quote: tuple[str, ...] = ()
    head: str | None = None
    by: str
    at: str
    status: CommentStatus = "open"
    answers: tuple[CommentAnswer, ...] = ()
    earlier_answers: int = Field(default=0, description="how many answers came before it was asked for last")
    newest_change: CommentChange | None = Field(default=None, description="what a person has said about it last")

    @property
    def newest_answers(self) -> tuple[CommentAnswer, ...]:
        """Returns the answers since it was asked for last."""
        return self.answers[self.earlier_answers :]

    def asked_for(self) -> Self:
        """Returns the comment as part of a new request: what was answered before does not settle it."""
        return self.changed(status="open", earlier_answers=len(self.answers))


class CommentPlace(Value):
    """A file, or lines of it."""

    path: str
    line: int | None = None
    end_line: int | None = None


class Whereabouts(Value):
    """The place of a comment's lines in the result as it is now. `outdated`: not all of them stand any more."""

    now: CommentPlace | None = None
    outdated: bool = False


@dataclass(frozen=True, kw_only=True)
class Comments:
    """All comments of a session, in the order in which they were made."""

    by_id: dict[str, Comment] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_id)

    @property
    def all(self) -> tuple[Comment, ...]:
        return tuple(self.by_id.values())

    @property
    def open(self) -> tuple[Comment, ...]:
        """Those that still ask for something: open ones, and those that an agent has left as they were."""
        return tuple(each for each in self.all if each.status in ("open", "unchanged"))

    @property
    def next_id(self) -> str:
        return f"c{len(self) + 1}"

    @property
    def newest_id(self) -> str:
        return f"c{len(self)}"

    def after(self, event: CommentMade | CommentChanged | CommentAnswered) -> Self:
        """The comments after one more event."""
        match event:
            case CommentMade():
                comment = Comment(**dict(event))
            case CommentChanged():
                change = CommentChange(status=event.status, reason=event.reason, by=event.by, at=event.at)
                before = self.by_id[event.comment_id]
                before = before.asked_for() if event.status == "open" else before
                comment = before.changed(status=event.status, newest_change=change)
            case CommentAnswered():
                answer = CommentAnswer(**{name: getattr(event, name) for name in CommentAnswer.model_fields})
                before = self.by_id[event.comment_id]
                comment = before.changed(status=event.answer, answers=(*before.answers, answer))
        return type(self)(by_id={**self.by_id, comment.comment_id: comment})

    def asked_for(self, names: Collection[str]) -> Self:
        """Returns the comments, where a request asks for those of these names."""
        again = {name: self.by_id[name].asked_for() for name in names if name in self.by_id}
        return type(self)(by_id={**self.by_id, **again}) if again else self
