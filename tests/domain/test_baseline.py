"""The baseline: the validation runs once before any agent is asked (contract-2 §9)."""

from typing import Any

from domain.delivery.commands import CancelDelivery, RecordBaseline, RecordValidation
from domain.delivery.events import BaselineRecorded, DeliveryRetried, ValidationFailed
from domain.delivery.state import Delivery
from domain.delivery.validation import Baseline, BaselineCommand, Escape, Preparation, SetupCommand, new_failures
from domain.kinds import allowed_actions
from domain.replay import first_difference
from domain.session.attempts import Failure
from domain.session.record import Recorded
from domain.session.turns import RetryTurn, TurnRequested
from domain.session.validation import ValidationStep
from tests.domain.test_replay import recorded
from tests.kit.stories import MINUTE, START, Story, start, topics

GREEN = BaselineCommand(stage="test", command="npm test", startable=True, exit_code=0, passed=True, seconds=1.5)
RED = GREEN.model_copy(update={"exit_code": 1, "passed": False, "reasons": ("FAILED tests/a.py::test_old",)})
MISSING = GREEN.model_copy(update={"startable": False, "exit_code": -1, "passed": False, "detail": "No such file."})


def prepared(**fields: Any) -> Story:
    """A delivery whose baseline is asked for."""
    story = Story()
    story.when(start(baseline=True, **fields))
    return story


def found(story: Story, *commands: BaselineCommand, after: int = 0, **fields: Any) -> list[str]:
    """The topics of what a baseline led to."""
    baseline = Baseline(commands=commands, **fields)
    command = RecordBaseline(turn_id=story.turn.turn_id, attempt=1, baseline=baseline)
    return topics(story.when(command, after=after))


def delivery(story: Story) -> Delivery:
    assert isinstance(story.now, Delivery)
    return story.now


def test_the_workspace_is_prepared_before_the_first_phase() -> None:
    story = prepared()
    request = story.request
    assert (request.work, request.phase, request.deadline) == ("prepare", "preparing", None)
    assert (delivery(story).state, delivery(story).status) == ("preparing", "running")
    assert found(story, GREEN) == [
        "turn.answered",
        "delivery.baseline_recorded",
        "delivery.phase_started",
        "turn.requested",
    ]
    assert delivery(story).state == "planning"


def test_without_a_baseline_planning_begins_at_once() -> None:
    story = Story()
    assert topics(story.when(start())) == ["delivery.session_started", "delivery.phase_started", "turn.requested"]


def test_the_budget_starts_at_its_end() -> None:
    story = prepared(minutes=1)
    found(story, GREEN, after=10 * MINUTE)
    assert delivery(story).budget.started_at == START + 10 * MINUTE
    recorded = next(event for event in story.events if isinstance(event, BaselineRecorded))
    assert recorded.elapsed_ms == 0
    assert story.turn.deadline is not None


def test_a_failing_baseline_does_not_stop_the_delivery_and_is_in_the_prompts() -> None:
    story = prepared()
    found(story, RED)
    for _ in range(3):
        story.answer("fine")
    assert "FAILED tests/a.py::test_old" in story.prompt_part("validation")
    story.answer("done")
    story.when(RecordValidation(turn_id=story.turn.turn_id, attempt=1, passed=True, summary="Passed."))
    assert story.prompt_part("validation").startswith("Passed.\n\nThese commands failed before any change:")


def test_a_command_that_cannot_start_ends_the_baseline_before_any_agent() -> None:
    story = prepared()
    seen = found(story, GREEN, MISSING)
    assert seen[:2] == ["turn.failed", "delivery.baseline_recorded"]
    assert seen[-1] == "delivery.session_finished"
    assert not [event for event in story.events if isinstance(event, TurnRequested) and event.work == "ask"]
    state = delivery(story)
    assert (state.status, state.code) == ("failed", "validation_not_startable")
    assert state.final_summary is not None
    assert "`npm test` cannot be started. No such file." in state.final_summary
    assert "retry" in allowed_actions(state)


def test_a_validation_that_tests_another_folder_ends_it() -> None:
    story = prepared()
    found(story, GREEN, escapes=(Escape(what="Python package shop", path="/home/ann/shop"),))
    state = delivery(story)
    assert state.code == "validation_escapes_workspace"
    assert "Python package shop comes from /home/ann/shop" in (state.final_summary or "")


