"""Before the first agent: the workspace is made ready, and the validation runs once on it (contract-2 §8, §9)."""

import asyncio
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypedDict

from adapters import processes
from adapters.agents.activity import Activity
from adapters.project.escapes import inspect
from adapters.turns.fencing import Fencing
from adapters.turns.job import Job, checkout, workspace_of
from adapters.turns.live import Live
from adapters.turns.validating import CommandPlace, ValidationSettings, can_start, output_of, run_step, validate
from adapters.workspace import Workspace, WorkspaceError, Workspaces
from domain.delivery.baseline import Baseline, BaselineCommand, Preparation, SetupCommand, unready
from domain.delivery.commands import RecordBaseline, RecordValidation
from domain.delivery.reasons import reasons
from domain.delivery.state import Delivery
from domain.delivery.validation import DID_NOT_EXIT, ValidationStep

Observe = Callable[[Activity], None]
"""Hears what the commands print."""
_TAIL = 2_000


class Commands(Protocol):
    """What runs the commands of a delivery."""

    async def prepare(self, job: Job) -> RecordBaseline:
        """Make the workspace ready and run each validation command once."""
        ...

    async def validate(self, job: Job) -> RecordValidation:
        """Run the validation of an iteration."""
        ...


@dataclass(frozen=True, slots=True)
class HostCommands:
    """Runs them on this machine, in a fence. `homes` has a home for each session."""

    workspaces: Workspaces
    homes: Path
    fencing: Fencing
    settings: ValidationSettings
    live: Live

    async def prepare(self, job: Job) -> RecordBaseline:
        return await prepare(job, **self._place(job))

    async def validate(self, job: Job) -> RecordValidation:
        return await validated(job, **self._place(job))

    def _place(self, job: Job) -> "_SourcePlace":
        return {
            "workspaces": self.workspaces,
            "home": self.homes / job.session.id,
            "fencing": self.fencing,
            "settings": self.settings,
            "observe": self.live.attempt(job.lease.turn_id).observe,
        }


class _SourcePlace(TypedDict):
    workspaces: Workspaces
    home: Path
    fencing: Fencing
    settings: ValidationSettings
    observe: Observe


async def prepare(
    job: Job, *, workspaces: Workspaces, home: Path, fencing: Fencing, settings: ValidationSettings, observe: Observe
) -> RecordBaseline:
    """Make the workspace ready, look for what would be tested instead of it, and run each command once."""
    assert isinstance(job.session, Delivery), "only deliveries validate"
    started = time.monotonic()
    place, setup = await ready(
        job, workspaces=workspaces, home=home, fencing=fencing, settings=settings, observe=observe
    )
    baseline = Baseline(setup=setup)
    if all(command.passed for command in setup):
        baseline = await _baseline(job.session.steps, place, settings, setup)
    return RecordBaseline(
        turn_id=job.lease.turn_id,
        attempt=job.lease.attempt,
        baseline=baseline,
        seconds=time.monotonic() - started,
        slot=job.slot,
    )


async def validated(
    job: Job, *, workspaces: Workspaces, home: Path, fencing: Fencing, settings: ValidationSettings, observe: Observe
) -> RecordValidation:
    """The validation of an iteration. A folder that is a new one is made ready first."""
    place, setup = await ready(
        job, workspaces=workspaces, home=home, fencing=fencing, settings=settings, observe=observe
    )
    failure = unready(Baseline(setup=setup))
    if failure is None:
        return await validate(job, place=place, settings=settings)
    return RecordValidation(turn_id=job.lease.turn_id, attempt=job.lease.attempt, passed=False, failure=failure)


