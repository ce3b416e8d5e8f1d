"""Comments: what a person remarks on a result, and what has become of each (contract-3 §18).

The lines that a comment quotes are those of the commit that the person saw. Its words are the person's for good.
"""

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


EVENTS: tuple[type[DomainEvent], ...] = (CommentMade, CommentChanged)


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


class CommentAnswer(Value):
    """What an agent says to a comment."""

    turn_id: str
    answer: CommentAnswerKind
    words: str = ""
    changed_paths: tuple[str, ...] = Field(
        default=(), alias="changed", description="the paths that it changed because of it"
    )


class CommentChange(Value):
    """What a person has said about a comment last."""

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
    newest_change: CommentChange | None = Field(default=None, description="what a person has said about it last")


class CommentPlace(Value):
    """A file, or lines of it."""

    path: str
    line: int | None = None
    end_line: int | None = None


class Whereabouts(Value):
    """Where the lines of a comment are in the result as it is now. `outdated`: not all of them stand any more."""

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

    def after(self, event: CommentMade | CommentChanged) -> Self:
        """The comments after one more event."""
        match event:
            case CommentMade():
                comment = Comment(**dict(event))
            case CommentChanged():
                change = CommentChange(status=event.status, reason=event.reason, by=event.by, at=event.at)
                comment = self.by_id[event.comment_id].changed(status=event.status, newest_change=change)
        return type(self)(by_id={**self.by_id, comment.comment_id: comment})
