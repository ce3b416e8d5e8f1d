"""The answers about who wrote a line, and what a session changed."""

from pydantic import Field, RootModel

from projections.views.base import View
from projections.views.session import ResultBase, ResultFile


class Demand(View):
    """The finding of a review that the turn had to answer."""

    version: int
    title: str


class Approval(View):
    version: int
    actor: str


class BlameLine(View):
    """A line. A line that is not known to be an agent's has no session; a person may have written it."""

    line: int
    text: str
    commit: str
    session: str | None = None
    turn: str | None = None
    agent: str | None = None
    model: str | None = None
    iteration: int | None = None
    demanded_by: Demand | None = None
    validated_by: int | None = Field(default=None, description="the event that says that the validation passed")
    approved_by: Approval | None = None


class Blame(RootModel[tuple[BlameLine, ...]]):
    """The lines of a file, in order."""


class ChangesView(View):
    """What a session, or one turn of it, has changed."""

    base: ResultBase | None = Field(description="null while nothing has changed")
    head: str | None
    branch: str | None
    files: tuple[ResultFile, ...]
    names_files: bool = Field(default=False, description="true where the request or the plan named files")
    patch: str = Field(description="a unified diff; of a binary file it only says that it differs")
