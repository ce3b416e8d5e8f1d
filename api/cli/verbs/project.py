"""`hansard init`, `team`: sets up a repository and its team; `doctor --try` asks each agent."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import ExistingDirectory

from api.cli.options import HERE, TEAM, Where
from api.cli.verb import carried_out_by


@carried_out_by("project:init")
def init(
    path: Annotated[ExistingDirectory, Parameter(help="The repository.")] = Path(), /, *, where: Where = HERE
) -> None:
    """Create `hansard.toml` and `team.toml` from what the repository and PATH contain. Never overwrites, never prompts.

    The new files are trusted; a `team.toml` that was there is named, and `hansard trust` shows it first.
    """


@carried_out_by("project:team")
def team(
    *,
    team: Annotated[Path | None, Parameter(help=TEAM)] = None,
    json: Annotated[bool, Parameter(help="Print the lists as JSON.")] = False,
) -> None:
    """List the presets, which of their programs are installed, and the agents of the team. Calls no agent."""
