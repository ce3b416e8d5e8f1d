"""`hansard trust`: lets what a repository sets up take effect."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts.types import ExistingDirectory

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Where
from api.cli.terminal import put, put_json, say, visible

if TYPE_CHECKING:
    pass


async def trust(path: ExistingDirectory = Path(), /, *, json: AsJson = False, where: Where = HERE) -> int:
    """Trust the settings in a repository's `hansard.toml`: its commands, environment, network and team.

    They take effect from now on. If they change, trust them again.

    Parameters
    ----------
    path
        A folder in the repository.
    """
    async with connected(where, "first") as api:
        try:
            granted = await api.post("/api/trust", {"workspace": str(path.resolve())})
        except Failed as error:  # the folder is no option here
            words = (each.removeprefix("--workspace: ") for each in error.sentences)
            raise Failed(*words, code=error.code, problem=error.problem) from None
    if json:
        put_json(granted)
        return exits.OK
    for line in _trusted(granted):
        put(visible(line))
    say(sentence("Trusted: {workspace}", workspace=granted["workspace"]))
    return exits.OK


def _trusted(granted: dict[str, Any]) -> list[str]:
    """The settings that take effect, a line each."""
    lines = [sentence("set-up: {command}", command=command) for command in granted["setup"]]
    lines += [sentence("env: {name}={value}", name=name, value=value) for name, value in granted["env"].items()]
    lines += [sentence("network: validation commands may use it")] if granted["network"] == "all" else []
    lines += (
        [sentence("filters: those of your git run, fenced, on the files of the repository")]
        if granted.get("filters")
        else []
    )
    return lines + ([sentence("team: {team}", team=granted["team"])] if granted["team"] else [])
