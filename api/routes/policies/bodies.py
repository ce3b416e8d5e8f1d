"""The bodies and answers of the policies: the same models as the schema."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from api.actions.bodies import Body
from api.routes.spans import Instant, instant
from domain.convergence.profiles import SEED, Profile, Thresholds, named
from domain.replies import KINDS
from domain.triage import DEFAULT_POLICY, POLICIES, Intent
from domain.values.base import Value
from domain.values.budget import Iterations, Minutes, Reason
from domain.values.phases import Bound, OnlyTrue, Role, Subtask
from domain.values.sentences import Sentence
from projections.views.session import PlannedAgent, PlannedCommand, PlannedVerification

LONGEST_TEXT = 1_048_576
"""Characters of one text; the body as a whole has a limit of its own."""

MOST_ENTRIES = 1_000

Passage = Annotated[str, Field(max_length=LONGEST_TEXT)]
Name = Annotated[str, Field(max_length=200)]
ProfileName = Literal["seed", "shipped-v3", "mysti"]


def _none_is_blank(value: object) -> object:
    return "" if value is None else value


def _as_given(value: object) -> object:
    return value


def _profile(value: object) -> Profile:
    """A name or thresholds; null is the default. Raises Invalid with its own pointers."""
    if value is None:
        return SEED
    if isinstance(value, str | Mapping):
        return named(value)
    raise ValueError(Sentence("not_a_profile"))


Judging = Annotated[
    Profile,
    PlainValidator(_profile, json_schema_input_type=ProfileName | Thresholds | None),
    Field(default_factory=lambda: SEED, description="a profile by name (`seed` is the default), or thresholds"),
]
# The rule itself says what a command may be, in one sentence instead of one for each type.
AnyCommand = Annotated[Any, PlainValidator(_as_given, json_schema_input_type=str | list[str])]
When = Annotated[
    Instant,
    PlainValidator(instant, json_schema_input_type=datetime | int),
    Field(description="ISO 8601 (UTC if it has no offset), or milliseconds since 1970 as an integer"),
]


class PolicyBody(Body):
    """Nothing is converted: no "3" for 3, no 1 for true."""

    model_config = ConfigDict(strict=True)


class TriageBody(PolicyBody):
    text: Annotated[Passage, BeforeValidator(_none_is_blank)] = Field(description="null is empty: it has no signal")
    policy: Name = Field(default=DEFAULT_POLICY, json_schema_extra={"enum": list(POLICIES)})


class IntentBody(PolicyBody):
    text: Passage


class GivenVerification(PlannedVerification):
    """As a caller may send it: within the limits."""

    pass_criteria: Passage | None = None
    fail_criteria: Passage | None = None
    affected_files: Annotated[tuple[Passage, ...], Field(max_length=MOST_ENTRIES)] | None = None


_AnyBound = Annotated[Bound, WithJsonSchema({"description": "a number of a phase; anything else is as if left out"})]
_AnyWish = Annotated[OnlyTrue, WithJsonSchema({"description": "only the boolean true asks for it"})]


class GivenSubtask(Subtask):
    """A subtask as a caller may send it: a name, and every amount within its limits."""

    agent: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    role: Annotated[Role, Field(max_length=200)] = "custom"
    task: Annotated[Passage, BeforeValidator(_none_is_blank)] = ""
    start_phase: _AnyBound = None
    end_phase: _AnyBound = None
    checkpoint: _AnyWish = False
    parallel: _AnyWish = False
    verification: GivenVerification | None = None


class PhasesBody(PolicyBody):
    subtasks: Annotated[list[GivenSubtask], Field(max_length=MOST_ENTRIES)]


class MatchBody(PolicyBody):
    agent: Name
    employees: Annotated[list[Name], Field(max_length=MOST_ENTRIES)]


class Claim(PolicyBody):
    agent: Name
    parallel: Any = Field(default=False, description="asks for it only when it is the boolean true")
    affected_files: Annotated[list[Passage], Field(max_length=MOST_ENTRIES)] | None = None


class ParallelBody(PolicyBody):
    agents: Annotated[list[Claim], Field(max_length=MOST_ENTRIES)]


class Contribution(PolicyBody):
    """One contribution to a discussion."""

    round: Annotated[int, Field(ge=0, le=2**53 - 1)]
    role: Name
    content: Passage


class ConvergenceBody(PolicyBody):
    rounds: Annotated[list[Contribution], Field(max_length=MOST_ENTRIES)]
    profile: Judging


class AgreementBody(PolicyBody):
    text: Passage
    profile: Judging


class SimilarityBody(PolicyBody):
    a: Passage
    b: Passage
    profile: Judging


class BudgetBody(PolicyBody):
    max_iterations: Iterations
    max_minutes: Minutes
    started_at: When
    iteration: Annotated[int, Field(ge=0, le=2**53 - 1, description="the iteration that is to begin, from 1")]
    now: When


class ValidationBody(PolicyBody):
    """At least one of them. A command is words as one would type them, without a shell, or its arguments, literally."""

    test_command: AnyCommand | None = None
    validation_commands: Annotated[list[AnyCommand], Field(max_length=100)] | None = None


class ParseBody(PolicyBody):
    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
    text: Passage = Field(description="an agent's reply, as it came")


class PromptBody(PolicyBody):
    name: str
    strategy: str | None = None
    language: str = "en"


# What the policies answer, with exactly the keys of contract §5.


def _absent(value: object) -> bool:
    return value is None


class IntentAnswer(Value):
    intent: Intent | None


class PhasesAnswer(Value):
    agents: tuple[PlannedAgent, ...]
    warnings: tuple[str, ...]


class MatchAnswer(Value):
    employee: str | None


class ParallelAnswer(Value):
    parallel: tuple[bool, ...]


class AgreementAnswer(Value):
    ratio: float = Field(ge=0, le=1)


class SimilarityAnswer(Value):
    jaccard: float = Field(ge=0, le=1)


class BudgetSnapshot(Value):
    """Instants in the format of `startedAt`; `reason` only if the budget is exhausted."""

    max_iterations: int
    max_minutes: int
    started_at: str | int
    deadline_at: str | int
    elapsed_ms: int
    remaining_iterations: int
    reason: Reason | None = Field(default=None, exclude_if=_absent)


class BudgetAnswer(Value):
    ok: bool
    reason: Reason | None
    snapshot: BudgetSnapshot


class ValidationAnswer(Value):
    commands: tuple[PlannedCommand, ...]


class ParseAnswer(Value):
    """`problem` only where the text cannot be read; `value` is then null."""

    value: Any
    problem: str | None = Field(default=None, exclude_if=_absent)


class PromptAnswer(Value):
    text: str
    version: int
