"""Attempts of a turn: what follows a failed one, what a wait costs, and how a person retries (contract-2 §10)."""

from typing import Any

import pytest

from domain.delivery.decide import allowed_actions
from domain.delivery.events import DeliveryRetried, PhaseFailed
from domain.session.attempts import FRESH, Failure, FailureCode, NextAttempt, RetryPolicy, step_after
from domain.session.turns import RecordReply, RetryTurn, TurnAnswered, TurnAttemptFailed, TurnFailed, TurnRetried
from domain.values.base import Refused, Usage, iso
from tests.kit.replies import review
from tests.kit.stories import MINUTE, DeliveryStory, topics

POLICY = RetryPolicy(attempts=3, backoff_seconds=(5, 30), fallback=("Grace", "Linus"))


def story(**fields: Any) -> DeliveryStory:
    return DeliveryStory(retry=fields.pop("retry", POLICY), **fields)


def fails(found: DeliveryStory, code: FailureCode, *, attempt: int, retry_after: float | None = None) -> Any:
    failure = Failure(code=code, detail="429 Too Many Requests", retry_after=retry_after)
    command = RecordReply(turn_id=found.turn.turn_id, attempt=attempt, failure=failure, usage=Usage(input_tokens=7))
    return found.when(command)


# -- the rule ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["rate_limit", "overloaded", "network", "crash", "timeout", "idle", "workspace"])
def test_transient_failures_are_tried_again_after_a_growing_wait(code: FailureCode) -> None:
    failure = Failure(code=code)
    assert step_after(failure, FRESH, POLICY, agent="Ada", at=1_000) == NextAttempt("retry", at=6_000)


def test_a_wait_named_by_the_agent_overrides_the_backoff() -> None:
    failure = Failure(code="rate_limit", retry_after=61)
    assert step_after(failure, FRESH, POLICY, agent="Ada", at=0) == NextAttempt("retry", at=61_000)


def test_a_wait_that_is_too_long_is_not_started() -> None:
    failure = Failure(code="rate_limit", retry_after=21_601)
    assert step_after(failure, FRESH, POLICY, agent="Ada", at=0) == NextAttempt("fallback", agent="Grace")
    assert step_after(failure, FRESH, RetryPolicy(), agent="Ada", at=0) is None


def test_a_rejected_key_passes_the_turn_to_another_agent_and_is_not_retried() -> None:
    failure = Failure(code="auth")
    assert step_after(failure, FRESH, POLICY, agent="Ada", at=0) == NextAttempt("fallback", agent="Grace")
    assert step_after(failure, FRESH, RetryPolicy(), agent="Ada", at=0) is None


@pytest.mark.parametrize("code", ["refused", "limit", "deadline"])
def test_hopeless_failures_are_final(code: FailureCode) -> None:
    assert step_after(Failure(code=code), FRESH, POLICY, agent="Ada", at=0) is None


def test_a_lost_conversation_starts_a_new_one_at_once() -> None:
    failure = Failure(code="lost_conversation")
    assert step_after(failure, FRESH, POLICY, agent="Ada", at=0) == NextAttempt("new_conversation")


def test_an_author_never_takes_over_the_review_of_its_work() -> None:
    failure = Failure(code="auth")
    assert step_after(failure, FRESH, POLICY, agent="Ada", at=0, barred=("grace",)) == NextAttempt(
        "fallback", agent="Linus"
    )


# -- a delivery ----------------------------------------------------------------------------------------------------


def test_one_rate_limit_costs_a_wait_and_nothing_else() -> None:
    run = story()
    [event] = fails(run, "rate_limit", attempt=1, retry_after=90)
    assert isinstance(event, TurnAttemptFailed)
    assert (event.next, event.retry_at, event.failure.retryable) == ("retry", iso(run.at + 90_000), True)
    waiting = run.turn
    assert (waiting.tries.until, waiting.tries.reason) == (run.at + 90_000, "rate_limit")
    assert run.delivery.status == "running"
    assert run.delivery.spent.tokens == 7
    answered, *_ = run.answer("the plan", after=95_000)
    assert isinstance(answered, TurnAnswered)
    assert run.delivery.phase == "architecture"


def test_a_wait_for_a_provider_uses_up_no_minutes() -> None:
    run = story()
    before = run.delivery.snapshot(run.at)
    fails(run, "overloaded", attempt=1, retry_after=3_600)
    assert run.delivery.budget.deadline_at == before.deadline_at + 3_600_000
    for later in (0, 1_800_000, 3_600_000):
        assert run.delivery.snapshot(run.at + later).elapsed_ms == before.elapsed_ms
    assert run.delivery.snapshot(run.at + 3_601_000).elapsed_ms == before.elapsed_ms + 1_000


def test_any_other_wait_counts() -> None:
    run = story()
    before = run.delivery.snapshot(run.at)
    fails(run, "network", attempt=1)
    assert run.delivery.budget.deadline_at == before.deadline_at
    assert run.delivery.snapshot(run.at + 5_000).elapsed_ms == before.elapsed_ms + 5_000


