"""Prepares a working folder before anything runs in it: copies, links, set-up, environment (contract-2 §8)."""

import asyncio
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from adapters.agents.activity import Activity
from adapters.files import is_empty
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.validate import CommandPlace, ValidationSettings, output_of, run_step
from adapters.turns.folder import checkout, pristine, workspace_of
from adapters.turns.job import Job
from adapters.workspace import Workspace, WorkspaceError, Workspaces
from adapters.workspace.leftovers import tidy_home, trust_home
from domain.delivery.validation import SetupCommand
from domain.session.validation import DID_NOT_EXIT, ValidationStep
from domain.values.sentences import Sentence

Observe = Callable[[Activity], None]
"""Hears what the commands print."""
_TAIL = 2_000


async def ready(
    job: Job,
    *,
    workspaces: Workspaces,
    home: Path,
    fencing: Fencing,
    settings: ValidationSettings,
    observe: Observe,
) -> tuple[CommandPlace, tuple[SetupCommand, ...]]:
    """The job's folder in the recorded state, prepared if it is new, and the result of the set-up."""
    folder = await asyncio.to_thread(checkout, job, workspaces)
    workspace = await asyncio.to_thread(workspace_of, job, workspaces)
    return await _prepared(job, folder, workspace, home=home, fencing=fencing, settings=settings, observe=observe)


async def ready_to_validate(
    job: Job,
    *,
    workspaces: Workspaces,
    home: Path,
    fencing: Fencing,
    settings: ValidationSettings,
    observe: Observe,
    tree: str | None = None,
) -> tuple[CommandPlace, tuple[SetupCommand, ...]]:
    """The same, in the recorded state or in `tree`'s: what agents, or the code that they wrote, have left in the folder
    or in the home is gone. It would not be in a clone of the result."""
    folder = await asyncio.to_thread(pristine, job, workspaces, tree)
    workspace = await asyncio.to_thread(workspace_of, job, workspaces)
    mark = workspace.home / "ready-home"
    if not await asyncio.to_thread(tidy_home, mark, home):
        workspace.unready(folder)
    place, setup = await _prepared(
        job, folder, workspace, home=home, fencing=fencing, settings=settings, observe=observe
    )
    await asyncio.to_thread(trust_home, mark, home)
    return place, setup


async def _prepared(
    job: Job,
    folder: Path,
    workspace: Workspace,
    *,
    home: Path,
    fencing: Fencing,
    settings: ValidationSettings,
    observe: Observe,
) -> tuple[CommandPlace, tuple[SetupCommand, ...]]:
    preparation, top = job.preparation, workspace.tree_of(folder)
    if preparation.needs_work and not workspace.is_ready(folder):
        await asyncio.to_thread(_copy, workspace, folder, preparation.copy_paths)
        await asyncio.to_thread(_link if fencing.links else _copy, workspace, folder, preparation.link)
    place = CommandPlace(
        folder=folder,
        top=top,
        home=home,
        env=environment(job, top),
        fencing=fencing,
        grant=replace(fencing.grant(workspace, folder, preparation.link), network=preparation.network),
        observe=observe,
        checkout=None if workspace.in_place else workspace.source,
    )
    if not preparation.needs_work or workspace.is_ready(folder):
        return place, ()
    setup = await _set_up(
        preparation.setup, replace(place, folder=top, grant=replace(place.grant, network="all")), settings
    )
    if all(command.passed for command in setup):
        await asyncio.to_thread(workspace.mark_ready, folder)
    return place, setup


def trust(job: Job, place: CommandPlace, workspaces: Workspaces) -> None:
    """Trust what the commands of the baseline have made in the folder and in the home."""
    workspace = workspace_of(job, workspaces)
    workspace.trust(place.folder)
    mark = workspace.home / "ready-home"
    mark.unlink(missing_ok=True)
    trust_home(mark, place.home)


def left_to_do(job: Job, workspaces: Workspaces, folder: Path) -> tuple[dict[str, str], list[list[str]]]:
    """For an agent that is asked elsewhere: the variables for its programs, and the set-up commands that have not run
    in this folder."""
    workspace = workspace_of(job, workspaces)
    if workspace.is_ready(folder):  # nothing is shown to a program that Hansard does not start
        _copy(workspace, folder, job.preparation.link)
    waiting = () if workspace.is_ready(folder) else job.preparation.setup
    return environment(job, workspace.tree_of(folder)), [list(step.argv) for step in waiting]


async def _set_up(
    steps: Iterable[ValidationStep], place: CommandPlace, settings: ValidationSettings
) -> tuple[SetupCommand, ...]:
    """Run the set-up, up to the first command that fails."""
    ran: list[SetupCommand] = []
    until = time.monotonic() + settings.setup_timeout
    for step in steps:
        seconds = max(0.001, until - time.monotonic())
        finished = await run_step(step, place, settings, seconds=seconds, anything=True)
        passed = finished.ended == "exit" and finished.exit_code == 0
        output = finished.detail if finished.ended == "not_started" else output_of(finished)
        if finished.ended == "timeout":
            output += f"\nThe set-up was stopped at its limit, {settings.setup_timeout:g} s (HANSARD_SETUP_SECONDS)."
        ran.append(
            SetupCommand(
                command=step.command,
                exit_code=DID_NOT_EXIT if finished.exit_code is None else finished.exit_code,
                passed=passed,
                seconds=round(finished.seconds, 3),
                tail="" if passed else output.strip()[-_TAIL:],
            )
        )
        if not passed:
            break
    return tuple(ran)


def environment(job: Job, top: Path) -> dict[str, str]:
    """The variables of the repository's settings, and those that make the workspace take precedence. Parts that begin
    with `./` are paths in the workspace."""
    env = {**job.preparation.env, **job.workspace_env}
    return {name: ":".join(_absolute(part, top) for part in value.split(":")) for name, value in env.items()}


def _absolute(part: str, top: Path) -> str:
    return str(top / part[2:]) if part.startswith("./") else part


def relative(value: str, top: Path) -> str:
    """The opposite of `environment`: a later folder of the same session is another one."""
    parts = (Path(part) for part in value.split(":"))
    return ":".join(f"./{part.relative_to(top)}" if part.is_relative_to(top) else str(part) for part in parts)


def _copy(workspace: Workspace, folder: Path, names: Iterable[str]) -> None:
    """Copy ignored files and folders of the checkout. Raises WorkspaceError for one that leads outside."""
    for origin, target in _places(workspace, folder, names):
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(origin, target)


def _link(workspace: Workspace, folder: Path, names: Iterable[str]) -> None:
    """Make the places where folders of the checkout are shown; copy what is no folder."""
    for name in names:
        for origin, target in _places(workspace, folder, (name,)):
            if origin.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                _copy(workspace, folder, (name,))


def _places(workspace: Workspace, folder: Path, names: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """What the checkout has of these, each with its free place in the workspace. Raises WorkspaceError."""
    source, top = workspace.source, workspace.tree_of(folder)
    if source is None or source.resolve() == top.resolve():
        return
    for name in names:
        origin, target = source / name, top / name
        if not origin.exists():
            continue
        if not origin.resolve().is_relative_to(source.resolve()) or not target.parent.resolve().is_relative_to(top):
            raise WorkspaceError(Sentence("copy_leads_outside", path=name))
        if is_empty(target) or not (target.exists() or target.is_symlink()):
            yield origin, target
