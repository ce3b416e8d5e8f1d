"""Validates a state of the work: its commands run in the workspace, and then as in a clone of it (contract-3 §17).

A pass in the workspace is not enough where something lies there that a clone would not have: the commands have to pass
in a fresh checkout, too. A command that fails is run again on fresh copies of the same tree: if it passes, it is flaky,
which is said, and counts as passed.
"""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import orjson

from adapters.processes.environment import clean_environment
from adapters.processes.program import Finished
from adapters.project.escapes import Inspection, inspect
from adapters.services.site import ServiceRun
from adapters.turns.commands.clock import BudgetClock
from adapters.turns.commands.coverage import AwaitedReport, WrittenReport
from adapters.turns.commands.prepare import CommandPlaces, RepeatedPlace
from adapters.turns.commands.run import CommandPlace, output_of, own_program, reasons_of, run_of, run_step
from domain.checks.test_counts import (
    NO_COUNTS,
    RunnerCount,
    calls_runner,
    counts_in,
    names_none,
    none_ran,
    some_ran,
    together,
)
from domain.checks.weakening import Weakening
from domain.delivery.validation import Baseline, failed_tests, not_startable, service_state, unready
from domain.session.attempts import Failure
from domain.session.validation import (
    Cause,
    CleanRoom,
    CommandRun,
    Flake,
    SetupCommand,
    ValidationResult,
    ValidationStep,
    WorkCoverage,
    outcome,
)
from domain.values.sentences import Sentence, with_output

_CLEAN, _AGAIN, _AT_BASE = 0, 1, 2
"""The numbers of the fresh checkouts: the clean room, and the places where a command is run again."""
_NOTHING_RAN: Final = outcome(())


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkVerdict:
    """The findings of a validation. With a `failure` it has shown nothing."""

    result: ValidationResult = _NOTHING_RAN
    outputs: tuple[Finished, ...] = ()
    reasons: tuple[str, ...] = ()
    clean_room: CleanRoom | None = None
    """None where the commands were not run as in a clone."""
    in_clean_room: tuple[dict[str, Any], ...] = ()
    """The commands that ran in a fresh checkout besides the workspace, for the report."""
    flaky: tuple[Flake, ...] = ()
    stale: tuple[str, ...] = ()
    """The commands that failed only by what lay in the workspace."""
    cause: Cause | None = None
    tests: tuple[RunnerCount, ...] = ()
    """The number of tests that ran, as far as the output says."""
    counted: tuple[str, ...] = ()
    """The commands whose tests these are: those up to the first that failed."""
    weakened: tuple[Weakening, ...] = ()
    """The reasons why the validation proves less than before the work."""
    coverage_report: WrittenReport | None = None
    """The coverage that the commands have written; None where it is not asked, or they did not pass."""
    coverage: WorkCoverage | None = None
    failure: Failure | None = None
    place: CommandPlace | None = None
    services: tuple[ServiceRun, ...] = ()
    """The services that ran beside the commands, with what they said."""

    @property
    def passed(self) -> bool:
        return self.failure is None and self.result.passed

    @property
    def compares_tests(self) -> bool:
        """True if the number of tests says something: after another failure, runners may have stopped early."""
        return self.passed or self.cause == "no_tests"

    @property
    def ran_no_tests(self) -> bool:
        """True if a runner said that it ran no test, and none ran any: a pass then proves nothing."""
        return none_ran(self.tests)

    def report(self) -> str:
        """The validation as an artifact (JSON): every command with its output. The middle of long output is left out;
        `leftOut` counts its bytes."""
        result = self.result
        room = None if self.clean_room is None else self.clean_room.model_dump(by_alias=True) | {}
        whole: dict[str, Any] = {
            "passed": result.passed,
            "classification": result.failure_class,
            "summary": result.summary,
            "reason": self.cause,
            "runs": [_shown(run, finished) for run, finished in zip(result.runs, self.outputs, strict=True)],
            "cleanRoom": False if room is None else room | ({"runs": self.in_clean_room} if self.in_clean_room else {}),
            "flaky": [flake.model_dump(by_alias=True) for flake in self.flaky],
            "weakened": [weakening.model_dump(by_alias=True) for weakening in self.weakened],
            "stale": self.stale,
        }
        if self.coverage is not None:
            whole["coverage"] = self.coverage.model_dump(by_alias=True)
        if self.services:
            whole["services"] = [service.shown() for service in self.services]
        return orjson.dumps(whole).decode()


