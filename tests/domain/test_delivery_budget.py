"""A delivery and its budget: exactly so much, no more, and a person who gives more (S4 §6.3, K-43, K-44, K-46; P20)."""

import pytest

from domain.delivery.commands import ExtendBudget
from domain.delivery.events import (
    AttemptStarted,
    BudgetExhausted,
    BudgetExtended,
    DeliveryEvent,
    PhaseFailed,
    PhaseSkipped,
    SessionFinished,
)
from domain.session.attempts import SUBSTITUTED, Failure
from domain.session.turns import ExpireTurn, RetryTurn, TurnCancelled, TurnRequested
from domain.values.base import Text, Usage
from tests.kit.stories import MINUTE, START, DeliveryStory, extension, topics

DEADLINE = 45 * MINUTE


def attempts(story: DeliveryStory) -> list[int]:
    return [event.iteration for event in story.events if isinstance(event, AttemptStarted)]


def exhausted(story: DeliveryStory) -> BudgetExhausted:
    """The newest end of the budget."""
    return next(event for event in reversed(story.events) if isinstance(event, BudgetExhausted))


def finished(story: DeliveryStory) -> SessionFinished:
    event = story.events[-1]
    assert isinstance(event, SessionFinished)
    return event


def used_up(*, iterations: int = 1) -> DeliveryStory:
    """A delivery whose reviewer always blocks, at its end."""
    story = DeliveryStory(iterations=iterations).in_review()
    story.blocks()
    while story.delivery.state != "exhausted":
        story.answer("code")
        story.passes()
        story.blocks()
    return story


# -- what the person said ------------------------------------------------------------------------------------------


def heard(story: DeliveryStory) -> list[tuple[str, str]]:
    """What the agent of the newest turn is told of persons."""
    return [(said.occasion, said.words) for said in story.turn.heard]


def test_the_reason_of_an_extension_is_told_to_the_next_agent_and_to_no_other() -> None:
    story = used_up()
    story.extend(add_iterations=1)
    assert heard(story) == [("extended", "worth it")]
    story.answer("code")
    story.passes()
    assert (story.request.role, heard(story)) == ("reviewer", [])


def test_a_reason_that_is_given_while_an_agent_works_waits_for_the_next_one() -> None:
    story = DeliveryStory(iterations=2).designed()
    story.extend(add_minutes=5)
    assert heard(story) == [], "it was asked before"
    story.answer("code")
    story.passes()
    assert (story.request.role, heard(story)) == ("reviewer", [("extended", "worth it")])


def test_the_reason_of_a_retry_is_told_to_the_agent_that_is_asked_again() -> None:
    story = DeliveryStory(iterations=2).designed()
    story.answer(failure=Failure(code="refused", detail="no"))
    story.when(RetryTurn(reason="Use the other file."))
    assert heard(story) == [("retried", "Use the other file.")]


@pytest.mark.parametrize("reason", ["", "  ", SUBSTITUTED])
def test_without_words_of_a_person_nothing_is_told(reason: str) -> None:
    story = used_up()
    story.when(ExtendBudget(reason=reason, add_iterations=1))
    assert heard(story) == []


def test_of_many_words_the_newest_wait() -> None:
    """Each command keeps them all, so their number must not grow with the session."""
    story = DeliveryStory(iterations=2).designed()
    for number in range(60):
        story.when(ExtendBudget(reason=f"word {number}", add_minutes=1))
    story.answer("code")
    story.passes()
    assert heard(story) == [("extended", f"word {number}") for number in range(10, 60)]


# -- iterations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 6, 20])
def test_a_review_that_always_blocks_gets_exactly_its_iterations(limit: int) -> None:
    """S4 §10.2.3, P20."""
    story = used_up(iterations=limit)
    assert attempts(story) == list(range(1, limit + 1))
    end = exhausted(story)
    assert (end.message, end.reason, end.phase) == ("Budget exhausted by iterations.", "iterations", "review")
    assert (end.iteration, end.remaining_iterations) == (limit + 1, 0)
    assert end.budget is not None, "the snapshot is beside the flat figures (K-38)"
    assert (end.budget.max_iterations, end.budget.remaining_iterations) == (limit, 0)
    assert (end.budget.reason, end.budget.elapsed_ms) == (end.reason, end.elapsed_ms)
    assert story.phases() == {
        **dict.fromkeys(("planning", "architecture", "design"), "completed"),
        **dict.fromkeys(("implementation", "validation", "review"), "completed"),
        "packaging": "skipped",
    }
    assert (story.delivery.status, story.delivery.final_summary) == ("failed", "failed_budget_exhausted")
    assert story.delivery.outstanding == {}


