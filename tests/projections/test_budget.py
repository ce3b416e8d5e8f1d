"""A budget over time (S4 §4.3, K-38)."""

from typing import Any

from projections.record.records import record_of
from tests.projections.given import Story, exhausted, success


def points(story: Story, version: int | None = None) -> list[dict[str, Any]]:
    record = record_of(story.events)
    return [point.view().wire() for point in record.budget.upto(version or record.version)]


def test_the_start_carries_the_whole_budget() -> None:
    assert points(success())[0] == {
        "version": 1,
        "at": "2026-11-21T12:00:00.000Z",
        "type": "delivery.session_started",
        "phase": None,
        "iteration": 0,
        "elapsedMs": 0,
        "remainingIterations": 6,
        "reason": None,
        "round": None,
        "remainingRounds": None,
        "maxIterations": 6,
        "maxMinutes": 45,
        "maxRounds": None,
        "tokens": None,
        "costMicros": None,
        "unknownTurns": 0,
    }


def test_usage_is_summed_and_unreported_usage_is_counted_separately() -> None:
    result = [row for row in points(success()) if row["type"] == "delivery.phase_completed"]
    assert [(row["phase"], row["tokens"], row["costMicros"], row["unknownTurns"]) for row in result] == [
        ("planning", None, None, 1),
        ("architecture", None, None, 2),
        ("design", None, None, 3),
        ("implementation", 120, 7, 3),
        ("implementation", 170, 7, 3),
        ("validation", 170, 7, 3),
        ("review", 170, 7, 4),
        ("implementation", 170, 7, 5),
        ("validation", 170, 7, 5),
        ("review", 170, 7, 6),
        ("packaging", 170, 7, 6),
    ]


def test_iterations_are_used_up_and_extended() -> None:
    names = ("attempt_started", "budget_exhausted", "budget_extended")
    result = [row for row in points(exhausted().extended(2)) if row["type"].endswith(names)]
    columns = ("type", "iteration", "remainingIterations", "reason", "maxIterations", "maxMinutes")
    assert [tuple(row[column] for column in columns) for row in result] == [
        ("delivery.attempt_started", 1, 1, None, 1, 45),
        ("delivery.budget_exhausted", 2, 0, "iterations", 1, 45),
        ("delivery.budget_extended", 1, 2, None, 3, 45),
        ("delivery.attempt_started", 2, 2, None, 3, 45),
    ]


def test_points_end_at_a_version() -> None:
    assert [row["version"] for row in points(success(), 6)] == [1, 2, 5, 6]
