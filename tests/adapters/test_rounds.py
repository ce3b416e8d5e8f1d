"""The validation of a run in groups of commands: one report of all, and what counts of work that was merged."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from adapters.turns.commands.rounds import _report, check_merged
from adapters.turns.commands.validate import WorkVerdict
from adapters.turns.merged_check import MergedCheck
from domain.checks.weakening import Weakening
from domain.session.attempts import Failure
from domain.session.state import Session
from domain.session.validation import ValidationResult, ValidationStep
from tests.domain.test_run_validation import begun
from tests.kit.stories import TEST, DeliveryStory

GONE = Failure(code="workspace", detail="The disk is full.")
FAILS = "FAILED test_a.py::test_add"


def verdict(*reasons: str, **fields: Any) -> WorkVerdict:
    result = ValidationResult(
        passed=not reasons, failure_class="test" if reasons else None, runs=(), summary="; ".join(reasons) or "passed"
    )
    return WorkVerdict(result=result, reasons=reasons, **fields)


def checked(session: Session, *verdicts: WorkVerdict) -> MergedCheck:
    """The check of a state, whose groups of commands end like this, one after another."""
    waiting = list(verdicts)

    async def judge(_: Sequence[ValidationStep], __: str | None) -> WorkVerdict:
        return waiting.pop(0)

    found = asyncio.run(check_merged(session, "c9", judge))
    assert waiting == []
    return found


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ([verdict()], MergedCheck(commands=(TEST.command,))),
        ([verdict(failure=GONE)], MergedCheck(failure=GONE)),
        ([verdict(FAILS), verdict()], MergedCheck(reasons=(FAILS,))),
        ([verdict(FAILS), verdict(FAILS)], MergedCheck()),
    ],
    ids=["passes", "cannot-run", "fails-together", "fails-alone"],
)
def test_of_merged_work_counts_what_the_work_alone_does_not_show(
    verdicts: list[WorkVerdict], found: MergedCheck
) -> None:
    run = begun()
    run.changes("Backend")
    assert checked(run.run, *verdicts) == found


def test_without_commands_nothing_is_known_of_merged_work() -> None:
    assert checked(DeliveryStory(steps=()).delivery) == MergedCheck()


def test_the_report_of_several_groups_has_what_each_found_and_the_first_failure() -> None:
    one = Weakening(what="tests", before=3, after=2)
    other = Weakening(what="tests", before=9, after=1)
    parts = [verdict(weakened=(one,)), verdict(FAILS, weakened=(one, other)), verdict("FAILED b")]
    report = json.loads(_report(parts))
    assert (report["passed"], report["classification"], report["summary"]) == (False, "test", FAILS)
    assert len(report["weakened"]) == 2
    assert json.loads(_report([verdict(), verdict()]))["passed"] is True