@dataclass(slots=True)
class _Series:
    """The commands that ran in one place, one by one until one failed."""

    runs: list[CommandRun]
    outputs: list[Finished]
    flaky: list[Flake]
    stale: list[str]

    @property
    def tests(self) -> tuple[RunnerCount, ...]:
        """The number of tests that ran, as far as the output says."""
        return together(count for output in self.outputs for count in counts_in(output_of(output)))

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(run.command for run in self.runs)

    @property
    def passed(self) -> bool:
        return all(run.passed for run in self.runs)


class Repetition(NamedTuple):
    """The runs of a command that failed and passed on the same tree: `run` is the one that passed. Without a `flake`,
    it fails in the workspace each time, by what lies there, and passes in a fresh checkout."""

    run: Finished
    flake: Flake | None = None


class WorkValidation:
    """Runs the commands of one turn. `base` is the commit that the work starts from, `flaky_before` are the commands
    that were flaky there, and `tests` says how many tests each of them ran there."""

    def __init__(
        self,
        places: CommandPlaces,
        clock: BudgetClock,
        *,
        base: str,
        flaky_before: Collection[str] = (),
        tests: Mapping[str, Sequence[RunnerCount]] = NO_COUNTS,
    ) -> None:
        self._places, self._clock, self._base, self._known, self._tests = places, clock, base, flaky_before, tests
        self._settings, self._preparation = places.settings, places.job.preparation
        self._repeating = 0.0

    async def run(
        self, steps: Sequence[ValidationStep], *, tree: str | None = None, inspected: bool = True
    ) -> WorkVerdict:
        """The verdict, once its services have ended."""
        try:
            verdict = await self._run(steps, tree=tree, inspected=inspected)
        finally:
            services = await self._places.close()
        return replace(verdict, services=services) if services else verdict

    async def _run(self, steps: Sequence[ValidationStep], *, tree: str | None, inspected: bool) -> WorkVerdict:
        """Validate the recorded state, or that of `tree`. If a program cannot be started, that is no verdict on the
        work, unless the program is part of the work. Unless it was `inspected` before whether the commands test
        something other than the workspace, that is looked at first."""
        ready = await self._places.tidied(tree)
        if not ready.passed:
            return await self._set_up_failed(ready.setup)
        place = self._with_base(ready.place)
        if not inspected:
            inspection = await self.inspect(steps, place)
            if failure := unready(Baseline(escapes=inspection.escapes)):
                return WorkVerdict(failure=failure, place=place)
            place = place.also(dict(inspection.env))
        dirty = not ready.as_in_clone and await self._places.has_leftovers(place)
        report = await self._awaited(place)
        series = await self._series(steps, place, tree, may_be_stale=dirty)
        if series.stale:
            await self._places.set_up_again(place)
        verdict = replace(self._verdict(series, steps, place), coverage_report=await self._report_of(report, series))
        if (await self._places.workspace()).in_place is not None or not self._preparation.clean_room:
            return verdict
        if not dirty and not self._preparation.setup:
            return replace(verdict, clean_room=CleanRoom(needed=False))
        return await self._in_clean_room(verdict, steps, tree, place) if verdict.passed else verdict

    async def _awaited(self, place: CommandPlace) -> AwaitedReport | None:
        """The coverage report that the commands are expected to write there, if there is to be one."""
        path = self._preparation.coverage
        return None if path is None else await asyncio.to_thread(AwaitedReport.before, place.top, place.folder, path)

    async def _report_of(self, report: AwaitedReport | None, series: "_Series") -> WrittenReport | None:
        """The report after commands that passed. What a command wrote that failed first says too little."""
        if report is None or not series.passed:
            return None
        repeated = bool(series.flaky or series.stale)
        return await asyncio.to_thread(report.after, repeated=repeated)

    async def serve(self, place: CommandPlace) -> None:
        """Start the services of a place again, if they had to make room for those of another one."""
        await self._places.serve(place)

    async def _in_clean_room(
        self, verdict: WorkVerdict, steps: Sequence[ValidationStep], tree: str | None, before: CommandPlace
    ) -> WorkVerdict:
        """The verdict of a fresh checkout about commands that passed in the workspace."""
        began = time.monotonic()
        async with AsyncExitStack() as room:
            async with self._clock.stopped(self._places.job, "setup"):
                ready = await room.enter_async_context(self._places.fresh(tree, _CLEAN))
                if not ready.passed:
                    failed = await self._set_up_failed(ready.setup)
                    clean = CleanRoom(needed=True, seconds=_since(began), setup=ready.setup, same=False)
                    return failed if failed.failure else replace(failed, clean_room=clean)
            place = self._moved(self._with_base(ready.place), before)
            report = await self._awaited(place)
            series = await self._series(steps, place, tree)
            verdict = replace(verdict, coverage_report=await self._report_of(report, series))
        clean = CleanRoom(
            needed=True, seconds=_since(began), setup=ready.setup, same=series.passed, stale=verdict.stale
        )
        there = tuple(_shown(run, finished) for run, finished in zip(series.runs, series.outputs, strict=True))
        flaky = _together(verdict.flaky, series.flaky)
        if series.passed:
            verdict = replace(verdict, clean_room=clean, flaky=flaky, in_clean_room=there)
            return replace(verdict, tests=series.tests, counted=series.commands)
        failed_run, output = series.runs[-1], series.outputs[-1]
        result = outcome(series.runs)
        code = "no_tests_in_clean_room" if failed_run.no_tests else "only_passes_with_leftovers"
        sentence = Sentence(code, command=failed_run.command)
        return replace(
            verdict,
            result=verdict.result.changed(
                passed=False,
                failure_class=result.failure_class,
                summary=f"{sentence}\n{result.summary}",
                sentence=sentence,
            ),
            reasons=reasons_of(failed_run, output),
            clean_room=clean,
            in_clean_room=there,
            flaky=flaky,
            cause="no_tests" if failed_run.no_tests else "only_passes_with_leftovers",
            tests=series.tests,
            counted=series.commands,
        )

    def _verdict(self, series: _Series, steps: Sequence[ValidationStep], place: CommandPlace) -> WorkVerdict:
        last = steps[len(series.runs) - 1] if series.runs else None
        if last is not None and series.outputs[-1].ended == "not_started" and not own_program(last, place.folder):
            why = not_startable(last.command, series.outputs[-1].detail)
            return WorkVerdict(failure=Failure.of("validation_not_startable", why), place=place)
        result = outcome(series.runs)
        return WorkVerdict(
            result=result,
            outputs=tuple(series.outputs),
            reasons=() if result.passed else reasons_of(series.runs[-1], series.outputs[-1]),
            flaky=tuple(series.flaky),
            stale=tuple(series.stale),
            cause="no_tests" if series.runs and series.runs[-1].no_tests else None,
            tests=series.tests,
            counted=series.commands,
            place=place,
        )

    async def _set_up_failed(self, setup: Sequence[SetupCommand]) -> WorkVerdict:
        """The verdict where the set-up does not succeed: on the work, unless the set-up fails on the base tree, too.
        Then it is waited for. A folder without git has no base tree to try."""
        failed = setup[-1]
        if (await self._places.workspace()).in_place is None and not await self._base_can_be_set_up():
            sentence = _everywhere(failed)
            return WorkVerdict(failure=Failure.of("setup", with_output(sentence, failed.tail)))
        run = CommandRun(
            stage="custom",
            command=failed.command,
            argv=(failed.command,),
            exit_code=failed.exit_code,
            seconds=failed.seconds,
            tail=failed.tail,
        )
        finished = Finished(failed.exit_code, failed.tail, "", truncated=False, seconds=failed.seconds, ended="exit")
        return WorkVerdict(
            result=outcome([run]), outputs=(finished,), reasons=reasons_of(run, finished), cause="setup_failed"
        )

    async def _base_can_be_set_up(self) -> bool:
        async with (
            self._clock.stopped(self._places.job, "setup"),
            self._places.fresh(self._base, _AGAIN) as ready,
        ):
            return ready.passed

    # -- one command -------------------------------------------------------------------------------------------------

    async def _series(
        self, steps: Sequence[ValidationStep], place: CommandPlace, tree: str | None, *, may_be_stale: bool = False
    ) -> _Series:
        """Run the commands until one fails or cannot be started. `may_be_stale`: something lies in the place that a
        clone would not have, and it may be out of date."""
        series = _Series([], [], [], [])
        for number, step in enumerate(steps):
            await self._places.serve(place)
            finished = await run_step(step, place, self._settings)
            run = run_of(step, finished, self._settings)
            if not run.passed and finished.ended != "not_started":
                repeated = await self.again(steps[: number + 1], finished, place, tree, may_be_stale=may_be_stale)
                if repeated is not None:
                    if repeated.flake is None:
                        series.stale.append(step.command)
                    else:
                        series.flaky.append(repeated.flake)
                    run, finished = run_of(step, repeated.run, self._settings), repeated.run
            if self._lost_its_tests(step, finished):
                run = run.changed(no_tests=True)
            series.runs.append(run)
            series.outputs.append(finished)
            if not run.passed:
                break
        return series

    def _lost_its_tests(self, step: ValidationStep, finished: Finished) -> bool:
        """True if tests ran before the work, and the runner says now that it ran none, whatever its exit code, or says
        nothing: code that is tested may end the process with success before any test runs."""
        if finished.ended != "exit" or not some_ran(self._tests.get(step.command, ())):
            return False
        output = output_of(finished)
        counts = counts_in(output)
        if not counts:
            return not finished.exit_code and calls_runner(step.command)
        return none_ran(counts) and (not finished.exit_code or names_none(output))

    async def again(
        self,
        steps: Sequence[ValidationStep],
        first: Finished,
        place: CommandPlace,
        tree: str | None,
        *,
        at_base: bool = False,
        may_be_stale: bool = False,
    ) -> Repetition | None:
        """Run the last of these commands again, which failed, each time on a fresh copy of the same tree. None if it
        fails every time. No run counts for the budget. `at_base`: the tree is the base tree, so that what is flaky
        there is known. `may_be_stale`: see `_series`."""
        if not self._preparation.repeat or (await self._places.workspace()).in_place is not None:
            return None
        step, failing = steps[-1], [first]
        async with self._clock.stopped(self._places.job, "repeat"), self._places.repeats(tree, _AGAIN) as room:
            for _ in range(self._preparation.repeat):
                finished = await self._once_more(room, steps, place)
                if finished is None:
                    return None
                if not self._passes(step, finished):
                    failing.append(finished)
                    continue
                if may_be_stale and len(failing) == 1 and await self._fails_each_time(step, place):
                    return Repetition(finished)
                runs = len(failing) + 1
                flake = Flake(
                    stage=step.stage,
                    command=step.command,
                    runs=runs,
                    failed=len(failing),
                    tests=tuple(dict.fromkeys(name for each in failing for name in failed_tests(output_of(each)))),
                    known=at_base or step.command in self._known or await self._is_flaky_at_base(steps, place, runs),
                )
                return Repetition(finished, flake)
        return None

    def _passes(self, step: ValidationStep, finished: Finished) -> bool:
        return run_of(step, finished, self._settings).passed

    async def _fails_each_time(self, step: ValidationStep, place: CommandPlace) -> bool:
        """True if the command fails again and again in the same place."""
        await self._places.serve(place)
        for _ in range(self._preparation.repeat):
            finished = await self._timed(step, place)
            if finished is None or self._passes(step, finished):
                return False
        return True

    async def _is_flaky_at_base(self, steps: Sequence[ValidationStep], place: CommandPlace, runs: int) -> bool:
        """True if the command passes and fails on the base tree, run as often there."""
        ends: set[bool] = set()
        async with self._places.repeats(self._base, _AT_BASE) as room:
            for _ in range(runs):
                finished = await self._once_more(room, steps, place)
                if finished is None:
                    return False
                ends.add(self._passes(steps[-1], finished))
                if len(ends) > 1:
                    return True
        return False

    async def _once_more(
        self, room: RepeatedPlace, steps: Sequence[ValidationStep], before: CommandPlace
    ) -> Finished | None:
        """Run the last of the commands as in a fresh checkout, after those before it. None if the time for repeated
        runs is over, or if a fresh checkout cannot be made."""
        if not room.passed:
            return None
        renewed = await room.renewed()
        if renewed is None:
            return None
        place = self._moved(self._with_base(renewed), before)
        finished: Finished | None = None
        for step in steps:
            finished = await self._timed(step, place)
            if finished is None or not self._passes(step, finished):
                break
        return finished

    async def _timed(self, step: ValidationStep, place: CommandPlace) -> Finished | None:
        """The run of a command in the time that is left for repeated runs; None if that is not enough."""
        left = self._preparation.repeat_seconds - self._repeating
        if left <= 0:
            return None
        began, seconds = time.monotonic(), min(self._settings.validation_timeout, left)
        try:
            finished = await run_step(step, place, self._settings, seconds=seconds)
        finally:
            self._repeating += time.monotonic() - began
        return None if finished.ended == "timeout" and seconds < self._settings.validation_timeout else finished

    async def inspect(self, steps: Sequence[ValidationStep], place: CommandPlace) -> Inspection:
        """Look whether the commands would test something other than the workspace."""

        async def probe(argv: Sequence[str], extra: Any) -> str:
            step = ValidationStep(stage="custom", command=argv[0], argv=tuple(argv))
            quiet = replace(place.also(extra), observe=lambda _: None)  # our own question, not the person's command
            finished = await run_step(step, quiet, self._settings, anything=True)
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

    def _with_base(self, place: CommandPlace) -> CommandPlace:
        """The place, with the name of the commit that the work starts from."""
        return place.also({"HANSARD_BASE": self._base})

    def _moved(self, place: CommandPlace, before: CommandPlace) -> CommandPlace:
        """The place with the variables of another one that it does not have; paths in that folder are paths in this
        one."""
        more = {name: value for name, value in before.env.items() if name not in place.env}
        old, new = str(before.top), str(place.top)
        moved = {
            name: ":".join(
                new + part[len(old) :] if part == old or part.startswith(f"{old}/") else part
                for part in value.split(":")
            )
            for name, value in more.items()
        }
        return place.also(moved)