def test_attempts_are_used_up_then_the_next_agent_takes_over_with_its_own() -> None:
    run = story(retry=RetryPolicy(attempts=2, fallback=("Grace",)))
    assert [fails(run, "network", attempt=n)[0].next for n in (1, 2)] == ["retry", "fallback"]
    assert run.turn.agent == "Grace"
    assert fails(run, "network", attempt=3)[0].next == "retry"
    failed, *_ = fails(run, "network", attempt=4)
    assert isinstance(failed, TurnFailed)
    assert failed.agent == "Grace"


def test_without_another_attempt_the_delivery_stops_and_names_the_next_action() -> None:
    run = story(retry=RetryPolicy(attempts=1))
    recorded = fails(run, "network", attempt=1)
    assert topics(recorded)[:2] == ["turn.failed", "delivery.phase_failed"]
    assert (run.delivery.status, run.delivery.code) == ("failed", "turn_failed")
    assert allowed_actions(run.delivery) == ("retry",)


def test_a_retry_asks_the_same_turn_again_and_keeps_what_came_before() -> None:
    result = story(retry=RetryPolicy(attempts=1)).designed()
    turn_id = result.turn.turn_id
    fails(result, "auth", attempt=1)
    result.at += 10 * MINUTE
    before = result.delivery.snapshot(result.at)
    recorded = result.when(RetryTurn(reason="key renewed"))
    assert [type(event) for event in recorded] == [DeliveryRetried, TurnRetried]
    assert result.turn.turn_id == turn_id
    assert result.phases()["implementation"] == "running"
    assert result.phases()["validation"] == "pending"
    assert (result.delivery.status, result.delivery.code, result.delivery.last_error) == ("running", None, None)
    assert result.delivery.snapshot(result.at).elapsed_ms == before.elapsed_ms
    result.answer("the code")
    assert result.delivery.phase == "validation"


def test_a_retry_without_tokens_left_exhausts_the_budget_and_an_extension_asks_again() -> None:
    run = story(retry=RetryPolicy(attempts=1), tokens=7)
    fails(run, "network", attempt=1)
    recorded = topics(run.when(RetryTurn()))
    assert (recorded[0], recorded[-1]) == ("delivery.retried", "delivery.session_finished")
    assert "delivery.budget_exhausted" in recorded and "turn.retried" not in recorded
    assert (run.delivery.state, run.delivery.phase) == ("exhausted", "planning")
    run.extend(add_tokens=1)
    assert (run.delivery.state, run.turn.role) == ("planning", "planner")


def test_a_retry_during_a_wait_asks_at_once_and_gives_back_the_time() -> None:
    run = story()
    before = run.delivery.budget.deadline_at
    fails(run, "rate_limit", attempt=1, retry_after=3_600)
    run.at += 60_000
    [retried] = run.when(RetryTurn())
    assert isinstance(retried, TurnRetried)
    assert run.turn.tries.until is None
    assert run.delivery.budget.deadline_at == before + 60_000
    assert fails(run, "network", attempt=2)[0].next == "retry"


def test_nothing_that_runs_can_be_retried() -> None:
    refusal = story().refused(RetryTurn())
    assert refusal.allowed == ("cancel", "extend", "revise")


def test_an_unreadable_review_is_requested_again_once_with_the_problem() -> None:
    result = story().in_review()
    [again] = result.answer("Looks fine to me.")
    assert isinstance(again, TurnAttemptFailed)
    assert (again.next, again.failure.code, again.reply.head) == ("repair", "unreadable", "Looks fine to me.")
    assert result.turn.tries.problem == again.failure.detail != ""
    result.answer(review(), attempt=2)
    assert result.delivery.status == "success"


def test_an_answer_that_stays_unreadable_fails_and_is_shown() -> None:
    result = story().in_review()
    result.answer("Looks fine.")
    failed, phase, *_ = result.answer("Still fine.", attempt=2)
    assert isinstance(failed, TurnFailed)
    assert isinstance(phase, PhaseFailed)
    assert (failed.failure.code, failed.reply.head) == ("unreadable", "Still fine.")
    assert result.delivery.code == "turn_failed"
    result.when(RetryTurn())
    result.answer(review(), attempt=3)
    assert result.delivery.status == "success"


def test_each_attempt_counts_as_another_question_to_its_agent() -> None:
    run = story()
    assert (run.turn.ordinal, run.turn.role_ordinal) == (0, 0)
    fails(run, "network", attempt=1)
    assert (run.turn.ordinal, run.turn.role_ordinal) == (1, 1)


def test_a_session_without_a_policy_fails_at_once() -> None:
    run = DeliveryStory()
    failed, *_ = fails(run, "rate_limit", attempt=1)
    assert isinstance(failed, TurnFailed)
    with pytest.raises(Refused):
        run.when(RecordReply(turn_id=failed.turn_id, attempt=1))