def test_the_end_of_a_budget_has_the_text_and_fields_of_the_seed() -> None:
    """S4 §4.3, K-38, K-43, K-44: the flat snapshot is in the data, the phase is the real one."""
    story = DeliveryStory(iterations=1).in_review()
    recorded = story.blocks(after=90_000)
    assert topics(recorded) == [
        *("turn.answered", "delivery.artifact_created", "delivery.phase_completed"),
        *("delivery.review_blocking_detected", "delivery.budget_exhausted", "delivery.phase_skipped"),
        "delivery.session_finished",
    ]
    end = finished(story)
    assert (end.message, end.status, end.final_summary) == (
        "failed_budget_exhausted",
        "failed",
        "failed_budget_exhausted",
    )
    data = end.model_dump(mode="json", by_alias=True)
    assert {name: data[name] for name in ("elapsedMs", "remainingIterations", "reason")} == {
        "elapsedMs": 90_000,
        "remainingIterations": 0,
        "reason": "iterations",
    }


def test_a_spent_budget_ends_with_the_iteration_that_could_not_start() -> None:
    """Behaviour §3.3, K-43: both events carry maximum + 1."""
    story = DeliveryStory(iterations=1).in_review()
    story.blocks()
    end = finished(story)
    assert (exhausted(story).iteration, exhausted(story).phase) == (2, "review")
    assert (end.iteration, end.phase, end.remaining_iterations, end.reason) == (2, "review", 0, "iterations")


def test_a_budget_spent_during_an_iteration_ends_with_that_iteration() -> None:
    story = DeliveryStory(iterations=3).in_review()
    story.approves(after=DEADLINE + 1)
    assert story.delivery.status == "success"
    late = DeliveryStory(iterations=3).implemented()
    late.passes(after=DEADLINE + 1)
    assert (exhausted(late).iteration, exhausted(late).phase) == (1, "validation")
    assert (finished(late).iteration, finished(late).phase) == (1, "validation")


def test_a_validation_that_always_fails_never_reaches_the_reviewer() -> None:
    story = DeliveryStory(iterations=2).implemented()
    story.breaks()
    story.answer("code")
    story.breaks()
    assert attempts(story) == [1, 2]
    assert (exhausted(story).phase, exhausted(story).iteration) == ("validation", 3)
    assert story.phases() == {
        **dict.fromkeys(("planning", "architecture", "design", "implementation"), "completed"),
        "validation": "failed",
        **dict.fromkeys(("review", "packaging"), "skipped"),
    }
    skipped = [event.phase for event in story.events if isinstance(event, PhaseSkipped)]
    assert skipped == ["review", "packaging"]
    assert "reviewer" not in [event.role for event in story.events if isinstance(event, TurnRequested)]


def test_an_approval_in_the_last_iteration_is_a_success() -> None:
    story = DeliveryStory(iterations=2).in_review()
    story.blocks()
    story.answer("code")
    story.passes()
    story.approves()
    assert (story.delivery.status, attempts(story)) == ("success", [1, 2])


def test_the_remaining_iterations_fall_with_each_attempt() -> None:
    story = used_up(iterations=3)
    started = [event.remaining_iterations for event in story.events if isinstance(event, AttemptStarted)]
    assert started == [3, 2, 1]


# -- minutes -------------------------------------------------------------------------------------------------------


def test_iterations_are_named_before_minutes() -> None:
    story = DeliveryStory(iterations=1).in_review()
    story.blocks(after=DEADLINE + 1)
    assert exhausted(story).reason == "iterations"


@pytest.mark.parametrize(("late", "state"), [(0, "implementation"), (1, "exhausted")])
def test_an_iteration_may_begin_at_the_deadline_but_not_later(late: int, state: str) -> None:
    """S4 §10.2.4, behaviour §3.3."""
    story = DeliveryStory(minutes=45).in_review()
    story.blocks(after=DEADLINE + late)
    assert story.delivery.state == state