async def ready(
    job: Job, *, workspaces: Workspaces, home: Path, fencing: Fencing, settings: ValidationSettings, observe: Observe
) -> tuple[CommandPlace, tuple[SetupCommand, ...]]:
    """The job's folder, made ready if it is a new one, and what the set-up came to."""
    assert isinstance(job.session, Delivery), "only deliveries are made ready"
    preparation = job.session.preparation
    folder = await asyncio.to_thread(checkout, job, workspaces)
    workspace = await asyncio.to_thread(workspace_of, job, workspaces)
    top = workspace.tree_of(folder)
    env = _environment(preparation.env, top) | _environment(job.session.validation_env, top)
    place = CommandPlace(
        folder=folder,
        top=top,
        home=home,
        env=env,
        fencing=fencing,
        grant=replace(fencing.grant(workspace, folder), network=preparation.network),
        observe=observe,
    )
    if preparation == Preparation(env=preparation.env) or workspace.is_ready(folder):
        return place, ()
    await asyncio.to_thread(_copy, workspace, folder, (*preparation.copy_paths, *preparation.link))
    setup = await _set_up(
        preparation.setup, replace(place, folder=top, grant=replace(place.grant, network="all")), settings
    )
    if all(command.passed for command in setup):
        await asyncio.to_thread(workspace.mark_ready, folder)
    return place, setup


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
        said = finished.detail if finished.ended == "not_started" else output_of(finished)
        if finished.ended == "timeout":
            said += f"\nThe set-up was stopped at its limit, {settings.setup_timeout:g} s (HANSARD_SETUP_SECONDS)."
        ran.append(
            SetupCommand(
                command=step.command,
                exit_code=DID_NOT_EXIT if finished.exit_code is None else finished.exit_code,
                passed=passed,
                seconds=round(finished.seconds, 3),
                tail="" if passed else said.strip()[-_TAIL:],
            )
        )
        if not passed:
            break
    return tuple(ran)


async def _baseline(
    steps: Sequence[ValidationStep], place: CommandPlace, settings: ValidationSettings, setup: tuple[SetupCommand, ...]
) -> Baseline:
    async def probe(argv: Sequence[str], extra: Mapping[str, str]) -> str:
        step = ValidationStep(stage="custom", command=argv[0], argv=tuple(argv))
        finished = await run_step(step, place.also(extra), settings, anything=True)
        return finished.stdout if finished.exit_code == 0 else ""

    whole = processes.clean_environment(place.env, home=place.home)
    inspection = await inspect(place.folder, steps, whole, probe, fenced=place.fence().level != "none")
    env = {name: _relative(value, place.top) for name, value in inspection.env}
    ran = [await _run(step, place.also(dict(inspection.env)), settings) for step in steps]
    return Baseline(commands=tuple(ran), setup=setup, escapes=inspection.escapes, env=env)


async def _run(step: ValidationStep, place: CommandPlace, settings: ValidationSettings) -> BaselineCommand:
    finished = await run_step(step, place, settings)
    passed = finished.ended == "exit" and finished.exit_code == 0
    return BaselineCommand(
        stage=step.stage,
        command=step.command,
        startable=can_start(step, finished, place.folder),
        exit_code=DID_NOT_EXIT if finished.exit_code is None else finished.exit_code,
        passed=passed,
        seconds=round(finished.seconds, 3),
        detail=finished.detail if finished.ended == "not_started" else "",
        reasons=() if passed else reasons(output_of(finished)),
    )


# -- paths -------------------------------------------------------------------------------------------------------------


def _environment(env: Mapping[str, str], top: Path) -> dict[str, str]:
    """The variables; each part that begins with `./` is a path in the workspace."""
    return {name: ":".join(_absolute(part, top) for part in value.split(":")) for name, value in env.items()}


def _absolute(part: str, top: Path) -> str:
    return str(top / part[2:]) if part.startswith("./") else part


def _relative(value: str, top: Path) -> str:
    """The opposite of `_environment`: a later folder of the same session is another one."""
    parts = (Path(part) for part in value.split(":"))
    return ":".join(f"./{part.relative_to(top)}" if part.is_relative_to(top) else str(part) for part in parts)


def _copy(workspace: Workspace, folder: Path, names: Iterable[str]) -> None:
    """Copy ignored files and folders of the checkout. Raises WorkspaceError for one that leads out of it."""
    source, top = workspace.source, workspace.tree_of(folder)
    if source is None or source.resolve() == top.resolve():
        return
    for name in names:
        origin, target = source / name, top / name
        if not origin.exists():
            continue
        if not origin.resolve().is_relative_to(source.resolve()) or not target.parent.resolve().is_relative_to(top):
            raise WorkspaceError(f"hansard.toml: {name} leads out of the repository.")
        if target.exists() or target.is_symlink():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, target, symlinks=True)
        else:
            shutil.copy2(origin, target)
