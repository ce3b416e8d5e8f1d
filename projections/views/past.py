"""The answers about the past: explanations and replays (contract §2)."""

from typing import Any, Literal

from pydantic import Field, RootModel

from domain.values.base import absent
from projections.views.base import View


class ExplainedEvent(View):
    """One event of a command; `inputs` are what the rules used."""

    version: int
    type: str
    message: str
    state: str | None = Field(description="the state that it led to, if it led to one")
    inputs: dict[str, Any]


class ExplainedCommand(View):
    """One command: who gave it, because of what, and what it led to."""

    version: int = Field(description="of its first event")
    timestamp: str
    actor: str
    command_id: str
    causation_id: str
    events: tuple[ExplainedEvent, ...]


class DirectStep(View):
    """A step that would lead to the wished state, and whether its guard holds."""

    event: str
    guard: str | None
    holds: bool


class ChartStep(View):
    """A step of the chart."""

    event: str
    to: str
    guard: str | None = Field(default=None, exclude_if=absent)


class WhyNot(View):
    """What is missing for another state: whether it is one step away, and the shortest path through the chart."""

    wished: str
    state: str
    reached: bool
    direct: tuple[DirectStep, ...]
    steps: tuple[ChartStep, ...] | None = Field(description="null where no way leads there")
    text: str


class ExplainedCause(View):
    """What stopped it, or makes it wait: the event, and what that event says, line by line."""

    version: int
    type: str
    lines: tuple[str, ...] = Field(description="failing tests, blocking findings, or an error")


class Explanation(View):
    """Why a session is in its state: a chain of commands, first cause first."""

    session_id: str
    kind: str
    version: int
    state: str
    chain: tuple[ExplainedCommand, ...]
    text: str = Field(description="the chain in sentences, one a line")
    cause: ExplainedCause | None = Field(
        description="what stopped it, or the failure after which it waits; null if there is none"
    )
    why_not: WhyNot | None = Field(default=None, exclude_if=absent, description="with `wish`")


class ReplayDifference(View):
    """The first place where today's rules would have recorded something else."""

    version: int
    command: str
    expected: str = Field(description="what the log says")
    actual: str = Field(description="what would be written today")


class ReplayAnswer(View):
    session_id: str
    version: int
    difference: ReplayDifference | None


class Cut(View):
    """A version at which a fork can begin, and a question that is open there."""

    version: int
    asks: str | None = Field(description="the agent who is asked there; null where nobody is")
    role: str | None
    turn_id: str | None = Field(description="the turn that asks")
    recorded: str | None = Field(description="the beginning of what the agent answered here; null without an answer")
    needs: Literal["decision"] | None = Field(
        description="`decision`: one is open there; that of a review or debate of the session has to be substituted"
    )


class Cuts(RootModel[tuple[Cut, ...]]):
    """Where a fork can begin, oldest first."""
