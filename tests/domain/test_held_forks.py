"""A delivery that is held as a fork waits for a person: that time uses up no budget, however it ends."""

import pytest

from domain.delivery.commands import CancelDelivery
from domain.session.fork_rules import HELD
from domain.session.forks import Diverge, ForkSession, Release, SessionDiverged
from domain.session.turns import TurnCancelled, TurnRequested
from tests.domain.test_replay import difference, recorded
from tests.kit.stories import MINUTE, DeliveryStory

WORK = 2 * MINUTE
"""The time in which agents work, before and after."""


def held(*, pauses: bool = True) -> DeliveryStory:
    """A fork that is held at its second question, after some work."""
    story = DeliveryStory()
    story.answer("the plan", after=WORK)
    story.when(ForkSession(source="delivery-0", at_version=story.delivery.version, mode="stop"), after=1)
    story.when(Diverge(turn_id=story.turn.turn_id, pauses=pauses), after=1)
    return story


def release(story: DeliveryStory, *, after: int) -> None:
    called_off = {e.turn_id for e in story.events if isinstance(e, TurnCancelled) and e.reason == HELD}
    turns = tuple(e for e in story.events if isinstance(e, TurnRequested) and e.turn_id in called_off)
    story.when(Release(requests=turns), after=after)


def used(story: DeliveryStory) -> int:
    return story.delivery.snapshot(story.at).elapsed_ms


@pytest.mark.parametrize("wait", [1, MINUTE, 46 * MINUTE, 9_999 * MINUTE])
def test_time_on_hold_uses_up_no_budget(wait: int) -> None:
    story = held()
    before = used(story)
    story.at += wait
    assert used(story) == before, "while it is held"
    release(story, after=1)
    assert used(story) == before, "as it goes on"
    story.answer("the architecture", after=WORK)
    assert used(story) == before + WORK and story.delivery.status == "running"
    assert story.delivery.budget.deadline_at > story.at
    assert difference(recorded(story)) is None


def test_time_on_hold_does_not_count_where_the_fork_is_cancelled() -> None:
    story = held()
    before = used(story)
    finished = story.when(CancelDelivery(reason="enough"), after=50 * MINUTE)[-1]
    assert used(story) == before == finished.model_dump()["elapsed_ms"]


def test_time_on_hold_does_not_count_in_a_fork_of_the_fork() -> None:
    story = held()
    before = used(story)
    version = story.delivery.version
    story.when(ForkSession(source="delivery-1", at_version=version, mode="stop"), after=50 * MINUTE)
    assert used(story) == before
    release(story, after=50 * MINUTE)
    assert used(story) == before
    story.answer("the architecture", after=WORK)
    assert used(story) == before + WORK


def test_a_log_from_before_that_has_the_budget_that_it_recorded() -> None:
    story = held(pauses=False)
    [diverged] = [event for event in story.events if isinstance(event, SessionDiverged)]
    assert "pauses" not in diverged.model_dump()
    before = used(story)
    release(story, after=50 * MINUTE)
    assert used(story) >= before + 50 * MINUTE
    assert difference(recorded(story)) is None