def _everywhere(failed: SetupCommand) -> Sentence:
    if failed.service:
        return Sentence("service_fails_everywhere", state=service_state(failed))
    return Sentence("setup_fails_everywhere", command=failed.command, number=failed.exit_code)


def _together(first: Sequence[Flake], second: Sequence[Flake]) -> tuple[Flake, ...]:
    """The flakes of both places, each command once: as often as it ran and failed in both."""
    flakes = {flake.command: flake for flake in first}
    for flake in second:
        if (earlier := flakes.get(flake.command)) is not None:
            flake = flake.changed(
                runs=earlier.runs + flake.runs,
                failed=earlier.failed + flake.failed,
                tests=tuple(dict.fromkeys((*earlier.tests, *flake.tests))),
                known=earlier.known or flake.known,
            )
        flakes[flake.command] = flake
    return tuple(flakes.values())


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


def _shown(run: CommandRun, finished: Finished) -> dict[str, Any]:
    """One command in the report."""
    return {
        "stage": run.stage,
        "command": run.command,
        "argv": run.argv,
        "exitCode": run.exit_code,
        "seconds": run.seconds,
        "ended": run.ended,
        "truncated": run.truncated,
        "leftOut": finished.left_out,
        "detail": f"It {run.reason}." if run.reason else finished.detail,
        "stdout": finished.stdout,
        "stderr": finished.stderr,
    }
