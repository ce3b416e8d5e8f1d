"""The answer about what to look at first in a session's result."""

from pydantic import Field

from domain.findings.attention import AttentionFact
from domain.provenance.path_changes import PathWord
from domain.values.base import absent
from domain.values.sentences import Sentence
from projections.views.base import View


class AttentionView(View):
    """A fact, and the event that shows it."""

    fact: AttentionFact
    version: int


class MapLine(View):
    sign: str = Field(description="`+`, `-`, or a blank")
    text: str
    number: int | None = Field(description="in the result; null for a removed line")
    old: int | None = Field(description="in the base; null for an added line")


class PathNoteView(View):
    """A change of a path beside its lines."""

    what: PathWord
    old: str | None = Field(default=None, exclude_if=absent, description="the old mode, or the old name")
    new: str | None = Field(default=None, exclude_if=absent, description="the new mode")


class MapHunkView(View):
    path: str
    place: int = Field(description="counts the hunks in file order, from 1")
    lines: tuple[MapLine, ...] = Field(description="empty where the entry is about the whole path")
    notes: tuple[PathNoteView, ...] = Field(
        default=(), exclude_if=lambda notes: not notes, description="what became of the path, if there are no lines"
    )
    because: tuple[AttentionView, ...] = Field(description="empty where nothing of the record asks for a look")


class ReviewMapView(View):
    """Every hunk of the result and every path without one, what needs a look most first."""

    version: int
    head: str | None = Field(description="null while nothing has changed")
    unread: Sentence | None = Field(
        default=None, exclude_if=absent, description="why the coverage report of the validation says nothing"
    )
    items: tuple[MapHunkView, ...]
