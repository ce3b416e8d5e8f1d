"""The settings of a repository: `init` writes `hansard.toml`, `trust` lets what it sets up take effect."""

import os
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Where
from api.cli.terminal import put, put_json, say


async def trust(path: ExistingDirectory = Path(), /, *, json: AsJson = False, where: Where = HERE) -> int:
    """Trust the settings in a repository's `hansard.toml`: its commands, environment, network and team.

    They take effect from now on. If they change, trust them again.

    Parameters
    ----------
    path
        A folder in the repository.
    """
    async with connected(where, "all") as api:
        granted = await api.post("/api/trust", {"workspace": str(path.resolve())})
    if json:
        put_json(granted)
        return exits.OK
    for line in _trusted(granted):
        put(line)
    say(sentence("Trusted: {workspace}", workspace=granted["workspace"]))
    return exits.OK


def _trusted(granted: dict[str, Any]) -> list[str]:
    """What takes effect, a line each."""
    lines = [f"set-up: {command}" for command in granted["setup"]]
    lines += [f"env: {name}={value}" for name, value in granted["env"].items()]
    lines += ["network: validation commands may use it"] if granted["network"] == "all" else []
    return lines + ([f"team: {granted['team']}"] if granted["team"] else [])


def init(
    path: Annotated[ExistingDirectory, Parameter(help="The repository.")] = Path(), /, *, where: Where = HERE
) -> int:
    """Create `hansard.toml` and `team.toml` from what the repository and PATH contain. Never overwrites, never prompts.

    The new files are trusted.
    """
    from adapters.project.discover import agents, discover, lines, project_file, team_file
    from adapters.project.settings import NAME
    from api.actions.projects import grant, root_of

    root = root_of(path.resolve())
    needs, programs = discover(root), agents(os.environ)
    team = _write(root / "team.toml", team_file(programs))  # one that was there may not be trusted unread
    is_new = _write(root / NAME, project_file(needs, team=team))
    for line in lines(needs):
        put(line)
    if not programs:
        say(sentence("No agent program on PATH. Install one (`hansard team` lists them) and run `hansard init` again."))
    if team and not is_new:
        say(sentence('To use the new team, add this to {name}: [delivery] team = "team.toml"', name=NAME))
    if is_new:
        grant(root, where.settings(), by="init")
    return exits.OK


def _write(path: Path, text: str) -> bool:
    """Write a new file; whether it was written."""
    if not text:
        return False
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        say(sentence("{path} already exists; not changed.", path=path))
        return False
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}.") from None
    say(sentence("Wrote {path}", path=path))
    return True