def test_the_clock_starts_with_the_session_and_not_with_the_first_iteration() -> None:
    story = DeliveryStory()
    story.answer("plan", after=20 * MINUTE)
    story.answer("architecture", after=20 * MINUTE)
    recorded = story.answer("design", after=5 * MINUTE + 1)
    assert topics(recorded)[-6:] == [
        "delivery.budget_exhausted",
        *["delivery.phase_skipped"] * 4,
        "delivery.session_finished",
    ]
    end = exhausted(story)
    assert (end.reason, end.phase, end.elapsed_ms, end.iteration) == ("minutes", "design", DEADLINE + 1, 1)
    assert (story.delivery.budget.started_at, attempts(story)) == (START, [])


def test_an_approval_after_the_deadline_is_a_success() -> None:
    """Behaviour §3.3: nothing is asked of the budget once the work is approved."""
    story = DeliveryStory().in_review()
    story.approves(after=DEADLINE + 1)
    assert story.delivery.status == "success"


def test_a_phase_does_not_begin_after_the_deadline() -> None:
    """P20: no further agent is asked, inside an iteration either."""
    story = DeliveryStory().designed()
    story.answer("code", after=DEADLINE + 1)
    assert (story.delivery.state, exhausted(story).reason, exhausted(story).phase) == (
        *("exhausted", "minutes"),
        "implementation",
    )
    assert story.phases()["implementation"] == "completed"
    assert story.phases()["validation"] == "skipped"


def test_a_running_turn_is_not_stopped_at_the_deadline_itself() -> None:
    story = DeliveryStory().designed()
    refusal = story.refused(ExpireTurn(turn_id=story.turn.turn_id), after=DEADLINE)
    assert str(refusal) == "The deadline has not passed."
    assert refusal.allowed == ("cancel", "extend", "revise")


def test_a_running_turn_is_stopped_after_the_deadline() -> None:
    """P20: the deadline holds inside a call, too."""
    story = DeliveryStory().designed()
    turn_id = story.turn.turn_id
    recorded = story.when(ExpireTurn(turn_id=turn_id), after=DEADLINE + 1)
    assert topics(recorded) == [
        *("turn.cancelled", "delivery.phase_failed", "delivery.budget_exhausted"),
        *["delivery.phase_skipped"] * 3,
        "delivery.session_finished",
    ]
    cancelled, failed = recorded[0], recorded[1]
    assert isinstance(cancelled, TurnCancelled) and (cancelled.turn_id, cancelled.reason) == (turn_id, "deadline")
    assert isinstance(failed, PhaseFailed)
    assert (failed.error_type, failed.phase) == ("deadline", "implementation")
    assert (exhausted(story).reason, exhausted(story).iteration) == ("minutes", 1)
    assert story.delivery.final_summary == "failed_budget_exhausted"


def test_handing_over_has_no_deadline() -> None:
    story = DeliveryStory(repository=True).in_review()
    story.approves()
    refusal = story.refused(ExpireTurn(turn_id=story.turn.turn_id), after=DEADLINE + 1)
    assert str(refusal) == "Handing over finished work has no deadline."


# -- tokens and money ----------------------------------------------------------------------------------------------


def test_no_phase_begins_once_the_tokens_are_used_up() -> None:
    story = DeliveryStory(tokens=1_000)
    story.answer("plan", usage=Usage(input_tokens=600, output_tokens=399))
    assert story.delivery.state == "architecture"
    story.answer("architecture", usage=Usage(output_tokens=1))
    assert (story.delivery.state, exhausted(story).reason, exhausted(story).phase) == (
        "exhausted",
        "tokens",
        "architecture",
    )
    assert story.delivery.snapshot(story.at).tokens == 1_000


def test_no_phase_begins_once_the_money_is_spent() -> None:
    story = DeliveryStory(cost=50)
    story.answer("plan", usage=Usage(cost_micros=50))
    assert (story.delivery.state, exhausted(story).reason) == ("exhausted", "cost")


