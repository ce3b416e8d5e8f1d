"""`[delivery]` of `hansard.toml`: the defaults of start requests, by their names on the wire in snake_case."""

from collections.abc import Set
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from domain.delivery.chart import checked_phases
from domain.session.validation import commands
from domain.values.base import Invalid, Value
from domain.values.budget import Iterations, Minutes
from domain.values.sentences import Sentence

_LIMITS: Final = frozenset({"max_iterations", "max_attempts"})
"""Two names of the same limit."""
_PLAIN: Final = frozenset(
    {"title", "origin", "labels", "file_paths", "baseline", "max_minutes", "max_tokens", "max_cost_micros"}
    | {"no_progress_limit", "phases"}
)


class TomlTable(Value):
    """A table of the file: its keys are in snake_case, unknown ones are rejected."""

    model_config = ConfigDict(alias_generator=None)


def _inside(path: str) -> str:
    """A path below the repository that does not lead out of it."""
    parts = Path(path).parts
    if not parts or path.startswith(("/", "~")) or ".." in parts or ".git" in map(str.casefold, parts):
        raise ValueError(Sentence("path_outside_repository"))
    return path


def _plain(path: str) -> str:
    """A path that is no pattern."""
    if {"*", "?"} & set(path):
        raise ValueError(Sentence("path_is_a_pattern"))
    return path


def _command(command: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """A command that can be split like a shell would."""
    try:
        commands(validation_commands=(command,))
    except Invalid as error:
        raise ValueError(next(iter(error.errors.values()))) from None
    return command


Inside = Annotated[str, AfterValidator(_inside)]
Plain = Annotated[Inside, AfterValidator(_plain)]
Command = Annotated[str | tuple[str, ...], AfterValidator(_command)]
Short = Annotated[str, Field(max_length=200)]
Label = Annotated[str, Field(min_length=1, max_length=64, pattern=r"\S")]


class RetryDefaults(TomlTable):
    """`retry` of a start request; what is left out is taken from the team file."""

    attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    backoff_seconds: Annotated[tuple[Annotated[float, Field(ge=0, le=86_400)], ...], Field(min_length=1)] | None = None
    max_wait_seconds: Annotated[float, Field(ge=0, le=2_592_000)] | None = None
    repairs: Annotated[int, Field(ge=0, le=10)] | None = None
    fallback: tuple[str, ...] | None = None


NO_RETRY = RetryDefaults()


class ReviewDefaults(TomlTable):
    """`review` of a start request: whether approved work is reviewed again and decided by a person."""

    enabled: bool = True
    strategy: Literal["review", "red-team"] | None = None
    max_rounds: Annotated[int, Field(ge=1, le=1_000)] | None = None
    profile: str = "seed"
    decision_seconds: Annotated[int, Field(ge=1, le=31_536_000)] | None = None
    decision_default: Literal["apply_fix", "skip"] | None = None


class Defaults(TomlTable):
    """The defaults for what a start request leaves out. `retry` is taken over field by field."""

    title: Short | None = None
    origin: Short | None = None
    labels: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=64, pattern=r"\S")], ...], Field(max_length=32)
    ] = ()
    file_paths: tuple[Inside, ...] = ()
    test_command: Command | None = None
    validation_commands: tuple[Command, ...] = ()
    baseline: bool | None = None
    phases: Annotated[tuple[str, ...], AfterValidator(checked_phases)] | None = None

    max_iterations: Iterations | None = None
    max_minutes: Minutes | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost_micros: Annotated[int, Field(ge=1)] | None = None
    max_attempts: Iterations | None = None
    no_progress_limit: Annotated[int, Field(ge=0, le=100)] | None = None
    retry: RetryDefaults = NO_RETRY
    review: ReviewDefaults | None = None
    team: str | None = None

    @model_validator(mode="after")
    def _reviewed(self) -> Self:
        if self.phases is not None and "review" not in self.phases and self.review is not None and self.review.enabled:
            raise ValueError(Sentence("review_without_phase"))
        return self

    @property
    def commands(self) -> tuple[Command, ...]:
        """The validation commands; without any, those of `[validation]` count."""
        return self.validation_commands or (() if self.test_command is None else (self.test_command,))

    def beside(self, given: Set[str]) -> dict[str, Any]:
        """The defaults of the simple fields, for a request with the given fields."""
        names = _PLAIN if given & _LIMITS else _PLAIN | _LIMITS
        values = {name: getattr(self, name) for name in names - given}
        return {name: value for name, value in values.items() if value not in (None, ())}
