"""Permission questions: asked by an attempt, answered by a person, withdrawn with the attempt; the clock waits."""

import pytest

from domain.kinds import allowed_actions
from domain.session.attempts import Failure
from domain.session.permissions import DecidePermission, RequestPermission, WithdrawPermissions
from domain.session.turns import ExpireTurn, RecordReply
from domain.values.base import Command, Refused
from tests.kit.stories import MINUTE, DeliveryStory, topics


def asking(**fields: object) -> DeliveryStory:
    """A delivery whose planner asks whether it may remove a folder."""
    story = DeliveryStory(baseline=False, **fields)
    story.when(ask(story), after=1_000)
    return story


def ask(story: DeliveryStory, title: str = "rm -rf build") -> RequestPermission:
    return RequestPermission(turn_id=turn(story), attempt=1, tool="execute", title=title, paths=("build",))


def turn(story: DeliveryStory) -> str:
    return next(iter(story.delivery.outstanding))


def decide(request: str, decision: str = "allow", *, remember: bool = False) -> DecidePermission:
    return DecidePermission(request_id=request, decision=decision, remember=remember, by="person:ada")


def questions(story: DeliveryStory) -> list[str]:
    return list(story.delivery.questions)


def test_a_question_waits_for_a_person() -> None:
    story = asking()
    [request] = questions(story)
    assert (story.delivery.status, "permission" in allowed_actions(story.delivery)) == ("running", True)
    [event] = story.when(decide(request), after=5_000)
    assert event.model_dump(by_alias=True) == {
        "requestId": request, "turnId": turn(story), "decision": "allow", "by": "person:ada", "remember": False
    }  # fmt: skip
    assert "permission" not in allowed_actions(story.delivery)
    assert story.delivery.remembered == {}


def test_one_answer_counts() -> None:
    story = asking()
    [request] = questions(story)
    story.when(decide(request))
    for command in (decide(request, "deny"), decide("delivery-1.t1.p99"), WithdrawPermissions(turn_id=turn(story))):
        with pytest.raises(Refused, match="Nothing waits for permission"):
            story.when(command)


def test_a_remembered_answer_applies_to_the_same_question() -> None:
    story = asking()
    story.when(ask(story))
    story.when(ask(story, "ls"))
    first, second, third = questions(story)
    decided = story.when(decide(first, "deny", remember=True))
    assert [event.__dict__["request_id"] for event in decided] == [first, second]
    assert questions(story) == [third]
    assert list(story.delivery.remembered.values()) == ["deny"]


@pytest.mark.parametrize("failed", [False, True])
def test_the_end_of_the_attempt_withdraws_its_questions(failed: bool) -> None:
    story = asking()
    failure = Failure(code="crash") if failed else None
    events = topics(story.when(RecordReply(turn_id=turn(story), attempt=1, failure=failure)))
    assert events[1] == "turn.permission_withdrawn"
    assert questions(story) == []


def test_a_process_that_died_leaves_no_question() -> None:
    story = asking()
    assert topics(story.when(WithdrawPermissions(turn_id=turn(story)))) == ["turn.permission_withdrawn"]
    assert questions(story) == []


@pytest.mark.parametrize("answered", [True, False])
def test_waiting_for_a_person_takes_no_time_of_the_budget(answered: bool) -> None:
    story = asking(minutes=1)
    story.when(ask(story, "ls"), after=2_000)
    first, second = questions(story)
    story.when(decide(second), after=8_000)
    end: Command = decide(first) if answered else WithdrawPermissions(turn_id=turn(story))
    before = story.delivery.snapshot(story.at)
    assert before.elapsed_ms == 1_000
    story.when(end, after=5 * MINUTE)
    after = story.delivery.snapshot(story.at)
    assert after.elapsed_ms == 1_000
    assert after.deadline_at - before.deadline_at == 10_000 + 5 * MINUTE


def test_the_deadline_does_not_pass_while_a_person_thinks() -> None:
    story = asking(minutes=1)
    with pytest.raises(Refused, match="The deadline has not passed"):
        story.when(ExpireTurn(turn_id=turn(story)), after=10 * MINUTE)