def test_unknown_usage_is_unknown_and_uses_nothing_up() -> None:
    story = DeliveryStory(tokens=1, cost=1).designed()
    assert story.delivery.state == "implementation"
    snapshot = story.delivery.snapshot(story.at)
    assert (snapshot.tokens, snapshot.cost_micros) == (None, None)
    assert story.delivery.spent.unknown == 3


def test_usage_counts_whether_or_not_the_prompt_was_kept() -> None:
    story = DeliveryStory(tokens=10)
    story.answer("plan", usage=Usage(input_tokens=10), prompt=Text())
    assert (story.delivery.state, exhausted(story).reason) == ("exhausted", "tokens")


def test_a_failed_turn_is_paid_for() -> None:
    story = DeliveryStory()
    text, _ = Text.of("You are asked.")
    story.when(story.reply("", failure=Failure(code="timeout"), prompt=text, usage=Usage(input_tokens=7)))
    assert story.delivery.spent.tokens == 7


def test_validations_cost_no_tokens_and_are_not_unknown() -> None:
    story = DeliveryStory().implemented()
    story.passes()
    assert (story.delivery.spent.tokens, story.delivery.spent.unknown) == (None, 4)


# -- a person gives more -------------------------------------------------------------------------------------------


def test_more_iterations_let_an_exhausted_delivery_succeed() -> None:
    """K-46."""
    story = used_up(iterations=1)
    recorded = story.extend(add_iterations=1)
    assert topics(recorded) == [
        *("delivery.budget_extended", "delivery.attempt_started", "delivery.phase_started", "turn.requested")
    ]
    delivery = story.delivery
    assert (delivery.state, delivery.status, delivery.iteration) == ("implementation", "running", 2)
    assert (delivery.final_summary, delivery.exhausted_by, delivery.resume) == (None, None, None)
    assert story.phases()["packaging"] == "pending"
    assert story.prompt_part("feedback").startswith("Review blocked at iteration 1.")
    assert story.prompt_part("max_iterations") == "2"
    story.answer("code")
    story.passes()
    story.approves()
    assert (story.delivery.status, attempts(story)) == ("success", [1, 2])


def test_the_extension_is_recorded_with_its_amounts_and_its_reason() -> None:
    story = used_up(iterations=2)
    story.extend(add_iterations=3, add_minutes=10)
    [extended] = [event for event in story.events if isinstance(event, BudgetExtended)]
    assert (extended.add_iterations, extended.add_minutes, extended.why) == (3, 10, "worth it")
    assert (extended.limits.max_iterations, extended.limits.max_minutes) == (5, 55)
    assert extended.message == "Budget extended: worth it"


def test_an_extended_delivery_that_uses_that_up_too_ends_again() -> None:
    story = used_up(iterations=1)
    for _ in range(2):
        story.extend(add_iterations=1)
        story.answer("code")
        story.passes()
        story.blocks()
        assert story.delivery.final_summary == "failed_budget_exhausted"
    assert attempts(story) == [1, 2, 3]
    assert exhausted(story).iteration == 4


@pytest.mark.parametrize("later", [0, 1, MINUTE, 100 * MINUTE])
def test_after_minutes_only_more_minutes_help(later: int) -> None:
    """However long the delivery was stopped: refused without a change."""
    story = DeliveryStory().in_review()
    story.blocks(after=DEADLINE + 1)
    refusal = story.refused(extension(add_iterations=5, add_tokens=5, add_cost_micros=5), after=later)
    assert str(refusal) == "The budget would still be exhausted by minutes: extend that too."
    assert refusal.allowed == ("extend",)
    assert (story.delivery.state, story.delivery.budget.limits.max_iterations) == ("exhausted", 6)


@pytest.mark.parametrize("later", [0, 3 * 60 * MINUTE])
@pytest.mark.parametrize("overrun", [1, 90 * MINUTE])
def test_more_minutes_are_minutes_from_now(overrun: int, later: int) -> None:
    """The clock stops while the delivery waits, from its deadline at the latest (it may be noticed late)."""
    story = DeliveryStory().in_review()
    story.blocks(after=DEADLINE + overrun)
    story.extend(add_minutes=10, after=later)
    assert story.delivery.state == "implementation"
    left = story.delivery.budget.deadline_at - story.at
    assert 10 * MINUTE - 1 <= left <= 10 * MINUTE
    story.answer("code", after=left)
    assert story.delivery.state == "validation"
    story.passes(after=1)
    assert (story.delivery.state, exhausted(story).reason) == ("exhausted", "minutes")


