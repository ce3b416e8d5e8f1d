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
    found = story()
    iterate(found)
    iterate(found, "2 tests failed in 3.4 s")
    assert stuck(found) == [(2, "failures", 1)]
    assert found.delivery.phase == "implementation"


def test_at_the_limit_the_delivery_stops_and_can_be_extended() -> None:
    found = story()
    for _ in range(3):
        iterate(found)
    assert (found.delivery.status, found.delivery.code) == ("failed", "no_progress")
    assert allowed_actions(found.delivery) == ("extend",)
    found.extend(add_iterations=2)
    assert (found.delivery.status, found.delivery.iteration, found.delivery.code) == ("running", 4, None)
    iterate(found)
    assert found.delivery.phase == "implementation"


def test_progress_in_between_restarts_the_count() -> None:
    found = story()
    for problem in ("one", "one", "two", "two"):
        iterate(found, problem)
    assert stuck(found) == [(2, "failures", 1), (4, "failures", 1)]


def test_the_same_blocking_issues_mean_no_progress() -> None:
    found = story()
    for _ in range(2):
        found.answer("the code")
        found.passes()
        found.blocks("No rate limit")
    assert stuck(found) == [(2, "issues", 1)]


def test_an_iteration_without_changed_files_makes_no_progress() -> None:
    found = story(workspace="/work/here")
    iterate(found, "one", patch="")
    assert stuck(found) == [(1, "files", 1)]
    found = story()
    iterate(found, "one", patch="")
    assert stuck(found) == []


def test_without_a_limit_nothing_is_recorded() -> None:
    found = story(0)
    for _ in range(4):
        iterate(found)
    assert stuck(found) == []
