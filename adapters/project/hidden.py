"""What a command would have used of the person's checkout: a workspace does not have it, and a fence hides it.

A virtual environment that is active, or named by its path, and npm's packages are ignored by git: they stay behind. The
advice says which one it is, and what to write into hansard.toml.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from adapters.project.discover import discover
from adapters.project.settings import NAME


def advice(program: str, *, checkout: Path, workspace: Path, path: str, hides: Callable[[Path], bool]) -> str:
    """One paragraph, or nothing where the command uses nothing of the checkout. `path`: its PATH."""
    if "/" in program and not program.startswith("/"):
        missing = checkout / program
        return _environment(missing, checkout) if missing.exists() and not (workspace / program).exists() else ""
    found = shutil.which(program, path=path)
    if found and hides(Path(found)) and Path(found).is_relative_to(checkout):
        return _environment(Path(found), checkout)
    if (checkout / "node_modules").is_dir() and not (workspace / "node_modules").exists():
        return (
            f"{checkout / 'node_modules'} is not part of the workspace. Write into {NAME}: [workspace] "
            'link = ["node_modules"], or setup = ["npm ci"].'
        )
    return ""


def _environment(program: Path, checkout: Path) -> str:
    """A program of an environment that lies in the checkout."""
    root = program.parents[1]
    setup = [line for line in discover(checkout).setup if ".venv" in line] or _SETUP
    command = program.relative_to(checkout)
    return (
        f"{program} belongs to {root}, which is not part of the workspace. Write into {NAME}: [workspace] "
        f"setup = {json.dumps([line.replace('.venv', root.name) for line in setup])} and use {command} as the command;"
        " or let `hansard init` write it."
    )


_SETUP = ["python3 -m venv .venv", ".venv/bin/python -m pip install -e ."]
