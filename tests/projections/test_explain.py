"""Why it is in this state, and what a wished state lacks."""

from pathlib import Path
from typing import Any

import pytest

from domain.delivery.commands import ExtendBudget, RecordValidation
from domain.kinds import KINDS
from domain.values.words import catalogue
from projections.record.explain import explain
from projections.record.why_not import CHARTS, why_not
from tests.projections.given import APPROVING, BLOCKING
from tests.projections.stage import REVIEW, Stage, plan, subtask, verdicts

NAME = "delivery-1"


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


def why(stage: Stage, wished: str, name: str = NAME) -> list[str]:
    return str(why_not(stage.session(name), wished).text).splitlines()


def in_review(stage: Stage, **fields: Any) -> Stage:
    """A delivery whose reviewer is asked."""
    stage.delivers(NAME, **fields)
    for words in ("A plan.", "Modules.", "Functions.", "Written."):
        stage.answers(NAME, words)
    return validated(stage)


def validated(stage: Stage) -> Stage:

    turn = stage.turn(NAME).turn_id
    return stage.do(NAME, RecordValidation(turn_id=turn, attempt=1, passed=True, summary="1 passed", seconds=1.0))


def exhausted(stage: Stage) -> Stage:
    """Twice blocked, with two iterations to spend."""
    in_review(stage).answers(NAME, BLOCKING).answers(NAME, "Mended.")
    return validated(stage).answers(NAME, BLOCKING)


def test_an_explained_path_never_exhausts_the_budget(stage: Stage) -> None:
    in_review(stage, review=REVIEW).answers(NAME, APPROVING)
    assert stage.session(NAME).state == "under_review"
    child = stage.session(NAME).children[0]
    assert why(stage, "planning") == ["planning cannot be reached from under_review.", f"Waiting for {child}."]
    assert why(stage, "review")[0] == (
        "From under_review to review: send back to implementation → complete to validation → complete to review."
    )
    assert why(stage, "exhausted")[0] == "From under_review to exhausted: exhaust to exhausted."


def test_an_exhausted_delivery_continues_only_where_it_was_stopped(stage: Stage) -> None:
    exhausted(stage)
    assert stage.session(NAME).state == "exhausted"
    assert why(stage, "implementation") == [
        "From exhausted to implementation: extend to implementation.",
        "Waiting for a person: extend, revise.",
    ]
    assert why(stage, "review")[0] == (
        "review is one step away, but resumes_review must hold"
        " (it stopped in implementation, before iteration 3)."
        " The steps: extend to implementation → complete to validation → complete to review."
    )
    assert why(stage, "cancelled")[0] == "From exhausted to cancelled: extend to implementation → cancel to cancelled."
    stage.do(NAME, ExtendBudget(add_iterations=1, reason="more"))
    assert why(stage, "implementation") == ["The session is already in the state implementation."]


def test_the_explained_path_is_the_one_taken(stage: Stage) -> None:
    """A guard that comes before in the chart takes the step: a run that has a plan does not plan again."""
    name = "orchestration-1"
    stage.orchestrates(name, max_rounds=1).answers(name, plan(subtask(start_phase=3, end_phase=4)))
    stage.answers(name, "Done.", agent="Backend").answers(name, verdicts(Backend=False))
    assert stage.session(name).state == "partial"
    assert why(stage, "working", name)[0].startswith("From partial to working: ")
    result = why_not(stage.session(name), "planning").wire()
    assert result["direct"] == [
        {"event": "resume", "guard": None, "holds": False},
        {"event": "retry", "guard": "commands_failed", "holds": False},
        {"event": "retry", "guard": "planner_failed", "holds": False},
        {"event": "retry", "guard": "plan_refused", "holds": False},
    ]
    assert "commands_failed, planner_failed, plan_refused must hold" in result["text"].splitlines()[0]


def test_what_a_checkpoint_still_has_to_do_is_named(stage: Stage) -> None:
    name = "orchestration-1"
    stage.orchestrates(name).answers(name, plan(subtask(start_phase=3, end_phase=3, checkpoint=True)))
    stage.answers(name, "Done.", agent="Backend").answers(name, verdicts(Backend=True))
    assert stage.session(name).state == "checkpoint"
    assert why(stage, "done", name) == [
        "done is one step away, but nothing_left must hold (still to do: Backend in phase 4)."
        " The steps: resume to working → judge to judging → finish to done.",
        "Waiting for a person: continue, reset, cancel, revise.",
    ]


def test_every_agent_that_is_asked_is_named(stage: Stage) -> None:
    in_review(stage)
    agent = stage.turn(NAME)
    assert why(stage, "packaging") == [
        "From review to packaging: complete to packaging.",
        f"Waiting for {agent.agent} ({agent.turn_id}).",
    ]


def test_every_state_can_explain_what_any_other_state_needs(stage: Stage) -> None:
    exhausted(stage)
    stage.discusses("review-1").answers("review-1", "I agree.")
    for name in (NAME, "review-1"):
        session = stage.session(name)
        for wished in CHARTS[session.kind].states:
            assert why_not(session, wished).text, (name, wished)


def test_the_chain_begins_with_a_command_or_an_event_of_another_session(stage: Stage) -> None:
    in_review(stage, review=REVIEW).answers(NAME, APPROVING)
    child = stage.session(NAME).children[0]
    own = explain(stage.store.history(NAME), stage.session(NAME)).wire()
    assert own["chain"][0]["causationId"] == own["chain"][0]["commandId"]
    result = explain(stage.store.history(child), stage.session(child)).wire()
    causation, _, version = result["chain"][0]["causationId"].rpartition(":")
    assert causation == NAME
    [event] = stage.store.history(NAME, after=int(version) - 1, upto=int(version))
    assert event.event.TOPIC == "session.child_requested"


def test_a_cause_that_does_not_come_before_its_effect_ends_the_chain(stage: Stage) -> None:
    """As in a file written by hand."""
    in_review(stage)
    history = list(stage.store.history(NAME))
    first = history[0]
    itself = [
        recorded._replace(causation=first.causation._replace(causation_id=first.event_id)) for recorded in history
    ]
    first_link, last_link = explain(itself, stage.session(NAME)).wire()["chain"]
    assert first_link["version"] == 1 < last_link["version"]


def test_every_step_of_every_chart_has_a_name() -> None:
    named = catalogue("projections.record")
    assert [step for kind in KINDS.values() for step in kind.chart.events if f"session_way.{step}" not in named] == []
