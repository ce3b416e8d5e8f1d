"""Attempts in orchestrations, reviews and debates: what waits, what stops, and what continues (contract-2 §10)."""

from typing import Any

import pytest

from domain.discussion.decide import allowed_actions as discussion_actions
from domain.orchestration.decide import allowed_actions
from domain.orchestration.events import OrchestrationRetried, VerdictUnreadable
from domain.session.attempts import ONCE, Failure, FailureCode, RetryPolicy
from domain.session.children import ChildRequested
from domain.session.turns import RetryTurn, TurnAttemptFailed, TurnFailed, TurnRetried
from domain.values.base import DomainEvent, Refused
from tests.kit.discussing import DiscussionStory, wish
from tests.kit.replies import plan, subtask, verdicts
from tests.kit.stories import OrchestrationStory, topics

POLICY = RetryPolicy(attempts=2, backoff_seconds=(5,))


def story(*subtasks: dict[str, Any], retry: RetryPolicy = POLICY, **fields: Any) -> OrchestrationStory:
    run = OrchestrationStory(triage="orchestrate", retry=retry, **fields)
    return run.planned(*subtasks) if subtasks else run


def judging(**fields: Any) -> OrchestrationStory:
    run = story(subtask("Backend"), **fields)
    run.works("Backend")
    return run


def fails(found: Any, code: FailureCode = "network", *, attempt: int = 1) -> list[DomainEvent]:
    return list(found.answer("", attempt=attempt, failure=Failure(code=code)))


# -- what waits ----------------------------------------------------------------------------------------------------


def test_a_planner_that_cannot_be_reached_is_asked_again_and_the_plan_is_made() -> None:
    run = story()
    [event] = fails(run)
    assert isinstance(event, TurnAttemptFailed)
    assert (event.next, run.run.status) == ("retry", "active")
    assert "retry" in allowed_actions(run.run)
    run.answer(plan(subtask("Backend")), attempt=2)
    assert run.run.state == "working"


def test_a_retry_asks_every_turn_that_waits_at_once() -> None:
    run = story(
        subtask("Backend", parallel=True, verification={"affected_files": ["a.py"]}),
        subtask("Frontend", parallel=True, verification={"affected_files": ["b.py"]}),
    )
    for name in tuple(run.asked):
        run.works(name, failure=Failure(code="network"))
    recorded = run.when(RetryTurn())
    assert [type(event) for event in recorded] == [TurnRetried, TurnRetried]
    assert not run.run.waits


def test_an_unreachable_speaker_is_asked_again() -> None:
    run = DiscussionStory(retry=POLICY)
    [event] = fails(run)
    assert isinstance(event, TurnAttemptFailed)
    assert run.talk.guard("waits")
    fails(run, attempt=2)
    assert (run.talk.status, run.talk.reason) == ("waiting_for_decision", "turn_failed")


def test_a_waiting_speaker_is_asked_at_once() -> None:
    run = DiscussionStory(retry=POLICY)
    fails(run)
    [retried] = run.when(RetryTurn())
    assert isinstance(retried, TurnRetried)
    with pytest.raises(Refused):
        run.when(RetryTurn())


# -- what rests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("triage", ["orchestrate", "direct"])
def test_without_a_planner_or_an_assistant_the_run_stops_until_it_is_retried(triage: Any) -> None:
    run = OrchestrationStory(triage=triage, retry=POLICY)
    turn_id, state = run.turn.turn_id, run.run.state
    fails(run)
    fails(run, attempt=2)
    assert (run.run.status, run.run.partial_reason) == ("partial", "turn_failed")
    assert allowed_actions(run.run) == ("continue", "retry", "reset", "cancel")
    recorded = run.when(RetryTurn(reason="back again"))
    assert [type(event) for event in recorded] == [OrchestrationRetried, TurnRetried]
    assert (run.turn.turn_id, run.run.state, run.run.partial_reason) == (turn_id, state, None)


def test_without_a_judge_the_run_stops_and_a_retry_keeps_the_reports() -> None:
    run = judging()
    fails(run, "auth")
    assert (run.run.status, run.run.partial_reason) == ("partial", "turn_failed")
    run.when(RetryTurn())
    run.answer(verdicts(Backend=True, all_done=True), attempt=2)
    assert run.run.status in ("checkpoint", "done")


def test_a_run_without_a_judge_continues_with_its_plan() -> None:
    run = judging()
    fails(run, "auth")
    run.resumes()
    assert (run.run.state, run.asked) == ("working", ["Backend"])


def test_a_worker_without_attempts_fails_its_round_and_the_run_continues() -> None:
    run = story(subtask("Backend"))
    fails(run, "auth")
    assert (run.run.state, run.run.failed_turn) == ("judging", None)
    run.answer(verdicts(Backend=True))
    assert (run.run.round, run.judged("Backend")) == (2, [(1, 3, False)])


