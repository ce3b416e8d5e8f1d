"""Budgets by themselves: the gate, the snapshot, and sums in which something is unknown (S4 §7.1, behaviour §3.3)."""

import pytest
from pydantic import TypeAdapter, ValidationError

from domain.values.base import MOST, Usage
from domain.values.budget import (
    Budget,
    BudgetLimits,
    BudgetStatus,
    Iterations,
    Minutes,
    Reason,
    Spent,
    add,
    effective_iterations,
)
from tests.kit.stories import MINUTE, START


def budget(
    *, iterations: int = 2, minutes: int = 5, paused: int = 0, spent: Spent | None = None, **limits: int
) -> Budget:
    return Budget(
        limits=BudgetLimits(max_iterations=iterations, max_minutes=minutes, **limits),
        started_at=START,
        paused=paused,
        spent=spent or Spent(),
    )


@pytest.mark.parametrize(
    ("max_iterations", "max_attempts", "effective"),
    [(None, None, 6), (4, None, 4), (None, 3, 3), (4, 3, 4), (3, 4, 3), (1, 20, 1)],
)
def test_iterations_take_precedence_over_legacy_attempts_and_default_to_six(
    max_iterations: int | None, max_attempts: int | None, effective: int
) -> None:
    """S4 §4.2, K-39."""
    assert effective_iterations(max_iterations, max_attempts) == effective


def test_the_default_budget_is_six_iterations_in_forty_five_minutes() -> None:
    assert (BudgetLimits().max_iterations, BudgetLimits().max_minutes, BudgetLimits().minute) == (6, 45, 60_000)
    assert (BudgetLimits().max_tokens, BudgetLimits().max_cost_micros) == (None, None)


@pytest.mark.parametrize(
    ("iteration", "elapsed", "reason"),
    [
        (1, 0, None),
        (2, 5 * MINUTE - 1, None),
        (2, 5 * MINUTE, None),
        (2, 5 * MINUTE + 1, "minutes"),
        (3, 0, "iterations"),
        (3, 5 * MINUTE + 1, "iterations"),
        (1, -MINUTE, None),
    ],
)
def test_iterations_are_checked_before_minutes_and_the_deadline_itself_is_allowed(
    iteration: int, elapsed: int, reason: Reason | None
) -> None:
    assert budget().exhausted(iteration=iteration, at=START + elapsed) == reason


@pytest.mark.parametrize(
    ("spent", "reason"),
    [
        (Spent(), None),
        (Spent(unknown=99), None),
        (Spent(tokens=999, cost_micros=499), None),
        (Spent(tokens=1_000), "tokens"),
        (Spent(cost_micros=500), "cost"),
        (Spent(tokens=1_000, cost_micros=500), "tokens"),
    ],
)
def test_tokens_and_money_are_used_up_at_their_limit_and_what_is_unknown_is_not(
    spent: Spent, reason: Reason | None
) -> None:
    limited = budget(spent=spent, max_tokens=1_000, max_cost_micros=500)
    assert limited.exhausted(iteration=1, at=START) == reason


def test_without_a_limit_no_number_of_tokens_is_too_many() -> None:
    assert budget(spent=Spent(tokens=10**12, cost_micros=10**12)).exhausted(iteration=1, at=START) is None


def test_minutes_are_checked_before_tokens() -> None:
    spent = Spent(tokens=9)
    assert budget(spent=spent, max_tokens=1).exhausted(iteration=1, at=START + 6 * MINUTE) == "minutes"


def test_a_budget_minute_may_be_shorter_than_a_minute() -> None:
    short = budget(minutes=5, minute=1_000)
    assert short.deadline_at == START + 5_000
    assert short.overdrawn(at=START + 5_000) is None
    assert short.overdrawn(at=START + 5_001) == "minutes"


def test_a_pause_moves_the_deadline_and_is_not_elapsed() -> None:
    paused = budget(paused=7 * MINUTE)
    assert paused.deadline_at == START + 12 * MINUTE
    assert paused.snapshot(iteration=1, at=START + 8 * MINUTE).elapsed_ms == MINUTE


@pytest.mark.parametrize(
    ("iteration", "elapsed", "remaining", "elapsed_ms"),
    [(0, 0, 2, 0), (1, 250, 2, 250), (2, MINUTE, 1, MINUTE), (3, MINUTE, 0, MINUTE), (9, 0, 0, 0), (1, -5, 2, 0)],
)
def test_a_snapshot_counts_the_iteration_that_runs_as_remaining(
    iteration: int, elapsed: int, remaining: int, elapsed_ms: int
) -> None:
    spent = Spent(tokens=3, cost_micros=4)
    snapshot = budget(spent=spent).snapshot(iteration=iteration, at=START + elapsed, reason="minutes")
    assert snapshot == BudgetStatus(
        max_iterations=2,
        max_minutes=5,
        started_at=START,
        deadline_at=START + 5 * MINUTE,
        elapsed_ms=elapsed_ms,
        remaining_iterations=remaining,
        reason="minutes",
        tokens=3,
        cost_micros=4,
    )


@pytest.mark.parametrize(
    ("known", "more", "total"), [(None, None, None), (None, 0, 0), (0, None, 0), (2, None, 2), (None, 3, 3), (2, 3, 5)]
)
def test_unknown_usage_adds_nothing_and_alone_stays_unknown(
    known: int | None, more: int | None, total: int | None
) -> None:
    assert add(known, more) == total


@pytest.mark.parametrize(
    ("usage", "spent"),
    [
        (Usage(), Spent(tokens=10, unknown=1)),
        (Usage(input_tokens=0), Spent(tokens=10)),
        (Usage(input_tokens=5), Spent(tokens=15)),
        (Usage(input_tokens=5, output_tokens=7), Spent(tokens=22)),
        (Usage(cost_micros=9), Spent(tokens=10, cost_micros=9)),
    ],
)
def test_a_turn_without_reported_usage_counts_as_unknown(usage: Usage, spent: Spent) -> None:
    assert Spent(tokens=10).after(usage, by_agent=True) == spent


def test_a_sum_stops_at_the_largest_count() -> None:
    most = Usage(input_tokens=MOST, output_tokens=MOST, cost_micros=MOST)
    assert Spent(tokens=10).after(most, by_agent=True) == Spent(tokens=MOST, cost_micros=MOST)
    assert Spent(tokens=MOST) + Spent(tokens=MOST) == Spent(tokens=MOST)


def test_validation_commands_cost_nothing_and_are_not_unknown() -> None:
    assert Spent(tokens=10).after(Usage(), by_agent=False) == Spent(tokens=10)


def test_reported_usage_counts_for_every_agent() -> None:
    assert Spent(tokens=10).after(Usage(input_tokens=5), by_agent=False) == Spent(tokens=15)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [pytest.param(Iterations, 1, 20, id="iterations"), pytest.param(Minutes, 1, 180, id="min")],
)
def test_requests_are_limited(kind: type[int], least: int, most: int) -> None:
    value: TypeAdapter[int] = TypeAdapter(kind)
    assert (value.validate_python(least), value.validate_python(most)) == (least, most)
    for wrong in (least - 1, most + 1, 1.5, "3", True, None):
        with pytest.raises(ValidationError):
            value.validate_python(wrong)
