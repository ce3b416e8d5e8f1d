"""The answer of a comparison of two sessions."""

from typing import Any

from pydantic import Field

from domain.values.base import absent
from projections.views.base import View


class Side(View):
    """One of two sessions."""

    id: str
    kind: str
    version: int
    state: str
    elapsed_ms: int = Field(description="from its first event to its last")
    created_at: str
    updated_at: str
    forked_from: str | None


class DivergentEvent(View):
    version: int
    type: str
    message: str
    inputs: dict[str, Any] = Field(description="the inputs of the rules")


class Divergence(View):
    """The first place where they say different things; null on the side that has ended."""

    a: DivergentEvent | None
    b: DivergentEvent | None


class ComparedEvent(View):
    """A decision or a verdict; what it does not have is left out."""

    version: int
    type: str
    agent: str | None = Field(default=None, exclude_if=absent)
    round: int | None = Field(default=None, exclude_if=absent)
    iteration: int | None = Field(default=None, exclude_if=absent)
    phase: int | str | None = Field(default=None, exclude_if=absent)
    passed: bool | None = Field(default=None, alias="pass", exclude_if=absent)
    choice: str | None = Field(default=None, exclude_if=absent)
    inputs: dict[str, Any] = Field(description="the inputs of the rules")


class ComparedEvents(View):
    a: tuple[ComparedEvent, ...]
    b: tuple[ComparedEvent, ...]


class SpentView(View):
    """The reported cost of the turns; null if none was reported."""

    tokens: int | None
    cost_micros: int | None
    unknown_turns: int


class Cost(View):
    """The cost of each session and the difference (second minus first); null if either is unknown."""

    a: SpentView
    b: SpentView
    tokens_delta: int | None
    cost_micros_delta: int | None


class Differing(View):
    """A field of both views."""

    a: Any
    b: Any


class Diff(View):
    """Two sessions, or two versions of one, side by side."""

    a: Side
    b: Side
    first_divergence: Divergence | None
    decisions: ComparedEvents
    verdicts: ComparedEvents
    cost: Cost
    state: dict[str, Differing] = Field(description="the fields of the views that differ")
