"""Validates the work of a round of an orchestration, or what a direct answer changed (contract-3 §17); and the work of
any session together with what people have committed on its branch."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from adapters.turns.commands.validate import WorkVerdict
from adapters.turns.job import Job
from adapters.turns.merged_check import MergedCheck
from domain.checks.test_counts import none_ran, together
from domain.delivery.coverage import together as coverages_together
from domain.delivery.state import Delivery
from domain.delivery.validation import new_failures
from domain.orchestration.commands import RecordRound
from domain.orchestration.events import TreeFailures
from domain.orchestration.state import Orchestration
from domain.session.attempts import Failure
from domain.session.state import Session
from domain.session.validation import ValidationStep
from domain.values.base import Text

Judge = Callable[[Sequence[ValidationStep], str | None], Awaitable[WorkVerdict]]
"""Runs commands on the recorded state of the session's work, or on another tree."""


async def validate_round(job: Job, session: Orchestration, *, base: str, judge: Judge) -> RecordRound:
    """Run the commands on the work as it is now. If there are new failures, the earlier trees of the round are checked
    in the order of merging, up to the first that shows them; for a direct answer, the tree that it began with."""
    started = time.monotonic()
    parts = _groups(session)
    verdicts = await _verdicts(parts, None, judge)
    if failure := _failure(verdicts):
        return RecordRound(failure=failure, seconds=time.monotonic() - started, **_ids(job))
    reasons = _reasons(verdicts)
    open_ = set(new_failures(reasons, session.baseline))
    earlier: list[TreeFailures] = []
    for tree in list(session.trees.values())[:-1] if session.agents else [base]:
        if not open_:
            break
        there = await _verdicts(parts, tree, judge)
        if _failure(there):
            continue
        earlier.append(TreeFailures(tree=tree, reasons=_reasons(there)))
        open_ -= set(earlier[-1].reasons)
    report, blobs = Text.of(_report(verdicts))
    last = next((each for each in verdicts if not each.passed), verdicts[-1])
    fence = last.place.fence() if last.place else None
    return RecordRound(
        passed=all(each.passed for each in verdicts),
        summary=last.result.summary,
        sentence=last.result.sentence,
        reasons=reasons,
        flaky=tuple(flake for each in verdicts for flake in each.flaky),
        weakened=tuple(dict.fromkeys(each for verdict in verdicts for each in verdict.weakened)),
        no_tests=all(each.passed for each in verdicts)
        and none_ran(together(n for each in verdicts for n in each.tests)),
        clean_room=next((each.clean_room for each in verdicts if each.clean_room), None),
        coverage=coverages_together([each.coverage for each in verdicts if each.coverage]),
        earlier=tuple(earlier),
        report=report,
        seconds=time.monotonic() - started,
        fence=fence.level if fence else None,
        fence_gaps=fence.gaps if fence else (),
        refused_hosts=job.refusals.hosts(),
        blobs=blobs,
        **_ids(job),
    )


async def check_merged(session: Session, tree: str, judge: Judge) -> MergedCheck:
    """Validate a state that has the work and people's commits: what counts is what fails neither before the work nor in
    the work alone."""
    if not isinstance(session, Delivery | Orchestration) or not session.steps:
        return MergedCheck()
    groups = [list(session.steps)] if isinstance(session, Delivery) else _groups(session)
    verdicts = await _verdicts(groups, tree, judge)
    if failure := _failure(verdicts):
        return MergedCheck(failure=failure)
    if all(each.passed for each in verdicts):
        return MergedCheck(tuple(step.command for step in session.steps))
    open_ = new_failures(_reasons(verdicts), session.baseline)
    if isinstance(session, Orchestration) and open_:
        alone = await _verdicts(groups, None, judge)
        open_ = tuple(reason for reason in open_ if reason not in _reasons(alone))
    return MergedCheck(reasons=open_)


def _ids(job: Job) -> dict[str, Any]:
    return {"turn_id": job.lease.turn_id, "attempt": job.lease.attempt, "slot": job.slot}


def _groups(session: Orchestration) -> list[list[ValidationStep]]:
    """The commands in groups, each of which ends at its first failure: those that passed before any change, and each of
    the others alone, so that a failure that was there before hides none."""
    red = {command.command for command in session.baseline if not command.passed}
    if not session.agents:  # nothing is known of the time before
        return [[step] for step in session.steps]
    green = [step for step in session.steps if step.command not in red]
    return [*([green] if green else []), *([step] for step in session.steps if step.command in red)]


async def _verdicts(parts: Sequence[Sequence[ValidationStep]], tree: str | None, judge: Judge) -> list[WorkVerdict]:
    """The verdicts on the tree; the last one alone has a failure if the commands could not run."""
    verdicts: list[WorkVerdict] = []
    for steps in parts:
        verdicts.append(await judge(steps, tree))
        if verdicts[-1].failure is not None:
            break
    return verdicts


def _failure(verdicts: Sequence[WorkVerdict]) -> Failure | None:
    return next((each.failure for each in verdicts if each.failure is not None), None)


def _reasons(verdicts: Sequence[WorkVerdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for each in verdicts for reason in each.reasons))


def _report(verdicts: Sequence[WorkVerdict]) -> str:
    """One report of all commands."""
    first, *others = (orjson.loads(each.report()) for each in verdicts)
    for other in others:
        first["runs"] += other["runs"]
        first["flaky"] += other["flaky"]
        first["weakened"] += [each for each in other["weakened"] if each not in first["weakened"]]
        if services := other.get("services"):
            first["services"] = [*first.get("services", ()), *services]
        if not other["passed"] and first["passed"]:
            first |= {name: other[name] for name in ("passed", "classification", "summary", "reason")}
    return orjson.dumps(first).decode()
