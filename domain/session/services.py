"""The services of a workspace: programs that its commands, and perhaps its agents, need (contract-3 §21)."""

from typing import Final

from pydantic import Field

from domain.session.validation import ValidationStep
from domain.values.base import Value

MOST_SERVICES: Final = 20
MOST_PORTS: Final = 50
READY_SECONDS: Final = 60.0
LONGEST_WAIT: Final = 3_600.0
FIRST_PORT: Final = 20_101
"""Ports of a workspace's own network begin here, below those that systems give out by themselves."""


class Service(Value):
    """A program that runs beside the commands of a workspace."""

    name: str
    command: ValidationStep
    ready: ValidationStep | None = Field(default=None, description="succeeds once the service can be used")
    env: dict[str, str] = Field(default_factory=dict, description="more variables, for the service alone")
    seconds: float = Field(default=READY_SECONDS, description="how long it may take to be ready")