def test_a_failing_set_up_ends_it_with_the_end_of_its_output() -> None:
    story = prepared()
    found(story, setup=(SetupCommand(command="npm ci", exit_code=1, passed=False, tail="ERR! no lock file"),))
    state = delivery(story)
    assert state.code == "setup_failed"
    assert "`npm ci` failed" in (state.final_summary or "")
    assert "ERR! no lock file" in (state.final_summary or "")


def test_a_set_up_whose_program_is_missing_says_so() -> None:
    story = prepared()
    missing = SetupCommand(command="uv sync", exit_code=-1, passed=False, tail="'uv' was not started")
    found(story, setup=(missing,))
    summary = delivery(story).final_summary or ""
    assert "`uv sync` could not be started, or was stopped" in summary and "exit code" not in summary


def test_a_retry_runs_the_baseline_again() -> None:
    story = prepared(minutes=1)
    found(story, MISSING)
    again = story.when(RetryTurn(reason="installed it"), after=60 * MINUTE)
    assert topics(again) == ["delivery.retried", "turn.retried"]
    assert isinstance(again[0], DeliveryRetried)
    assert (delivery(story).state, delivery(story).code, delivery(story).final_summary) == ("preparing", None, None)
    assert set(delivery(story).phases.values()) == {"pending"}
    assert found(story, GREEN)[-1] == "turn.requested"
    assert delivery(story).state == "planning"


def test_a_crash_while_preparing_fails_it_and_can_be_retried() -> None:
    story = prepared()
    failure = Failure(code="workspace", detail="The disk is full.")
    story.when(RecordBaseline(turn_id=story.turn.turn_id, attempt=1, failure=failure), after=1)
    assert first_difference(recorded(story), story.whole) is None
    assert (delivery(story).code, delivery(story).final_summary) == ("turn_failed", "The disk is full.")
    assert "retry" in allowed_actions(delivery(story))


def test_it_can_be_cancelled_while_it_is_prepared() -> None:
    story = prepared()
    story.when(CancelDelivery(reason="never mind"))
    assert delivery(story).status == "cancelled"


def test_a_validation_that_cannot_be_started_costs_no_iteration() -> None:
    story = prepared()
    found(story, GREEN)
    for _ in range(4):
        story.answer("fine")
    failure = Failure(code="validation_not_startable", detail="The validation command `npm test` cannot be started.")
    story.when(RecordValidation(turn_id=story.turn.turn_id, attempt=1, passed=False, failure=failure))
    state = delivery(story)
    assert (state.status, state.code, state.iteration) == ("failed", "validation_not_startable", 1)
    story.when(RetryTurn())
    assert (delivery(story).state, delivery(story).iteration, story.turn.work) == ("validation", 1, "validate")


def test_a_failed_validation_says_which_failures_are_new() -> None:
    story = prepared()
    found(story, RED)
    for _ in range(4):
        story.answer("fine")
    reasons = ("FAILED tests/a.py::test_old", "FAILED tests/a.py::test_new")
    validation = RecordValidation(turn_id=story.turn.turn_id, attempt=1, passed=False, reasons=reasons)
    failed = next(event for event in story.when(validation) if isinstance(event, ValidationFailed))
    assert failed.reasons == reasons
    assert failed.new_failures == ("FAILED tests/a.py::test_new",)


def test_line_numbers_make_no_failure_new() -> None:
    before = RED.model_copy(update={"reasons": ("src/a.ts(3,5): error TS2322: x", "a.py:10: error: y")})
    assert new_failures(("src/a.ts(9,1): error TS2322: x", "a.py:12: error: y"), (before,)) == ()


def test_a_baseline_is_decided_again_from_the_log() -> None:
    preparation = Preparation(setup=(ValidationStep(stage="custom", command="npm ci", argv=("npm", "ci")),))
    story = prepared(preparation=preparation)
    found(story, RED, MISSING, after=1)
    assert first_difference(recorded(story), story.whole) is None


def test_a_sentence_in_older_words_is_no_difference_but_another_fact_is() -> None:
    story = prepared()
    found(story, setup=(SetupCommand(command="npm ci", exit_code=1, passed=False, tail="ERR!"),), after=1)
    older = [in_other_words(each, ("If the command", "Where the command")) for each in recorded(story)]
    assert older != recorded(story)
    assert first_difference(older, story.whole) is None
    other = [in_other_words(each, ("exit code 1", "exit code 2"), ('"number":1', '"number":2')) for each in older]
    assert first_difference(other, story.whole) is not None


def in_other_words(each: Recorded, *words: tuple[str, str]) -> Recorded:
    text = each.event.model_dump_json()
    for old, new in words:
        text = text.replace(old, new)
    return each._replace(event=type(each.event).model_validate_json(text))
