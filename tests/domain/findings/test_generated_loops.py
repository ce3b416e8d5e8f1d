"""What the ledger would have saved in generated loops with known truth, and what it costs to keep one."""

import random
import time
from typing import Final, NamedTuple

import pytest

from domain.findings.ledger import ledger_of
from domain.findings.moments import FoundReport, LookTaken, Moment, WorkChange
from domain.findings.report_words import features_of
from tests.domain.findings.loops import Loop, patch_lines

ROUNDS: Final = 12
"""Rounds of a loop that nobody ends."""


class Saving(NamedTuple):
    """Rounds without anything true to find or to fix, those of them that were saved, true faults left, questions."""

    useless: int
    saved: int
    left: int
    left_by_all: int
    questions: int


def saving(seed: int) -> Saving:
    """A loop to the end of its rounds, and where it would have ended: with a stop, or when a person is asked about all
    that is open. A question about one finding does not end it."""
    loop, useful, end, left = Loop.of(seed), 0, 0, 0
    questions: set[str] = set()
    for number in range(1, ROUNDS + 1):
        earlier = sum(fault.reported for fault in loop.faults)
        loop.look()
        reported = [fault for fault in loop.faults if fault.reported]
        if len(reported) > earlier or not all(fault.fixed for fault in reported):
            useful = number
        advice = loop.ledger.advice
        quiet = advice.recommendation == "stop" or any(
            each.fact == "quiet_twice_blocking_open" for each in advice.because
        )
        if not end and advice.recommendation == "ask":
            questions |= {"all"} if quiet else {each.finding for each in advice.because}
        if not end and quiet:
            end, left = number, sum(not fault.fixed for fault in loop.faults)
        if number < ROUNDS:
            loop.fix()
    left_by_all = sum(not fault.fixed for fault in loop.faults)
    end = end or ROUNDS
    return Saving(
        ROUNDS - useful, ROUNDS - max(end, useful), left if end < ROUNDS else left_by_all, left_by_all, len(questions)
    )


@pytest.mark.parametrize("count", [80, pytest.param(400, marks=pytest.mark.nightly)])
def test_most_useless_rounds_are_saved_and_no_more_faults_stay(count: int) -> None:
    savings = [saving(seed) for seed in range(count)]
    useless, saved = sum(each.useless for each in savings), sum(each.saved for each in savings)
    assert saved >= 0.65 * useless, f"{saved} of {useless}"
    left, by_all = sum(each.left for each in savings), sum(each.left_by_all for each in savings)
    assert left <= by_all + (0 if count >= 400 else count // 10), f"{left} true faults left, {by_all} by the whole loop"
    assert sum(each.questions for each in savings) <= 1.1 * count, "about one question a loop"


def many(count: int, looks: int = 10) -> list[Moment]:
    """So many different findings in these looks, with a change of each file between them."""
    chance = random.Random(count)  # noqa: S311 - no secret
    nouns = ("cart", "price", "basket", "total", "rate", "discount", "voucher", "shipping", "margin", "tax", "order")
    files = {f"shop/part{part}.py": [f"v_{part}_{line} = f(basket)" for line in range(400)] for part in range(10)}
    made: list[Moment] = [WorkChange(version=1, patch="\n".join(patch_lines({}, files)))]
    for look in range(1, looks + 1):
        reports = []
        for number in range(count // looks):
            part, words = chance.randrange(10), chance.choices(nouns, k=14)
            title = f"`f_{look}_{number}` loses the {words[0]} when {words[1]} is {words[2]}"
            place = {"path": f"shop/part{part}.py", "line": chance.randrange(1, 400)}
            fields = {"version": 2 * look, "title": title, "detail": " ".join(words[3:]), "blocking": True, **place}
            reports.append(FoundReport.model_validate(fields))
        made.append(LookTaken(version=2 * look, number=look, reports=tuple(reports)))
        before = {path: list(lines) for path, lines in files.items()}
        for part in range(10):
            files[f"shop/part{part}.py"][chance.randrange(400)] = f"w_{look}_{part} = mended(basket)"
        made.append(WorkChange(version=2 * look + 1, patch="\n".join(patch_lines(before, files))))
    return made


def seconds(moments: list[Moment]) -> float:
    """The CPU time of a ledger, the fastest of three."""
    times = []
    for _ in range(3):
        features_of.cache_clear()
        began = time.process_time()
        assert len(ledger_of(moments).findings) > len(moments)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.benchmark
def test_four_times_the_findings_take_about_four_times_as_long() -> None:
    few, most = seconds(many(500)), seconds(many(2_000))
    assert most < 6 * few, f"{1000 * few:.0f} ms for 500, {1000 * most:.0f} ms for 2,000"


@pytest.mark.benchmark
def test_five_times_the_looks_take_hardly_more_than_twice_as_long() -> None:
    """Each of them has 1,000 findings to go through, and ten files with a change."""
    few, most = seconds(many(1_000)), seconds(many(1_000, looks=50))
    assert most < 2.5 * few, f"{1000 * few:.0f} ms in 10 looks, {1000 * most:.0f} ms in 50"


@pytest.mark.benchmark
def test_a_thousand_findings_cost_little_beside_reading_their_text() -> None:
    """The lower bound splits each report into words, and each change into lines."""
    moments = many(1_000)
    began = time.process_time()
    for moment in moments:
        if isinstance(moment, LookTaken):
            for report in moment.reports:
                frozenset(f"{report.title}\n{report.detail}".casefold().split())
        elif isinstance(moment, WorkChange):
            [line for line in moment.patch.split("\n") if line[:1] in "+-@"]
    bound, whole = time.process_time() - began, seconds(moments)
    assert whole < 60 * bound, f"{1000 * whole:.0f} ms, {1000 * bound:.1f} ms for their text"
