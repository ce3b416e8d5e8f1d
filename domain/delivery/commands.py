"""What can be asked of a delivery."""

from typing import Annotated

from pydantic import Field

from domain.delivery.validation import Step
from domain.discussion.topic import ReviewSettings
from domain.session.budget import Limits
from domain.session.turns import Failure
from domain.values.base import Command, Text

More = Annotated[int, Field(ge=1)]
POLICY = "delivery@2"
"""The version of the rules that new deliveries follow; one that has begun keeps the version that it began with.

Out of budget, `delivery@1` finishes with its last iteration, `delivery@2` with the one that could not begin.
"""


class StartDelivery(Command):
    policy: str = POLICY
    task: str
    file_paths: tuple[str, ...] = ()
    steps: tuple[Step, ...]
    limits: Limits
    max_attempts: int | None = None
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    workspace: str | None = None
    repository: bool = False
    scenario: Text | None = None
    crew: dict[str, str] = {}
    review: ReviewSettings | None = None


class RecordValidation(Command):
    """What became of the commands: the verdict for the rules, the whole report (JSON) for the record."""

    turn_id: str
    attempt: int
    passed: bool
    classification: str | None = None
    summary: str = ""
    report: Text = Text()
    seconds: float = 0.0
    slot: int = 0
    failure: Failure | None = None


class RecordPackage(Command):
    """What became of handing the work over: the branch it stands on, or why there is none."""

    turn_id: str
    attempt: int
    branch: str | None = None
    commit: str | None = None
    patch: Text | None = None
    problem: str | None = None
    seconds: float = 0.0
    slot: int = 0
    failure: Failure | None = None


class ExpireTurn(Command):
    """The deadline has passed while this turn waited or ran."""

    turn_id: str


class ExtendBudget(Command):
    """A person gives more (K-46). At least one of the amounts."""

    add_iterations: More | None = None
    add_minutes: More | None = None
    add_tokens: More | None = None
    add_cost_micros: More | None = None
    reason: str


class CancelDelivery(Command):
    reason: str = ""