def test_more_minutes_take_up_the_turn_that_was_stopped_in_the_same_iteration() -> None:
    story = DeliveryStory().in_review()
    story.when(ExpireTurn(turn_id=story.turn.turn_id), after=DEADLINE + 1)
    assert story.phases()["review"] == "failed"
    recorded = story.extend(add_minutes=5)
    assert topics(recorded) == ["delivery.budget_extended", "delivery.phase_started", "turn.requested"]
    assert (story.delivery.state, story.delivery.iteration, attempts(story)) == ("review", 1, [1])
    story.approves()
    assert story.delivery.status == "success"


def test_more_minutes_take_up_the_phase_that_could_not_begin() -> None:
    story = DeliveryStory()
    story.answer("plan", after=DEADLINE + 1)
    story.extend(add_minutes=5)
    assert (story.delivery.state, story.request.role, story.prompt_part("plan")) == (
        "architecture",
        "architect",
        "plan",
    )
    assert story.phases() == {
        "planning": "completed",
        "architecture": "running",
        **dict.fromkeys(("design", "implementation", "validation", "review", "packaging"), "pending"),
    }


def test_the_clock_stops_while_the_delivery_is_stopped() -> None:
    story = DeliveryStory(iterations=1, minutes=45).in_review()
    story.blocks(after=10 * MINUTE)
    hours_later = story.at + 600 * MINUTE
    assert story.delivery.snapshot(hours_later).elapsed_ms == 10 * MINUTE
    story.extend(add_iterations=1, after=600 * MINUTE)
    snapshot = story.delivery.snapshot(story.at)
    assert (snapshot.elapsed_ms, snapshot.deadline_at - story.at) == (10 * MINUTE, 35 * MINUTE)
    story.answer("code", after=MINUTE)
    assert story.delivery.snapshot(story.at).elapsed_ms == 11 * MINUTE


def test_the_clock_stops_when_the_delivery_has_ended() -> None:
    story = DeliveryStory().in_review()
    story.approves(after=10 * MINUTE)
    assert story.delivery.snapshot(story.at + 600 * MINUTE).elapsed_ms == 10 * MINUTE


def test_a_running_delivery_is_extended_where_it_is() -> None:
    story = DeliveryStory(iterations=1, minutes=45).in_review()
    before = story.turn
    recorded = story.extend(add_iterations=1, add_minutes=15, after=40 * MINUTE)
    assert topics(recorded) == ["delivery.budget_extended"]
    assert (story.delivery.state, story.turn) == ("review", before)
    story.refused(ExpireTurn(turn_id=before.turn_id), after=20 * MINUTE)
    story.blocks()
    assert (story.delivery.state, story.delivery.iteration) == ("implementation", 2)
    assert story.delivery.budget.deadline_at == START + 60 * MINUTE


def test_after_tokens_only_more_tokens_help() -> None:
    story = DeliveryStory(tokens=100)
    story.answer("plan", usage=Usage(input_tokens=120))
    refusal = story.refused(extension(add_iterations=1))
    assert str(refusal) == "The budget would still be exhausted by tokens: extend that too."
    story.refused(extension(add_tokens=20))
    story.extend(add_tokens=21)
    assert (story.delivery.state, story.delivery.budget.limits.max_tokens) == ("architecture", 121)


def test_more_tokens_for_a_budget_without_a_limit_set_none() -> None:
    story = DeliveryStory()
    story.extend(add_tokens=5, add_cost_micros=5)
    limits = story.delivery.budget.limits
    assert (limits.max_tokens, limits.max_cost_micros) == (None, None)


def test_an_extension_by_nothing_is_refused() -> None:
    refusal = DeliveryStory().refused(extension())
    assert str(refusal) == "An extension adds at least one of iterations, minutes, tokens or cost."


def test_every_event_of_a_phase_carries_the_flat_snapshot() -> None:
    story = DeliveryStory(iterations=3)
    story.answer("plan", after=1_234)
    created = next(event for event in reversed(story.events) if isinstance(event, DeliveryEvent))
    assert (created.elapsed_ms, created.remaining_iterations, created.reason) == (1_234, 3, None)
