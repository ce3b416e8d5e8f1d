"""Phase ranges, the way through them, and what an agent's claim and a checkpoint change (S1 §5, §6; K-2, K-7, K-12)."""

from typing import Any

import pytest
from pydantic import ValidationError

from domain.orchestration.judgement import advance, widen
from domain.values.phases import (
    PHASES,
    AgentPhases,
    Subtask,
    after_checkpoint,
    full_profile,
    phase_name,
    plan_agents,
)

Json = dict[str, Any]


def planned(**fields: Any) -> AgentPhases:
    return plan_agents([Subtask.model_validate({"agent": "X", **fields})]).agents[0]


def profile(**fields: Any) -> tuple[int, ...]:
    return planned(**fields).phase_profile


@pytest.mark.parametrize(
    ("subtask", "expected"),
    [
        pytest.param({"role": "backend", "start_phase": 3}, (3, 4, 5), id="EP-001-edge-1"),
        pytest.param({"role": "backend", "start_phase": 3, "end_phase": 3}, (3,), id="EP-002-edge-2"),
        pytest.param({"role": "backend", "start_phase": 5, "end_phase": 3}, (5,), id="EP-003-edge-3"),
        pytest.param({"role": "docs", "start_phase": 2, "end_phase": 2}, (3,), id="EP-004-edge-4"),
        pytest.param({"role": "docs", "start_phase": 2, "end_phase": 4}, (3,), id="EP-005-edge-5"),
        pytest.param({"role": "backend", "start_phase": 3, "end_phase": 99}, (3, 4, 5), id="EP-006"),
        pytest.param({"role": "docs", "end_phase": 2}, (1,), id="K-11-docs-end-2-without-start"),
        pytest.param({"role": "docs", "start_phase": 4, "end_phase": 4}, (5,), id="docs-4-to-4"),
        pytest.param({"role": "backend", "start_phase": 0}, (1, 2, 3, 4, 5), id="start-below-first"),
        pytest.param({"role": "backend", "start_phase": -7, "end_phase": -7}, (1,), id="both-below-first"),
        pytest.param({"role": "backend", "start_phase": 99}, (5,), id="start-beyond-last"),
        pytest.param({"role": "custom", "start_phase": 1, "end_phase": 5}, (3,), id="custom-has-one-phase"),
        pytest.param({"role": "custom", "start_phase": 5}, (3,), id="custom-start-clamped"),
    ],
)
def test_a_range_is_clamped_into_the_profile_of_its_role(subtask: Json, expected: tuple[int, ...]) -> None:
    assert profile(**subtask) == expected


def test_a_plan_begins_at_its_first_phase_whatever_state_it_claims() -> None:
    """What a plan owes S1 §5 rows 6-9 (a new request or a continue, after each end): it brings no progress along."""
    agent = planned(role="backend", currentPhaseIdx=4, currentPhase=5, completed=True, checkpointed=True, history=[1])
    assert (agent.current_phase_idx, agent.current_phase, agent.completed, agent.checkpointed) == (0, 1, False, False)
    assert agent.history == ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("3", (3, 4, 5)),
        (" 3 ", (3, 4, 5)),
        ("+3", (3, 4, 5)),
        ("3.0", (3, 4, 5)),
        ("3.", (3, 4, 5)),
        ("3e0", (3, 4, 5)),
        (3.0, (3, 4, 5)),
        (3.7, (4, 5)),
        ("3.7", (4, 5)),
        (None, (1, 2, 3, 4, 5)),
        ("", (1, 2, 3, 4, 5)),
        ("  ", (1, 2, 3, 4, 5)),
        (True, (1, 2, 3, 4, 5)),
        (False, (1, 2, 3, 4, 5)),
        ("three", (1, 2, 3, 4, 5)),
        ("phase 3", (1, 2, 3, 4, 5)),
        ("1_0", (1, 2, 3, 4, 5)),
        ("３", (1, 2, 3, 4, 5)),
        ("nan", (1, 2, 3, 4, 5)),
        ("Infinity", (1, 2, 3, 4, 5)),
        ("1e400", (1, 2, 3, 4, 5)),
        (float("nan"), (1, 2, 3, 4, 5)),
        (float("inf"), (1, 2, 3, 4, 5)),
        (10**400, (1, 2, 3, 4, 5)),
        ([3], (1, 2, 3, 4, 5)),
        ({"phase": 3}, (1, 2, 3, 4, 5)),
    ],
)
def test_numeric_strings_are_numbers_and_other_values_are_omitted(given: object, expected: tuple[int, ...]) -> None:
    assert profile(role="backend", start_phase=given) == expected


