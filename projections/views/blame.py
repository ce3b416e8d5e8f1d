"""Where each line of a file comes from (contract-2 §12)."""

from pydantic import Field, RootModel

from projections.views.base import View


class Demand(View):
    """The finding of a review that the turn had to answer."""

    version: int
    title: str


class Approval(View):
    version: int
    actor: str


class BlameLine(View):
    """A line. What is not known to be an agent's has no session: it may be a person's."""

    line: int
    text: str
    commit: str
    session: str | None = None
    turn: str | None = None
    agent: str | None = None
    model: str | None = None
    iteration: int | None = None
    demanded_by: Demand | None = None
    validated_by: int | None = Field(default=None, description="the event by which the validation passed")
    approved_by: Approval | None = None


class Blame(RootModel[tuple[BlameLine, ...]]):
    """The lines of a file, in order."""
