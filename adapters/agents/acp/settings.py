"""The settings of the `acp` adapter."""

from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from adapters.agents.command.settings import CommandSettings, ProgramSettings
from domain.values.sentences import of_pydantic


class AcpSettings(ProgramSettings):
    """`argv` starts the agent, which then communicates over its standard input and output. All other settings of the
    program mean the same as for a command. `auth_method` is the login to choose if the agent requires a choice."""

    auth_method: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        try:
            self.program.template(resumed=False, writes=False)
        except ValidationError as error:
            raise ValueError(of_pydantic(error.errors()[0])) from None
        return self

    @property
    def program(self) -> CommandSettings:
        """The program in the form of a command's settings. Whether it can resume is only known after its start."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "auth_method"}
        return CommandSettings(resume_argv=self.argv, **fields)