@pytest.mark.parametrize("omitted", [None, "", True, False, "all", []])
def test_a_non_numeric_end_is_the_end_of_the_profile(omitted: object) -> None:
    """The shipped program read null and "" as 0 and was left with a single phase (§1.7)."""
    assert profile(role="backend", start_phase=3, end_phase=omitted) == (3, 4, 5)


def test_a_fractional_range_without_a_phase_takes_the_next_one() -> None:
    plan = plan_agents([Subtask(agent="X", role="backend", start_phase=3.2, end_phase=3.4)])
    assert plan.agents[0].phase_profile == (4,)
    assert plan.warnings == ("X: backend has no phase in [3.2, 3.4], so it gets phase 4",)


def test_a_sparse_range_is_recorded_as_a_warning() -> None:
    """EP-004."""
    plan = plan_agents([Subtask(agent="Docs", role="docs", start_phase=2, end_phase=2), Subtask(agent="Backend")])
    assert plan.warnings == ("Docs: docs has no phase in [2, 2], so it gets phase 3",)
    assert [agent.agent for agent in plan.agents] == ["Docs", "Backend"]


def test_a_start_after_the_end_gives_no_warning() -> None:
    """EP-003: the end moves up to the start."""
    assert plan_agents([Subtask(agent="X", role="backend", start_phase=5, end_phase=3)]).warnings == ()


@pytest.mark.parametrize(
    ("role", "name", "phases"),
    [
        ("frontend", "frontend", (1, 2, 3, 4, 5)),
        ("backend", "backend", (1, 2, 3, 4, 5)),
        ("data", "data", (1, 2, 3, 4, 5)),
        ("docs", "docs", (1, 3, 5)),
        ("custom", "custom", (3,)),
        ("Backend", "backend", (1, 2, 3, 4, 5)),
        (" DOCS ", "docs", (1, 3, 5)),
        ("QA", "qa", (3,)),
        ("", "custom", (3,)),
        (None, "custom", (3,)),
        (7, "custom", (3,)),
    ],
)
def test_each_role_has_its_profile_and_unknown_ones_have_that_of_custom(
    role: object, name: str, phases: tuple[int, ...]
) -> None:
    agent = planned(role=role)
    assert (agent.role, agent.phase_profile) == (name, phases)


def test_a_missing_role_is_custom() -> None:
    assert planned().role == "custom"
    assert full_profile("nobody") == (3,)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"checkpoint": True}, True, id="EP-007"),
        pytest.param({}, False, id="EP-008"),
        ({"checkpoint": False}, False),
        ({"checkpoint": "true"}, False),
        ({"checkpoint": 1}, False),
        ({"checkpoint": None}, False),
    ],
)
def test_only_the_boolean_true_asks_for_a_checkpoint(given: Json, expected: bool) -> None:
    assert planned(**given).checkpoint is expected


@pytest.mark.parametrize(
    ("given", "expected"), [(True, True), (False, False), ("true", False), (1, False), ([], False)]
)
def test_only_the_boolean_true_asks_for_parallel_work(given: object, expected: bool) -> None:
    assert planned(parallel=given).parallel is expected


def test_an_agent_reads_on_the_wire_as_the_policy_promises() -> None:
    verification = {"pass_criteria": "green", "fail_criteria": "red", "affected_files": ["src/file.js"]}
    agent = planned(
        agent="Backend", role="Backend", task="Build", start_phase=3, checkpoint=True, verification=verification
    )
    assert agent.model_dump(mode="json", by_alias=True) == {
        "agent": "Backend",
        "task": "Build",
        "role": "backend",
        "parallel": False,
        "checkpoint": True,
        "checkpointed": False,
        "verification": verification,
        "phaseProfile": [3, 4, 5],
        "currentPhaseIdx": 0,
        "currentPhase": 3,
        "completed": False,
        "history": [],
    }


def test_history_says_pass_on_the_wire() -> None:
    entry = {"round": 1, "phase": 3, "pass": True, "feedback": "good"}
    agent = AgentPhases.model_validate({**planned().model_dump(by_alias=True), "history": [entry]})
    assert agent.history[0].passed is True
    assert agent.model_dump(mode="json", by_alias=True)["history"] == [entry]


def test_what_a_planner_adds_beyond_the_fields_is_ignored() -> None:
    assert planned(startPhase=5, role="backend", mood="bold").phase_profile == (1, 2, 3, 4, 5)
    assert planned(verification=None).verification is None


