"""Runs on this machine what needs no agent: the workspace is prepared and validated before the first agent is asked
(contract-2 §8, §9), each iteration is validated, and a result lands (contract-2 §12)."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from adapters.processes.environment import clean_environment
from adapters.project.escapes import hidden_program, missing_packages
from adapters.turns.commands.clock import BudgetClock
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.land import land
from adapters.turns.commands.prepare import CommandPlaces, Ready, relative
from adapters.turns.commands.rounds import Judge, check_merged, validate_round
from adapters.turns.commands.run import (
    CommandPlace,
    ValidationSettings,
    can_start,
    output_of,
    reasons_of,
    run_of,
    run_step,
)
from adapters.turns.commands.validate import WorkValidation, WorkVerdict
from adapters.turns.commands.weaker_tests import weakened
from adapters.turns.job import Job
from adapters.turns.live import Live
from adapters.turns.merged_check import MergedCheck
from adapters.workspace import Workspaces
from domain.checks.test_counts import counts_in, together
from domain.delivery.commands import RecordBaseline, RecordValidation
from domain.delivery.state import Delivery
from domain.delivery.validation import MOST, Baseline, BaselineCommand, unready
from domain.orchestration.commands import RecordRound
from domain.orchestration.state import Orchestration
from domain.session.attempts import Failure
from domain.session.landing import RecordLanding
from domain.session.validation import DID_NOT_EXIT, ValidationStep
from domain.values.base import Text
from domain.values.sentences import Sentence, coded


class Commands(Protocol):
    """Runs the commands of a session."""

    async def prepare(self, job: Job) -> RecordBaseline:
        """Prepare the workspace and run each validation command once."""
        ...

    async def validate(self, job: Job) -> RecordValidation | RecordRound:
        """Run the validation of an iteration or a round."""
        ...

    async def land(self, job: Job) -> RecordLanding:
        """Merge the result into a branch if its validation passes there."""
        ...

    async def check_merged(self, job: Job, tree: str) -> MergedCheck:
        """Run the validation on the work together with what people have committed."""
        ...

    def ready(self, job: Job, *, services: bool = False) -> AbstractAsyncContextManager[tuple[Failure | None, Job]]:
        """Prepare the folder in which an agent is asked, and run the services meanwhile if it wants them. Gives why
        that failed, if it did, and the job with its surroundings."""
        ...


@dataclass(frozen=True, slots=True)
class HostCommands:
    """Runs them in a fence. `homes` has a home for the commands of each session."""

    workspaces: Workspaces
    homes: Path
    fencing: Fencing
    settings: ValidationSettings
    live: Live
    clock: BudgetClock

    async def prepare(self, job: Job) -> RecordBaseline:
        """The baseline of a delivery, or of the work that an orchestration plans."""
        assert isinstance(job.session, Delivery | Orchestration), "only these have commands"
        started = time.monotonic()
        baseline = await self.baseline(job, job.session.steps)
        return RecordBaseline(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            baseline=baseline,
            seconds=time.monotonic() - started,
            slot=job.slot,
            refused_hosts=job.refusals.hosts(),
        )

    async def baseline(self, job: Job, steps: Sequence[ValidationStep]) -> Baseline:
        """Prepare the workspace, look whether something else would be tested instead, and run each command once."""
        places = self._places(job)
        try:
            return await self._baseline(places, steps)
        finally:
            await places.close()

    async def _baseline(self, places: CommandPlaces, steps: Sequence[ValidationStep]) -> Baseline:
        ready = await places.ready()
        if not ready.passed:
            return Baseline(setup=ready.setup)
        await places.keep_caches()
        base = (await places.workspace()).base()
        result = await self._untouched(WorkValidation(places, self.clock, base=base), steps, ready, base)
        await places.trust(ready.place)
        return result

    async def validate(self, job: Job) -> RecordValidation | RecordRound:
        """The validation of an iteration of a delivery, or of a round of an orchestration."""
        if not isinstance(job.session, Orchestration):
            return await self._validate_iteration(job)
        session = job.session
        base = (await self._places(job).workspace()).base()
        return await validate_round(job, session, base=base, judge=self._judge(job, session))

    async def check_merged(self, job: Job, tree: str) -> MergedCheck:
        """Run the validation on the work together with what people have committed."""
        session = job.session
        if not isinstance(session, Delivery | Orchestration):
            return MergedCheck()
        return await check_merged(session, tree, self._judge(job, session))

    def _judge(self, job: Job, session: Delivery | Orchestration) -> Judge:
        """Runs commands on the session's work as it is, or on another state of it."""
        flaky_before = [command.command for command in session.baseline if command.flaky]
        inspected = bool(session.baseline) if isinstance(session, Delivery) else session.baselined

        async def judge(steps: Sequence[ValidationStep], tree: str | None) -> WorkVerdict:
            return await self.verdict(
                job, steps, tree=tree, flaky_before=flaky_before, before=session.baseline, inspected=inspected
            )

        return judge

    async def _validate_iteration(self, job: Job) -> RecordValidation:
        """The validation of an iteration of a delivery. Without a baseline, it is looked at here whether something else
        would be tested instead: a success would prove nothing."""
        session = job.session
        assert isinstance(session, Delivery), "only deliveries have iterations"
        started = time.monotonic()
        await self.clock.resume(job)
        flaky_before = [command.command for command in session.baseline if command.flaky]
        flaky_before += [flake.command for flake in session.flaky.values() if flake.known]
        verdict = await self.verdict(
            job, session.steps, flaky_before=flaky_before, before=session.baseline, inspected=bool(session.baseline)
        )
        seconds = time.monotonic() - started
        if verdict.failure is not None:
            await self.clock.give_back(job)
            return RecordValidation(
                turn_id=job.lease.turn_id,
                attempt=job.lease.attempt,
                passed=False,
                failure=verdict.failure,
                seconds=seconds,
                slot=job.slot,
                refused_hosts=job.refusals.hosts(),
            )
        report, blobs = Text.of(verdict.report())
        fence = verdict.place.fence() if verdict.place else None
        return RecordValidation(
            turn_id=job.lease.turn_id,
            attempt=job.lease.attempt,
            passed=verdict.passed,
            classification=verdict.result.failure_class,
            summary=verdict.result.summary,
            sentence=verdict.result.sentence,
            reasons=verdict.reasons,
            report=report,
            clean_room=verdict.clean_room,
            coverage=verdict.coverage,
            flaky=verdict.flaky,
            cause=verdict.cause,
            weakened=verdict.weakened,
            no_tests=verdict.passed and verdict.ran_no_tests,
            apart_ms=self.clock.taken(job),
            seconds=seconds,
            slot=job.slot,
            fence=fence.level if fence else None,
            fence_gaps=fence.gaps if fence else (),
            refused_hosts=job.refusals.hosts(),
            blobs=blobs,
        )

    async def verdict(
        self,
        job: Job,
        steps: Sequence[ValidationStep],
        *,
        tree: str | None = None,
        flaky_before: Collection[str] = (),
        before: Sequence[BaselineCommand] = (),
        inspected: bool = True,
    ) -> WorkVerdict:
        """Validate a state of the session's work, whatever kind of session it is: the recorded one, or `tree`.

        `flaky_before` are the commands that are flaky without the work, and `before` is how they ran there. Unless it
        was `inspected` before whether the commands test something other than the workspace, that is looked at first.
        """
        places = self._places(job)
        workspace = await places.workspace()
        commands = [step.command for step in steps]
        tests = {each.command: each.tests for each in before if each.command in commands}
        validation = WorkValidation(places, self.clock, base=workspace.base(), flaky_before=flaky_before, tests=tests)
        verdict = await validation.run(steps, tree=tree, inspected=inspected)
        state = tree or job.session.tree
        if verdict.failure is not None or state is None or workspace.in_place is not None:
            return verdict
        counted = verdict.counted if verdict.compares_tests else ()
        less = await asyncio.to_thread(
            weakened,
            workspace,
            state,
            commands,
            before=together(count for command in counted for count in tests.get(command, ())),
            after=verdict.tests if counted else (),
        )
        if verdict.coverage_report is None:
            return replace(verdict, weakened=less)
        return replace(
            verdict, weakened=less, coverage=await asyncio.to_thread(verdict.coverage_report.of, workspace, state)
        )

    @asynccontextmanager
    async def ready(self, job: Job, *, services: bool = False) -> AsyncIterator[tuple[Failure | None, Job]]:
        """Prepare the folder in which an agent is asked, and run the services meanwhile if it wants them."""
        preparation = job.preparation
        if job.request.access == "none" or not (preparation.needs_work or preparation.has_own_network):
            yield None, job
            return
        places = replace(self._places(job), serves=services)
        try:
            ready = await places.ready()
            failure = unready(Baseline(setup=ready.setup))
            if isinstance(job.session, Delivery) and job.session.baseline:
                failure = None  # that has succeeded before: the work is what breaks it, and its author can correct that
            yield failure, replace(job, site=places.sites.there(ready.place.folder))
        finally:
            await places.close()

    async def land(self, job: Job) -> RecordLanding:
        """Merge the result into a branch if its validation passes there."""
        return await land(self._places(job), self.clock)

    def _places(self, job: Job) -> CommandPlaces:
        return CommandPlaces(
            job=job,
            workspaces=self.workspaces,
            home=self.homes / job.session.id,
            fencing=self.fencing,
            settings=self.settings,
            observe=self.live.attempt(job.lease.turn_id).observe,
        )

    # -- the baseline ------------------------------------------------------------------------------------------------

    async def _untouched(
        self, validation: WorkValidation, steps: Sequence[ValidationStep], ready: Ready, base: str
    ) -> Baseline:
        """The results of the commands on the untouched workspace."""
        place = ready.place.also({"HANSARD_BASE": base})
        inspection = await validation.inspect(steps, place)
        env = {name: relative(value, place.top) for name, value in inspection.env}
        place = place.also(dict(inspection.env))
        ran = [await self._untouched_run(validation, steps[: number + 1], place, base) for number in range(len(steps))]
        return Baseline(commands=tuple(ran), setup=ready.setup, escapes=inspection.escapes, env=env)

    async def _untouched_run(
        self, validation: WorkValidation, steps: Sequence[ValidationStep], place: CommandPlace, base: str
    ) -> BaselineCommand:
        """The run of the last of these commands. One that fails is run again: it may be flaky."""
        step = steps[-1]
        await validation.serve(place)
        finished = await run_step(step, place, self.settings)
        passed, flaky = finished.ended == "exit" and finished.exit_code == 0, False
        hidden, packages = (None, None) if passed else _in_checkout(step, place)
        if not passed and finished.ended != "not_started" and not (hidden or packages):
            repeated = await validation.again(steps, finished, place, base, at_base=True)
            if repeated is not None:
                finished, passed, flaky = repeated.run, True, True
        remedy = hidden or packages
        detail = finished.detail if finished.ended == "not_started" else ""
        why = () if passed else reasons_of(run_of(step, finished, self.settings), finished)
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
            flaky=flaky,
            tests=counts_in(output_of(finished)),
        )


def _in_checkout(step: ValidationStep, place: CommandPlace) -> tuple[Sentence | None, Sentence | None]:
    """The advice about the command's own program, and about packages, that only the checkout has; None if nothing.
    Another program of the same name, if one runs instead, is not the one that the person uses."""
    if place.checkout is None:
        return None, None
    path = clean_environment(place.env)["PATH"]
    hidden = hidden_program(
        step.argv[0], checkout=place.checkout, workspace=place.top, path=path, hides=place.grant.hides
    )
    return hidden, missing_packages(checkout=place.checkout, workspace=place.top)
