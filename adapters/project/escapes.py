"""A check that the validation tests the workspace and nothing else (contract-2 §9).

Python: what its interpreters would import from elsewhere. npm, Go, Cargo: what their files name outside. Checked after
the set-up, before any agent.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.project import NAME
from adapters.project.discovery import discover
from adapters.project.other_escapes import layout, other_escapes
from adapters.project.python_escapes import Probe, PythonQuestion, packages, python_escapes
from domain.delivery.validation import Escape
from domain.session.validation import ValidationStep
from domain.values.sentences import Sentence

_MOST = 20


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of an inspection. `env` makes the workspace take precedence where that is possible and was
    verified."""

    escapes: tuple[Escape, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


async def inspect(
    workspace: Path,
    steps: Sequence[ValidationStep],
    env: Mapping[str, str],
    probe: Probe,
    *,
    checkout: Path | None = None,
    linked: Sequence[tuple[Path, Path]] = (),
    fenced: bool = False,
) -> Inspection:
    """Check the workspace as the commands would see it. `env` is their environment, `checkout` the person's folder,
    `linked` its folders that commands see in the workspace.

    `fenced`: the checkout is hidden.
    """
    projects = layout(workspace)
    question = PythonQuestion(
        workspace=workspace,
        checkout=None if fenced else checkout,
        packages=packages(workspace),
        probe=probe,
        fenced=fenced,
    )
    outside, path = await python_escapes(question, steps, env)
    return Inspection(escapes=(*outside, *other_escapes(workspace, projects, env, linked))[:_MOST], env=path)


# What a command would have used from the checkout: a workspace does not contain it, and a fence hides it.


def hidden_program(
    program: str, *, checkout: Path, workspace: Path, path: str, hides: Callable[[Path], bool]
) -> Sentence | None:
    """The advice if the program of a command is in an environment of the checkout; None if it is not. `path`: its
    PATH, which may contain another program of this name further on."""
    if "/" in program and not program.startswith("/"):
        missing = checkout / program
        return _environment(missing, checkout) if missing.exists() and not (workspace / program).exists() else None
    location = shutil.which(program, path=path)
    if location and hides(Path(location)) and Path(location).is_relative_to(checkout):
        return _environment(Path(location), checkout)
    return None


def missing_packages(*, checkout: Path, workspace: Path) -> Sentence | None:
    """The advice if the packages of the checkout are not in the workspace; None if they are."""
    if not (checkout / "node_modules").is_dir() or (workspace / "node_modules").exists():
        return None
    return Sentence("packages_not_in_workspace", path=checkout / "node_modules", file=NAME)


def _environment(program: Path, checkout: Path) -> Sentence:
    """A program of an environment inside the checkout."""
    root = program.parents[1]
    setup = [line for line in discover(checkout).setup if ".venv" in line] or _SETUP
    command = program.relative_to(checkout)
    lines = json.dumps([line.replace(".venv", root.name) for line in setup])
    return Sentence("program_not_in_workspace", program=program, folder=root, file=NAME, setup=lines, command=command)


_SETUP = ["python3 -m venv .venv", ".venv/bin/python -m pip install -e ."]