@pytest.mark.parametrize("subtask", [{}, {"agent": None}, {"agent": 3}, {"agent": "X", "verification": "green"}])
def test_a_subtask_without_a_name_or_with_other_shapes_is_invalid(subtask: Json) -> None:
    with pytest.raises(ValidationError):
        Subtask.model_validate(subtask)


@pytest.mark.parametrize(
    ("phases", "idx", "passed", "judged", "expected"),
    [
        ((3, 4, 5), 0, True, 1, (1, False)),
        ((3, 4, 5), 1, True, 1, (2, False)),
        ((3, 4, 5), 2, True, 1, (2, True)),
        ((3,), 0, True, 1, (0, True)),
        ((3, 4, 5), 0, False, 1, (0, False)),
        ((3, 4, 5), 0, True, 2, (2, False)),
        ((3, 4, 5), 0, True, 3, (2, True)),
        ((3, 4, 5), 0, False, 3, (0, False)),
        ((3, 4, 5), 0, True, 0, (1, False)),
    ],
)
def test_a_pass_moves_past_the_judged_phases_and_a_fail_stays(
    phases: tuple[int, ...], idx: int, passed: bool, judged: int, expected: tuple[int, bool]
) -> None:
    assert advance(phases, idx, passed, judged=judged) == expected


def test_a_backend_from_scratch_is_at_phase_four_after_three_passes() -> None:
    """K-13: three rounds are not enough for five phases, which is why the budget is shown in the plan."""
    idx, completed = 0, False
    for _ in range(3):
        idx, completed = advance(full_profile("backend"), idx, True)
    assert (full_profile("backend")[idx], completed) == (4, False)


@pytest.mark.parametrize(
    ("phases", "idx", "claimed", "judged"),
    [
        ((1, 2, 3, 4, 5), 2, [3, 4, 5], (3, 4, 5)),
        ((1, 2, 3, 4, 5), 2, [3, 4], (3, 4)),
        ((1, 2, 3, 4, 5), 2, [3, 5], (3, 4, 5)),
        ((1, 2, 3, 4, 5), 2, [5], (3,)),
        ((1, 2, 3, 4, 5), 2, [5, 5], (3,)),
        ((1, 2, 3, 4, 5), 2, [], (3,)),
        ((1, 2, 3, 4, 5), 2, [1, 2], (3,)),
        ((1, 2, 3, 4, 5), 2, [3, 99], (3,)),
        ((1, 2, 3, 4, 5), 0, [True, 2], (1,)),
        ((3,), 0, [3, 4, 5], (3,)),
        ((1, 3, 5), 0, [1, 2], (1,)),
        ((1, 3, 5), 0, [1, 2, 3], (1, 3)),
        ((3, 4, 5), 2, [3, 4, 5], (5,)),
    ],
)
def test_a_claim_widens_what_is_judged(
    phases: tuple[int, ...], idx: int, claimed: list[int], judged: tuple[int, ...]
) -> None:
    """K-12."""
    assert widen(phases, idx, claimed) == judged


def test_a_claim_with_a_failing_verdict_moves_nothing() -> None:
    """K-12: the shipped program completed an agent here although the verdict was FAIL."""
    judged = widen((3, 4, 5), 0, [3, 4, 5])
    assert advance((3, 4, 5), 0, False, judged=len(judged)) == (0, False)


@pytest.mark.parametrize(
    ("role", "finished", "expected"),
    [
        ("backend", (3,), (4, 5)),
        ("backend", (1, 2, 3), (4, 5)),
        ("backend", (4,), (5,)),
        ("backend", (3, 4, 5), ()),
        ("docs", (1,), (3, 5)),
        ("docs", (3,), (5,)),
        ("docs", (5,), ()),
        ("custom", (3,), ()),
        ("qa", (3,), ()),
        ("Frontend", (3,), (4, 5)),
    ],
)
def test_after_a_checkpoint_the_rest_of_the_full_profile_follows(
    role: str, finished: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """K-7."""
    assert after_checkpoint(role, finished) == expected


def test_phases_have_names_in_both_languages() -> None:
    assert [phase_name(phase) for phase in PHASES] == ["기획", "기획검증", "개발", "디버깅", "통합검증"]
    assert [phase_name(phase, "en") for phase in PHASES] == [
        "planning",
        "plan review",
        "development",
        "debugging",
        "integration",
    ]
    with pytest.raises(KeyError):
        phase_name(6)
