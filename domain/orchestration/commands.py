"""What can be asked of an orchestration."""

from typing import Annotated, Literal

from pydantic import Field

from domain.base import Command
from domain.orchestration.events import Opening


class StartOrchestration(Command):
    opening: Opening


class ContinueOrchestration(Command):
    """Go on from the recorded cursor with a fresh number of rounds; the planner is not asked again (K-9)."""


class ResetOrchestration(Command):
    """It ends as it stands. `door`: what the person called it; a refusal says it in the same word."""

    reason: str = ""
    door: Literal["reset", "cancel"] = "reset"


class AddRounds(Command):
    add_rounds: Annotated[int, Field(ge=1)]
    reason: str


class ClearAgentSessions(Command):
    """A new request of the same origin begins clean (S1 §1.2)."""
