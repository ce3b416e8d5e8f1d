"""What can be asked of a delivery."""

from typing import Annotated, ClassVar

from pydantic import Field

from domain.delivery.validation import Step
from domain.session.budget import Limits
from domain.session.children import ReviewSettings
from domain.session.turns import RecordTurn
from domain.values.base import Command, StartCommand, Text

More = Annotated[int, Field(ge=1)]
POLICY = "delivery@2"
"""The version of the rules that new deliveries follow; one that has begun keeps the version that it began with.

Out of budget, `delivery@1` finishes with its last iteration, `delivery@2` with the one that could not begin.
"""


class StartDelivery(StartCommand):
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


class RecordValidation(RecordTurn):
    """The outcome of the validation: the verdict for the rules, the whole report (JSON) for the record."""

    WORK = "validate"
    passed: bool
    classification: str | None = None
    summary: str = ""
    report: Text = Text()


class RecordPackage(RecordTurn):
    """The outcome of packaging: the branch that has the work, or why there is none."""

    WORK = "package"
    branch: str | None = None
    commit: str | None = None
    patch: Text | None = None
    problem: str | None = None


class ExpireTurn(Command):
    """The deadline has passed while this turn waited or ran."""

    turn_id: str


class ExtendBudget(Command):
    """A person adds budget (K-46): at least one of the amounts."""

    REFUSAL: ClassVar[str] = "cannot be given more budget"
    add_iterations: More | None = None
    add_minutes: More | None = None
    add_tokens: More | None = None
    add_cost_micros: More | None = None
    reason: str


class CancelDelivery(Command):
    REFUSAL: ClassVar[str] = "cannot be cancelled"
    reason: str = ""
