"""How an agent that speaks the Agent Client Protocol is started: the settings of the `acp` adapter."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from adapters.agents.command.settings import Arguments, CommandSettings, Folders, Names, Seconds, Template
from adapters.agents.failures import Rule
from domain.values.base import Value


class AcpSettings(Value):
    """`argv` starts the agent, which is then talked to over its standard input and output. What is said of the program
    means the same as for a command. `auth_method` is the login to choose where the agent wants one chosen."""

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
        """The program as a command is described. That it can resume is known once it has started."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "auth_method"}
        return CommandSettings(resume_argv=self.argv, **fields)

    def named(self, model: str | None) -> Self:
        """The same, asking this model where the settings name none."""
        return self if self.model or not model else self.model_copy(update={"model": model})
