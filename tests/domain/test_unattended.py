"""Time in which nobody was there uses up no budget of a delivery, and none of it counts twice (contract-3 §23)."""

import pytest

from domain.session.attempts import Failure, RetryPolicy
from domain.session.attendance import RecordUnattended, SessionUnattended
from domain.session.permissions import DecidePermission, RequestPermission
from domain.session.turns import ExpireTurn
from domain.values.base import iso
from tests.kit.stories import MINUTE, START, DeliveryStory

DEADLINE = START + 45 * MINUTE
HOUR = 60 * MINUTE


def away(story: DeliveryStory, since: int, until: int) -> RecordUnattended:
    return RecordUnattended(since=START + since * MINUTE, until=START + until * MINUTE, why="no_worker")


def moved(story: DeliveryStory) -> int:
    """By how many minutes the deadline has moved."""
    return (story.delivery.budget.deadline_at - DEADLINE) // MINUTE


def test_the_deadline_moves_by_the_time_in_which_nobody_was_there() -> None:
    story = DeliveryStory()
    [event] = story.when(away(story, 10, 70), after=70 * MINUTE)
    assert event == SessionUnattended(since=iso(START + 10 * MINUTE), until=iso(START + 70 * MINUTE), why="no_worker")
    assert moved(story) == 60
    assert story.delivery.snapshot(story.at).elapsed_ms == 10 * MINUTE
    story.refused(ExpireTurn(turn_id=story.turn.turn_id), after=30 * MINUTE)


def test_the_same_time_moves_it_once_whoever_comes_back() -> None:
    story = DeliveryStory()
    story.when(away(story, 10, 70), after=70 * MINUTE)
    assert story.refused(away(story, 10, 70)).args
    assert story.refused(away(story, 20, 60)).args
    story.when(away(story, 10, 75), after=5 * MINUTE)
    assert moved(story) == 65


def test_the_time_before_the_session_is_not_part_of_it() -> None:
    story = DeliveryStory()
    story.when(away(story, -600, 5), after=5 * MINUTE)
    assert moved(story) == 5


def test_a_provider_s_wait_has_moved_it_already() -> None:
    story = DeliveryStory(retry=RetryPolicy())
    story.when(story.reply(failure=Failure(code="rate_limit", retry_after=1_800)))
    assert moved(story) == 30
    story.refused(away(story, 0, 30), after=30 * MINUTE)
    story.when(away(story, 0, 50), after=20 * MINUTE)
    assert moved(story) == 50


def test_a_wait_for_permission_moves_it_once() -> None:
    story = DeliveryStory()
    ask = RequestPermission(turn_id=story.turn.turn_id, attempt=1, tool="execute", title="make")
    [asked] = story.when(ask, after=10 * MINUTE)
    story.refused(away(story, 15, 60), after=50 * MINUTE)
    request_id = getattr(asked, "request_id", "")
    story.when(DecidePermission(request_id=request_id, decision="allow", by="ann"), after=10 * MINUTE)
    assert moved(story) == 60
    story.refused(away(story, 15, 65))
    story.when(away(story, 15, 80), after=10 * MINUTE)
    assert moved(story) == 70


def test_of_a_delivery_that_has_stopped_nothing_is_given_back() -> None:
    story = DeliveryStory(iterations=1).in_review()
    story.blocks()
    assert story.delivery.state == "exhausted"
    story.refused(away(story, 0, 60), after=HOUR)


@pytest.mark.parametrize("length", [0, -5])
def test_no_time_at_all_is_refused(length: int) -> None:
    story = DeliveryStory()
    story.refused(away(story, 10, 10 + length), after=20 * MINUTE)
