"""The needs of an agent, and whether this machine meets them: its program on the PATH that it gets, or the key of its
model. Nothing is started."""

import shutil
from typing import Final, NamedTuple

from adapters.agents.acp.settings import AcpSettings
from adapters.agents.command.call import own_variables
from adapters.agents.command.settings import CommandSettings
from adapters.agents.model.endpoint import ModelSettings
from adapters.agents.team import Member
from adapters.processes.environment import clean_environment
from adapters.references import resolve_secrets
from domain.values.sentences import Sentence, sentence_of


class Necessity(NamedTuple):
    """`needs` is the program, or the model. `place` is where that is, "" where it is missing; `problem` is the secret
    that is missing."""

    needs: str
    place: str
    problem: ValueError | None = None


def necessity(member: Member) -> Necessity | None:
    """None for an agent that needs neither: a scripted one, or one that comes for its turns."""
    if isinstance(member.settings, ModelSettings):
        return _model(member.settings)
    settings = member.settings.program if isinstance(member.settings, AcpSettings) else member.settings
    if not isinstance(settings, CommandSettings):
        return None
    program = settings.argv[0]
    try:
        path = resolve_secrets(own_variables(settings)).get("PATH", clean_environment()["PATH"])
    except ValueError as error:
        return Necessity(program, "", error)
    return Necessity(program, shutil.which(program, path=path) or "")


def _model(settings: ModelSettings) -> Necessity:
    try:
        resolve_secrets({"api_key": settings.api_key or ""})
    except ValueError as error:
        return Necessity(settings.model or "", "", error)
    return Necessity(settings.model or "", f"{settings.model}, {settings.base_url}")


READY: Final = ""
"""What an agent lacks that lacks nothing, as far as that can be known without asking it."""


def lack_of(member: Member) -> str:
    """Returns what the agent certainly fails for here; READY where nothing is known."""
    needed = necessity(member)
    if needed is None:
        return READY
    if needed.problem is not None:
        return sentence_of(needed.problem)
    return READY if needed.place else Sentence("agent_program_missing", program=needed.needs)
