"""`[[service]]` and `ports` of `hansard.toml`: programs that run beside the commands, and their ports."""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from adapters.project.defaults import Command, TomlTable
from domain.session.services import LONGEST_WAIT, MOST_PORTS, MOST_SERVICES, READY_SECONDS, Service
from domain.session.validation import ValidationStep, commands
from domain.values.sentences import Sentence

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _port_name(name: str) -> str:
    if name in _RESERVED or name.startswith(("HANSARD_", "LD_")):
        raise ValueError(Sentence("not_a_port_variable", given=name))
    return name


_RESERVED: Final = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "TERM", "TZ", "USER", "SHELL"})
Ports = Annotated[tuple[Annotated[Name, AfterValidator(_port_name)], ...], Field(max_length=MOST_PORTS)]


class ServiceTable(TomlTable):
    """A program that runs beside the commands of the workspace."""

    name: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
    command: Command
    ready: Command | None = None
    env: dict[Name, str] = {}
    seconds: Annotated[float, Field(gt=0, le=LONGEST_WAIT)] = READY_SECONDS

    def service(self) -> Service:
        """The service as a session records it."""
        command, ready = _step(self.command), None if self.ready is None else _step(self.ready)
        return Service(name=self.name, command=command, ready=ready, env=self.env, seconds=self.seconds)


def _step(command: Command) -> ValidationStep:
    [step] = commands(validation_commands=(command,))
    return step


def _told_apart(services: tuple[ServiceTable, ...]) -> tuple[ServiceTable, ...]:
    names = [service.name for service in services]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(Sentence("service_name_twice", given=twice))
    return services


Services = Annotated[tuple[ServiceTable, ...], Field(max_length=MOST_SERVICES), AfterValidator(_told_apart)]
