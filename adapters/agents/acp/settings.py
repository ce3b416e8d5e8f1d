"""The settings of the `acp` adapter: how an agent that speaks the Agent Client Protocol is started."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from adapters.agents.command.settings import Arguments, CommandSettings, Folders, Names, Seconds, Template
from adapters.agents.failures import Rule
from domain.values.base import Value


class AcpSettings(Value):
    """`argv` starts the agent, which then communicates over its standard input and output. All other settings of the
    program mean the same as for a command. `auth_method` is the login to choose if the agent requires a choice."""

    argv: Template
    read_args: Arguments = ()
    write_args: Arguments = ()
    fenced_args: Arguments | None = None
    model_args: Arguments = ()
    model: str | None = None
    auth_method: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    failures: Annotated[tuple[Rule, ...], Field(max_length=100)] = ()
    env: dict[str, str] = Field(default_factory=dict, max_length=200)
    keys: Names = ()
    home: Literal["private", "user"] = "private"
    home_files: dict[str, str] = Field(default_factory=dict, max_length=100)
    network: Literal["all", "none"] = "all"
    readable: Folders = ()
    writable: Folders = ()
    timeout_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    output_bytes: Annotated[int, Field(gt=0, le=1_073_741_824)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        try:
            self.program.template(resumed=False, writes=False)
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        return self

    @property
    def program(self) -> CommandSettings:
        """The program in the form of a command's settings. Whether it can resume is only known after its start."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "auth_method"}
        return CommandSettings(resume_argv=self.argv, **fields)

    def named(self, model: str | None) -> Self:
        """The same settings with this model, unless they name one."""
        return self if self.model or not model else self.model_copy(update={"model": model})
