"""The settings of a command: those of the environment, its flags over them, and the team of the repository."""

from collections.abc import Container
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from api.actions.projects import team_of
from api.cli import exits
from api.cli.exits import Failed
from api.node.settings import Settings
from domain.values.sentences import of_pydantic


def configured(**options: Any) -> Settings:
    """The settings; options that were not given are None. Raises Failed for a value that cannot be used."""
    flags = {name: value for name, value in options.items() if value is not None}
    try:
        return _with_team(Settings(**flags))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise Failed(*(_setting(flags, each) for each in problems), code=exits.USAGE) from None


def _with_team(settings: Settings) -> Settings:
    """The same with the team file of the current repository, if none is named."""
    here = Path.cwd()
    if settings.team is not None or not any((place / "hansard.toml").is_file() for place in (here, *here.parents)):
        return settings
    team = team_of(here, settings)
    return settings if team is None else settings.model_copy(update={"team": team})


def _setting(flags: Container[str], problem: ErrorDetails) -> str:
    """The fault of a setting, by the name under which it was given."""
    name = str(problem["loc"][0]) if problem["loc"] else "settings"
    spelt = f"--{name.replace('_', '-')}" if name in flags else f"HANSARD_{name.upper()}"
    return f"{spelt}: {exits.in_words(of_pydantic(problem))}"
