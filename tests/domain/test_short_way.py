"""A delivery that goes without some phases (contract-3 §17)."""

from itertools import combinations

import pytest

from domain.delivery.chart import NEEDED, PHASES, QUICK, Phase, checked_phases
from domain.delivery.commands import CancelDelivery
from domain.delivery.events import AttemptStarted, DeliveryStarted, PhaseSkipped, PhaseStarted, SessionFinished
from domain.session.turns import RecordPackage, RetryTurn, TurnRequested
from tests.kit.stories import DeliveryStory

OPTIONAL = [phase for phase in PHASES if phase not in NEEDED]
WAYS: list[tuple[Phase, ...]] = [
    tuple(phase for phase in PHASES if phase in NEEDED or phase in chosen)
    for number in range(len(OPTIONAL) + 1)
    for chosen in combinations(OPTIONAL, number)
]


def seen_through(way: tuple[Phase, ...], **fields: object) -> DeliveryStory:
    story = DeliveryStory(phases=way, repository=True, **fields)
    while not story.delivery.ended:
        match story.delivery.phase:
            case "validation":
                story.passes()
            case "review":
                story.approves()
            case "packaging":
                story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1))
            case _:
                story.answer()
    return story


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_every_selection_goes_through_its_phases_alone_and_succeeds(way: tuple[Phase, ...]) -> None:
    story = seen_through(way)
    assert [event.phase for event in story.events if isinstance(event, PhaseStarted)] == list(way)
    assert [event.phase for event in story.events if isinstance(event, PhaseSkipped)] == [
        phase for phase in PHASES if phase not in way
    ]
    assert story.phases() == {phase: "completed" if phase in way else "skipped" for phase in PHASES}
    assert [event.iteration for event in story.events if isinstance(event, AttemptStarted)] == [1]
    assert (story.delivery.status, story.delivery.iteration) == ("success", 1)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_prompt_has_a_place_only_for_what_a_phase_makes(way: tuple[Phase, ...]) -> None:
    makes = {"plan": "planning", "goals": "planning", "architecture": "architecture", "design": "design"}
    for request in (event for event in seen_through(way).events if isinstance(event, TurnRequested)):
        places = set(request.context) & set(makes)
        assert places <= {place for place, phase in makes.items() if phase in way}
        assert request.prompt == "" or request.context["task"].head


def test_what_is_left_out_stays_out_over_a_failure_and_an_extension() -> None:
    story = DeliveryStory(phases=QUICK, iterations=1)
    story.answer()
    story.breaks()
    assert story.delivery.state == "exhausted" and story.phases()["review"] == "skipped"
    story.extend(add_iterations=1)
    assert {phase for phase, mark in story.phases().items() if mark == "skipped"} == set(PHASES) - set(QUICK)
    story.answer()
    story.passes()
    story.approves()
    assert story.delivery.status == "success"


def test_a_turn_that_failed_is_retried_on_the_same_way() -> None:
    story = DeliveryStory(phases=QUICK)
    story.fail("refused")
    story.when(RetryTurn())
    assert {phase for phase, mark in story.phases().items() if mark == "skipped"} == set(PHASES) - set(QUICK)
    story.answer()
    assert story.delivery.phase == "validation"


def test_the_budget_of_the_short_way_counts_iterations_as_ever() -> None:
    story = DeliveryStory(phases=QUICK, iterations=2)
    for _ in range(2):
        story.answer("code")
        story.breaks()
    [finished] = [event for event in story.events if isinstance(event, SessionFinished)]
    assert (finished.status, finished.iteration, story.delivery.exhausted_by) == ("failed", 3, "iterations")


def test_cancelling_skips_each_phase_once() -> None:
    story = DeliveryStory(phases=QUICK)
    story.when(CancelDelivery())
    skipped = [event.phase for event in story.events if isinstance(event, PhaseSkipped)]
    assert sorted(map(str, skipped)) == sorted(PHASES)


def test_without_a_review_the_summary_says_so() -> None:
    reviewed, bare = seen_through(PHASES), seen_through(NEEDED)
    assert "Not reviewed." in str(bare.delivery.final_summary)
    assert "Not reviewed" not in str(reviewed.delivery.final_summary)


def test_the_start_is_read_back_with_its_phases() -> None:
    story = DeliveryStory(phases=QUICK)
    [started] = [event for event in story.events if isinstance(event, DeliveryStarted)]
    assert started.phases == QUICK
    old = started.model_dump(by_alias=True)
    del old["phases"]
    assert DeliveryStarted.model_validate(old).phases == PHASES


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["planing", "implementation", "validation"], "phase_unknown"),
        (["Implementation", "validation"], "phase_unknown"),
        (["", "implementation", "validation"], "phase_unknown"),
        (["validation", "implementation"], "phases_out_of_order"),
        (["implementation", "validation", "planning"], "phases_out_of_order"),
        (["implementation", "implementation", "validation"], "phases_out_of_order"),
        (["implementation", "review"], "phase_missing"),
        (["planning", "validation"], "phase_missing"),
        ([], "phase_missing"),
    ],
)
def test_phases_that_do_not_hold_are_refused_with_what_is_allowed(names: list[str], code: str) -> None:
    with pytest.raises(ValueError) as refused:
        checked_phases(names)
    sentence = refused.value.args[0]
    assert sentence.code == code
    assert all(phase in str(sentence) for phase in PHASES)