def test_nothing_is_retried_where_no_turn_has_failed() -> None:
    with pytest.raises(Refused):
        story().when(RetryTurn())


# -- what cannot be read -------------------------------------------------------------------------------------------


def test_a_plan_that_stays_unreadable_is_repaired_once_and_then_shown() -> None:
    run = story()
    [again] = run.answer("I am thinking.")
    assert isinstance(again, TurnAttemptFailed)
    assert (again.next, again.reply.head) == ("repair", "I am thinking.")
    failed, *_ = run.answer("Still thinking.", attempt=2)
    assert isinstance(failed, TurnFailed)
    assert (run.run.status, run.run.partial_reason) == ("partial", "plan_invalid")
    assert "retry" in allowed_actions(run.run)
    run.when(RetryTurn())
    run.answer(plan(subtask("Backend")), attempt=3)
    assert run.run.state == "working"


def unreadable(found: OrchestrationStory) -> list[DomainEvent]:
    """The judge's answer and its repair cannot be read."""
    found.answer("Well done.")
    return found.answer("Very well done.", attempt=2)


def test_verdicts_that_stay_unreadable_advance_no_agent_and_the_next_round_follows() -> None:
    run = judging()
    recorded = unreadable(run)
    assert topics(recorded)[:3] == ["turn.failed", VerdictUnreadable.TOPIC, "orchestration.verdict_given"]
    assert (run.run.round, run.run.state) == (2, "working")


def test_verdicts_that_are_unreadable_twice_in_a_row_are_a_failed_turn() -> None:
    run = judging(max_rounds=5)
    unreadable(run)
    run.works("Backend")
    unreadable(run)
    assert (run.run.round, run.run.partial_reason) == (2, "turn_failed")
    run.when(RetryTurn())
    run.answer(verdicts(Backend=False), attempt=3)
    run.works("Backend")
    unreadable(run)
    assert (run.run.round, run.run.state) == (4, "working")


def test_unreadable_verdicts_of_the_last_round_are_a_failed_turn() -> None:
    run = judging(max_rounds=1)
    unreadable(run)
    assert (run.run.status, run.run.partial_reason) == ("partial", "turn_failed")


# -- who takes over ------------------------------------------------------------------------------------------------


def test_an_author_never_takes_over_the_judgement_of_its_work() -> None:
    run = judging(retry=RetryPolicy(fallback=("Ada", "Grace")), crew={"Backend": "Ada"})
    [event] = fails(run, "auth")
    assert isinstance(event, TurnAttemptFailed)
    assert event.fallback_agent == "Grace"


def test_a_review_knows_the_policy_and_the_author_even_after_a_takeover() -> None:
    retry = RetryPolicy(fallback=("Grace",))
    run = story(subtask("Backend"), retry=retry, work_review=wish("review"))
    fails(run, "auth")
    run.answer("done", attempt=2)
    recorded = run.answer(verdicts(Backend=True))
    [child] = [event for event in recorded if isinstance(event, ChildRequested)]
    assert (child.topic.retry, child.topic.authors) == (retry, ("Backend", "Grace"))


def test_an_author_takes_over_the_answers_of_a_review_but_never_its_critique() -> None:
    run = DiscussionStory(retry=RetryPolicy(fallback=("Ada", "Grace")), authors=("Ada",))
    assert fails(run, "auth")[0].fallback_agent == "Grace"  # type: ignore[attr-defined]


def test_sessions_from_before_attempts_keep_their_rules() -> None:
    run = judging(retry=ONCE)
    run.answer("Well done.")
    assert run.request.prompt == "verdict_repair@1"


# -- what broke off ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expires_ms", [None, 60_000])
def test_a_failed_discussion_can_be_retried_instead_of_decided(expires_ms: int | None) -> None:
    run = DiscussionStory(retry=POLICY, expires_ms=expires_ms)
    fails(run, "auth")
    assert (run.talk.state, run.talk.reason) == ("waiting_for_decision", "turn_failed")
    assert {"retry", "decision"} <= {*discussion_actions(run.talk)}
    recorded = run.when(RetryTurn(reason="signed in"))
    assert [event.TOPIC for event in recorded if "cancelled" not in event.TOPIC] == ["review.retried", "turn.retried"]
    assert (run.talk.state, run.talk.reason, run.talk.choices) == ("reviewing", None, ())
    [turn] = run.talk.outstanding.values()
    assert (turn.work, turn.role) == ("ask", "reviewer")
    run.answer("It is fine.", attempt=2)
    assert len(run.talk.rounds) == 1


def test_a_finished_discussion_has_no_turn_to_retry() -> None:
    run = DiscussionStory(max_rounds=1)
    run.answer("It is fine.")
    run.answer("A synthesis.")
    assert run.talk.state == "waiting_for_decision"
    assert "retry" not in discussion_actions(run.talk)
    run.refused(RetryTurn())
