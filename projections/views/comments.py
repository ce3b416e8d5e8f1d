"""The answer about what people have remarked on a result."""

from pydantic import Field

from domain.session.comments import CommentAnswerKind, CommentSide, CommentStatus
from projections.views.base import Page, View


class CommentAnswerView(View):
    """What an agent says to a comment."""

    turn_id: str
    answer: CommentAnswerKind
    words: str
    changed_paths: tuple[str, ...] = Field(alias="changed", description="the paths that it changed because of it")


class CommentPlaceView(View):
    """A file of the result, or lines of it."""

    path: str
    line: int | None
    end_line: int | None


class CommentView(View):
    """A person's comment, and what has become of it."""

    comment_id: str
    path: str | None = Field(description="the file; null if it is about the whole")
    line: int | None = Field(description="the first line, from 1, in the commit that the person saw")
    end_line: int | None
    side: CommentSide = Field(description="`old`: the lines are those of the base")
    quote: tuple[str, ...] = Field(description="the lines, as they were in that commit")
    text: str = Field(description="the person's words")
    by: str
    at: str
    head: str | None = Field(description="the result that the person saw; null before there was one")
    status: CommentStatus
    reason: str = Field(description="the person's words with the newest change of the status")
    answers: tuple[CommentAnswerView, ...]
    now: CommentPlaceView | None = Field(
        description="the lines in the result's `head`; of several, those that stand together; null where they are gone"
    )
    outdated: bool = Field(description="whether its lines do not all stand any more; `quote` has them")


class CommentPage(Page):
    items: tuple[CommentView, ...]
