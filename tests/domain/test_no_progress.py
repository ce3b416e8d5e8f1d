"""Iterations without progress: what counts as none, and when the delivery rests (contract-2 §10)."""

from domain.delivery.decide import allowed_actions
from domain.delivery.events import NoProgress
from domain.values.base import Text
from tests.kit.stories import DeliveryStory


def story(limit: int = 2, *, workspace: str | None = None) -> DeliveryStory:
    return DeliveryStory(no_progress_limit=limit, workspace=workspace).designed()


def iterate(found: DeliveryStory, problem: str = "2 tests failed in 1.2 s", *, patch: str = "+ line") -> None:
    found.answer("the code", patch=Text.of(patch)[0] if patch else None)
    found.breaks(problem)


def stuck(found: DeliveryStory) -> list[tuple[int, str, int]]:
    events = (event for event in found.events if isinstance(event, NoProgress))
    return [(event.iteration, event.same, event.iterations) for event in events]


def test_the_same_failures_mean_no_progress_whatever_their_duration() -> None:
    run = story()
    iterate(run)
    iterate(run, "2 tests failed in 3.4 s")
    assert stuck(run) == [(2, "failures", 1)]
    assert run.delivery.phase == "implementation"


def test_at_the_limit_the_delivery_stops_and_can_be_extended() -> None:
    run = story()
    for _ in range(3):
        iterate(run)
    assert (run.delivery.status, run.delivery.code) == ("failed", "no_progress")
    assert allowed_actions(run.delivery) == ("extend", "revise")
    run.extend(add_iterations=2)
    assert (run.delivery.status, run.delivery.iteration, run.delivery.code) == ("running", 4, None)
    iterate(run)
    assert run.delivery.phase == "implementation"


def test_progress_in_between_restarts_the_count() -> None:
    run = story()
    for problem in ("one", "one", "two", "two"):
        iterate(run, problem)
    assert stuck(run) == [(2, "failures", 1), (4, "failures", 1)]


def test_the_same_blocking_issues_mean_no_progress() -> None:
    run = story()
    for _ in range(2):
        run.answer("the code")
        run.passes()
        run.blocks("No rate limit")
    assert stuck(run) == [(2, "issues", 1)]


def test_an_iteration_without_changed_files_makes_no_progress() -> None:
    run = story(workspace="/work/here")
    iterate(run, "one", patch="")
    assert stuck(run) == [(1, "files", 1)]
    run = story()
    iterate(run, "one", patch="")
    assert stuck(run) == []


def test_without_a_limit_nothing_is_recorded() -> None:
    run = story(0)
    for _ in range(4):
        iterate(run)
    assert stuck(run) == []
