"""What runs without an agent: the workspace is prepared, validated once before the first agent, and a result lands.

Before the first agent, the validation runs once on the untouched workspace (contract-2 §8, §9). To land a result, it is
merged with the current branch, the merge is validated, and only then the branch moves (contract-2 §12).
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypedDict

from adapters.processes.environment import clean_environment
from adapters.project.escapes import Inspection, hidden_program, inspect, missing_packages
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.land import land
from adapters.turns.commands.prepare import Observe, ready, ready_to_validate, relative, trust
from adapters.turns.commands.validate import (
    CommandPlace,
    ValidationSettings,
    can_start,
    reasons_of,
    run_of,
    run_step,
    set_up_failed,
    validate,
)
from adapters.turns.job import Job
from adapters.turns.live import Live
from adapters.workspace import Workspaces
from domain.delivery.commands import RecordBaseline, RecordValidation
from domain.delivery.state import Delivery
from domain.delivery.validation import MOST, Baseline, BaselineCommand, SetupCommand, unready
from domain.session.attempts import Failure
from domain.session.landing import RecordLanding
from domain.session.validation import DID_NOT_EXIT, ValidationStep
from domain.values.sentences import Sentence, coded


class Commands(Protocol):
    """Runs the commands of a delivery."""

    async def prepare(self, job: Job) -> RecordBaseline:
        """Prepare the workspace and run each validation command once."""
        ...

    async def validate(self, job: Job) -> RecordValidation:
        """Run the validation of an iteration."""
        ...

    async def land(self, job: Job) -> RecordLanding:
        """Merge the result into a branch if its validation passes there."""
        ...

    async def ready(self, job: Job) -> Failure | None:
        """Prepare the folder in which an agent is asked. Returns why that failed, if it did."""
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

    async def ready(self, job: Job) -> Failure | None:
        if job.request.access == "none" or not job.preparation.needs_work:
            return None
        _, setup = await ready(job, **self._place(job))
        if isinstance(job.session, Delivery) and job.session.baseline:
            return None  # the set-up has succeeded before: the work is what breaks it, and its author can correct that
        return unready(Baseline(setup=setup))

    async def land(self, job: Job) -> RecordLanding:
        return await land(job, **self._place(job))

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
    """Prepare the workspace, check whether something else would be tested instead, and run each command once."""
    assert isinstance(job.session, Delivery), "only deliveries validate"
    started = time.monotonic()
    place, setup = await ready(
        job, workspaces=workspaces, home=home, fencing=fencing, settings=settings, observe=observe
    )
    baseline = Baseline(setup=setup)
    if all(command.passed for command in setup):
        baseline = await _baseline(job.session.steps, place, settings, setup)
        await asyncio.to_thread(trust, job, place, workspaces)
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
    """The validation of an iteration. A new folder is prepared first. Without a baseline, it is checked here whether
    something else would be tested instead: a success would prove nothing."""
    assert isinstance(job.session, Delivery), "only deliveries validate"
    place, setup = await ready_to_validate(
        job, workspaces=workspaces, home=home, fencing=fencing, settings=settings, observe=observe
    )
    failure = unready(Baseline(setup=setup))
    if failure is not None and job.session.baseline:  # the set-up has succeeded before: the work is what breaks it
        return set_up_failed(job, setup[-1])
    if failure is None and not job.session.baseline:
        inspection = await _inspect(job.session.steps, place, settings)
        failure, place = unready(Baseline(escapes=inspection.escapes)), place.also(dict(inspection.env))
    if failure is None:
        return await validate(job, place=place, settings=settings)
    return RecordValidation(turn_id=job.lease.turn_id, attempt=job.lease.attempt, passed=False, failure=failure)


async def _inspect(steps: Sequence[ValidationStep], place: CommandPlace, settings: ValidationSettings) -> Inspection:
    async def probe(argv: Sequence[str], extra: Mapping[str, str]) -> str:
        step = ValidationStep(stage="custom", command=argv[0], argv=tuple(argv))
        quiet = replace(place.also(extra), observe=lambda _: None)  # a question of ours, not a command of the person's
        finished = await run_step(step, quiet, settings, anything=True)
        return finished.stdout if finished.exit_code == 0 else ""

    return await inspect(
        place.folder,
        steps,
        clean_environment(place.env, home=place.home),
        probe,
        checkout=place.checkout,
        linked=place.grant.linked,
        fenced=place.fence().level != "none",
    )


async def _baseline(
    steps: Sequence[ValidationStep], place: CommandPlace, settings: ValidationSettings, setup: tuple[SetupCommand, ...]
) -> Baseline:
    inspection = await _inspect(steps, place, settings)
    env = {name: relative(value, place.top) for name, value in inspection.env}
    ran = [await _run(step, place.also(dict(inspection.env)), settings) for step in steps]
    return Baseline(commands=tuple(ran), setup=setup, escapes=inspection.escapes, env=env)


async def _run(step: ValidationStep, place: CommandPlace, settings: ValidationSettings) -> BaselineCommand:
    finished = await run_step(step, place, settings)
    passed = finished.ended == "exit" and finished.exit_code == 0
    hidden, packages = (None, None) if passed else _in_checkout(step, place)
    remedy = hidden or packages
    detail = finished.detail if finished.ended == "not_started" else ""
    why = () if passed else reasons_of(run_of(step, finished, settings), finished)
    return BaselineCommand(
        stage=step.stage,
        command=step.command,
        startable=can_start(step, finished, place.folder) and not hidden,
        exit_code=DID_NOT_EXIT if finished.exit_code is None else finished.exit_code,
        passed=passed,
        seconds=round(finished.seconds, 3),
        detail=str(detail),
        sentence=coded(detail),
        remedy=str(remedy or ""),
        remedy_sentence=remedy,
        reasons=tuple(filter(None, (str(remedy or ""), *why)))[:MOST],
    )


def _in_checkout(step: ValidationStep, place: CommandPlace) -> tuple[Sentence | None, Sentence | None]:
    """What to do about the command's own program, and about packages, that only the checkout has; None if nothing.
    Another program of the same name, if one runs instead, is not the one that the person uses."""
    if place.checkout is None:
        return None, None
    path = clean_environment(place.env)["PATH"]
    hidden = hidden_program(
        step.argv[0], checkout=place.checkout, workspace=place.top, path=path, hides=place.grant.hides
    )
    return hidden, missing_packages(checkout=place.checkout, workspace=place.top)
