"""The bodies of start requests, and what all bodies have in common: closed models, names in camelCase (contract §2)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from api.node.settings import MOST_ROUNDS
from domain.delivery.chart import PHASES, checked_phases
from domain.values.base import Invalid
from domain.values.budget import Iterations, Minutes
from domain.values.json import JSON
from domain.values.sentences import Sentence

Words = Annotated[str, Field(min_length=1, max_length=65_536, pattern=r"\S")]
Short = Annotated[str, Field(max_length=200)]
Reason = Annotated[str, Field(max_length=2_000)]
Folder = Annotated[str, Field(min_length=1, max_length=4_096, json_schema_extra={"pattern": r"^/[^\x00]*$"})]
Digest = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]
DecisionSeconds = Annotated[
    Annotated[StrictInt, Field(ge=1, le=31_536_000)] | None,
    Field(description="how long to wait for the decision; after that `decisionDefault` applies, if there is one"),
]
_NULL = {"type": "null"}
_SAID = ("default", "description", "deprecated")
"""What a schema says of a field, whatever it takes."""


def _once(labels: list[str]) -> list[str]:
    return list(dict.fromkeys(labels))


def _given_or_fixed(task: str | None, info: ValidationInfo) -> str | None:
    """The task of a delivery, which only one that applies a review's findings, or begins with an issue, can do
    without."""
    if task is None and info.data.get("fixes") is None and info.data.get("issue") is None:
        raise PydanticCustomError("missing", "Field required")
    return task


class Body(BaseModel):
    """Null is a field that is left out, wherever one may be; but not a `kind`, which says what body this is."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_alias=True, frozen=True, defer_build=True
    )
    optional: ClassVar[frozenset[str]]
    """The fields that may be left out, as they are called on the wire."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
        cls.optional = frozenset(field.alias or name for name, field in fields.items() if not field.is_required())

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict) or None not in data.values():
            return data
        return {name: value for name, value in data.items() if value is not None or name not in cls.optional}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        fields = handler.resolve_ref_schema(schema)["properties"]
        fields.update({name: _or_null(field) for name, field in fields.items() if name in cls.optional})
        return schema


def _or_null(field: JsonSchemaValue) -> JsonSchemaValue:
    """The schema of a field that takes null, too."""
    notes = {name: value for name, value in field.items() if name in _SAID}
    own = {name: value for name, value in field.items() if name not in _SAID}
    choices = own.get("anyOf", [own])
    return field if not own or _NULL in choices else {"anyOf": [*choices, _NULL]} | notes


class RetryBody(Body):
    """How failed turns are retried; fields that are left out are taken from the team file."""

    attempts: Annotated[StrictInt, Field(ge=1, le=100)] | None = None
    backoff_seconds: (
        Annotated[list[Annotated[float, Field(ge=0, le=86_400)]], Field(min_length=1, max_length=50)] | None
    ) = None
    max_wait_seconds: Annotated[float, Field(ge=0, le=2_592_000)] | None = None
    repairs: Annotated[StrictInt, Field(ge=0, le=10)] | None = None
    fallback: Annotated[list[Short], Field(max_length=20)] | None = Field(
        default=None, description="the agents who take over a turn, in this order"
    )


class Start(Body):
    """The fields with which every kind of session can be started."""

    origin: Short = ""
    title: Short = ""
    labels: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64, pattern=r"\S")]],
        Field(max_length=32),
        AfterValidator(_once),
    ] = []
    scenario: dict[str, Any] | None = Field(
        default=None, description="scripted agents for this session: {replies: {name or role: […]}, delayMs}"
    )
    workspace: Folder | None = Field(
        default=None, description="absolute path of an existing folder; of a git repository a worktree is used"
    )
    started_in: Annotated[str, Field(min_length=1, max_length=4_096)] | None = Field(
        default=None, description="the top folder of the repository that the start was typed in; nothing is done there"
    )
    retry: RetryBody | None = None
    anyway: StrictBool = Field(
        default=False, description="start even if an agent is known to lack its program or login"
    )


CommandWords = Words | Annotated[list[str], Field(min_length=1, max_length=1_000)]


def _phases(names: list[str]) -> list[str]:
    return list(checked_phases(names))


Phases = Annotated[
    list[str],
    AfterValidator(_phases),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(PHASES)}, "uniqueItems": True}),
]


ISSUE: Final = (
    "an issue of the repository at its forge, by its address or as `#N`: its title and text, as they are now, are the"
    " task; one comment there says how the work stands"
)
FIXES: Final = (
    "a review decided with apply_fix, whose findings are the task, or a delivery that was sent back: it is done again,"
    " with the same validation unless another is given"
)


class DeliveryStart(Start):
    """Start a delivery (S4 §4.2)."""

    kind: Literal["delivery"] = "delivery"
    fixes: Short | None = Field(default=None, description=FIXES)
    issue: Annotated[str, Field(min_length=1, max_length=2_000)] | None = Field(default=None, description=ISSUE)
    task: Annotated[Words | None, AfterValidator(_given_or_fixed)] = Field(
        default=None, validate_default=True, description="what is to be done; may be left out with `fixes` or `issue`"
    )
    file_paths: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=1_024, pattern=r"\S")]], Field(min_length=1, max_length=500)
    ] = []
    test_command: CommandWords | None = None
    validation_commands: Annotated[list[CommandWords], Field(max_length=100)] | None = None
    max_iterations: Iterations | None = None
    max_minutes: Minutes | None = None
    max_attempts: Iterations | None = Field(default=None, json_schema_extra={"deprecated": True})
    max_tokens: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    max_cost_micros: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    review: "WishBody | None" = Field(default=None, description="a review that a person decides, before packaging")
    no_progress_limit: Annotated[StrictInt, Field(ge=0, le=100)] | None = Field(
        default=None, description="after this many iterations in a row without progress it stops; 0: no limit"
    )
    baseline: StrictBool | None = Field(
        default=None,
        description="run the validation once before the first agent; default: as hansard.toml says, else yes",
    )
    phases: Phases | None = Field(
        default=None,
        description="the phases it goes through, in this order, with implementation and validation; what is left out is"
        " skipped; default: as hansard.toml says, else all",
    )


Rounds = Annotated[StrictInt, Field(ge=1, le=MOST_ROUNDS, description="at most as many as the server's setting allows")]


class WishBody(Body):
    """How a plan or work is discussed, if it is."""

    enabled: StrictBool = True
    strategy: Short | None = None
    max_rounds: Rounds | None = None
    profile: Short | dict[str, Any] = "seed"
    decision_seconds: DecisionSeconds = None
    decision_default: Literal["apply_fix", "skip", "revise", "accept"] | None = None


class EmployeeBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^\S([^\x00-\x1f\x7f]*\S)?$")]
    role: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")] = "custom"


class Conversation(Start):
    """The start request of an orchestration, through either endpoint (S1, S3)."""

    prompt: Annotated[str, Field(max_length=65_536, json_schema_extra={"pattern": r"\S"})]
    employees: Annotated[list[EmployeeBody], Field(max_length=100)] | None = Field(
        default=None, description="who takes subtasks; the team's own when absent"
    )
    max_rounds: Annotated[StrictInt, Field(ge=1, le=50)] = 3
    triage: Literal["auto", "direct", "orchestrate"] = "auto"
    plan_review: WishBody | None = Field(default=None, description="debate the plan before the first round")
    work_review: WishBody | None = Field(default=None, description="review work that passed")
    validation_commands: Annotated[list[CommandWords], Field(max_length=100)] | None = Field(
        default=None, description="the commands that validate the work of each round; default: those of hansard.toml"
    )
    validated: StrictBool | None = Field(
        default=None, alias="validate", description="false: the work is not validated, although there are commands"
    )


class OrchestrationStart(Conversation):
    """Start an orchestration."""

    kind: Literal["orchestration"] = "orchestration"


class Discussed(Start):
    """The fields that reviews and debates have in common."""

    strategy: Short | None = None
    max_rounds: Rounds | None = None
    profile: Short | dict[str, Any] = Field(default="seed", description="seed, shipped-v3, mysti, or thresholds")
    decision_seconds: DecisionSeconds = None
    decision_default: Literal["apply_fix", "skip", "revise", "accept"] | None = None


class ReviewedBody(Body):
    """The uncommitted changes of a checkout."""

    commit: Annotated[
        str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$", description="the commit that is checked out")
    ]
    patch: Annotated[
        str, Field(min_length=1, max_length=400_000, description="`git diff --binary` from that commit on")
    ]


class ReviewStart(Discussed):
    """Start a review of work (S2)."""

    kind: Literal["review"] = "review"
    subject: Annotated[str, Field(min_length=1, max_length=500_000, pattern=r"\S")]
    reviewed: ReviewedBody | None = Field(
        default=None,
        description="what it is about, if that is uncommitted: a delivery that `fixes` it starts with this",
    )


class DebateStart(Discussed):
    """Start a debate about a plan."""

    kind: Literal["debate"] = "debate"
    plan: Annotated[str, Field(min_length=1, max_length=500_000, pattern=r"\S")]


AnyStart = DeliveryStart | OrchestrationStart | ReviewStart | DebateStart


class BodyByKind(NamedTuple):
    """Several bodies, of which `kind` selects one: the first if it is left out. `name` is that of all of them."""

    name: str
    models: tuple[type[AnyStart], ...]

    def of(self, fields: Mapping[str, JSON]) -> type[AnyStart]:
        """Returns the model of a body with these fields. Raises Invalid for an unknown kind."""
        models = {model.model_fields["kind"].default: model for model in self.models}
        kind = fields.get("kind", next(iter(models)))
        model = models.get(kind) if isinstance(kind, str) else None
        if model is None:
            raise Invalid({"/kind": Sentence("not_one_of", choices=list(models))})
        return model


START: Final = BodyByKind("Start", (DeliveryStart, OrchestrationStart, ReviewStart, DebateStart))
