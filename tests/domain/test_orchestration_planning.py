"""From the request to a plan: triage, direct answer, subtasks, plans that do not hold (S1, S3; behaviour §1.3–§1.7)."""

import json
from typing import Any

import pytest

from domain.orchestration.decide import allowed_actions
from domain.orchestration.events import PlanMade, PlanRefused
from domain.session.attempts import Failure
from domain.session.turns import AgentSessionsCleared, RetryTurn
from tests.kit.replies import plan, subtask
from tests.kit.stories import OrchestrationStory, topics

TEAM_LISTED = "- Frontend (frontend)\n- Backend (backend)\n- Data (data)\n- Docs (docs)"
DIRECT = ["orchestration.session_started", "session.agent_sessions_cleared", "turn.requested"]
ANSWERED = [
    *["turn.answered", "orchestration.completed"],
    *["session.agent_sessions_cleared", "orchestration.orchestrate_done"],
]
REFUSED = ["turn.answered", "orchestration.plan_refused"]
STOPPED = ["orchestration.partial_reached", "orchestration.orchestrate_done"]


def refusals(story: OrchestrationStory) -> list[tuple[str, ...]]:
    return [event.reasons for event in story.events if isinstance(event, PlanRefused)]


def made(story: OrchestrationStory) -> list[PlanMade]:
    return [event for event in story.events if isinstance(event, PlanMade)]


def is_direct(story: OrchestrationStory) -> bool:
    return (story.run.mode, story.run.state, story.asked) == ("direct", "direct", ["assistant"])


def is_planned(story: OrchestrationStory) -> bool:
    return (story.run.mode, story.run.state, story.asked) == ("orchestrated", "planning", ["planner"])


# -- triage (S3, K-21…K-23) ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "signals"),
    [
        ("안녕", ()),
        ("API가 뭐야?", ("keyword",)),
        ("서버 상태 어때?", ("keyword",)),
    ],
)
def test_a_request_with_fewer_than_two_signals_is_answered_directly(prompt: str, signals: tuple[str, ...]) -> None:
    story = OrchestrationStory(prompt)
    assert is_direct(story)
    assert (story.run.triage.orchestrate, story.run.triage.signals) == (False, signals)
    assert story.run.triage.policy == "seed-ko@1"


@pytest.mark.parametrize(
    ("prompt", "signals"),
    [
        ("src/agent.js 수정해줘", ("keyword", "keywords", "path")),
        ("API 엔드포인트 만들어줘", ("keyword", "keywords")),
        ("함수와 클래스 차이가 뭐야?", ("keyword", "keywords")),
    ],
)
def test_a_request_with_two_signals_is_planned(prompt: str, signals: tuple[str, ...]) -> None:
    """The last one is K-23's known misjudgement: the default policy stays as shipped."""
    story = OrchestrationStory(prompt)
    assert is_planned(story)
    assert (story.run.triage.orchestrate, story.run.triage.signals) == (True, signals)


def test_a_forced_direct_answer_still_records_what_the_rule_says() -> None:
    story = OrchestrationStory("src/agent.js 수정해줘", triage="direct")
    assert is_direct(story)
    assert (story.run.triage.orchestrate, story.run.forced) == (True, "direct")


def test_a_forced_plan_still_records_what_the_rule_says() -> None:
    """K-22: the switch for what the rule does not see."""
    story = OrchestrationStory("안녕", triage="orchestrate")
    assert is_planned(story)
    assert (story.run.triage.orchestrate, story.run.triage.signals) == (False, ())


@pytest.mark.parametrize("triage", ["auto", "orchestrate"])
def test_without_employees_one_agent_answers(triage: str) -> None:
    """§1.5.3."""
    assert is_direct(OrchestrationStory("src/agent.js 수정해줘", employees=(), triage=triage))


# -- the direct answer ---------------------------------------------------------------------------------------------


def test_a_direct_answer_ends_the_run() -> None:
    story = OrchestrationStory("안녕")
    assert topics(story.events) == DIRECT
    assert story.requested("assistant").prompt == "direct@1"
    assert (story.prompt_part("task"), story.prompt_part("employees")) == ("안녕", TEAM_LISTED)
    assert topics(story.answer("안녕하세요!")) == ANSWERED
    assert (story.run.status, story.run.agents, story.run.round) == ("done", (), 0)
    assert story.run.summary is not None and story.run.summary.head == "안녕하세요!"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>Hm.</think>안녕하세요!", "안녕하세요!"),
        ('{"direct_answer": "안녕하세요!", "subtasks": []}', "안녕하세요!"),
        ('Send this:\n```json\n{"direct_answer": "x", "subtasks": []}\n```', None),
        ("<think>only thought</think>", None),
        ("", None),
    ],
)
def test_a_direct_answer_is_what_the_assistant_says_to_people(reply: str, answer: str | None) -> None:
    story = OrchestrationStory("안녕")
    story.answer(reply)
    assert story.run.summary is not None and story.run.summary.head == (reply if answer is None else answer)


def test_a_long_direct_answer_is_kept_whole() -> None:
    story = OrchestrationStory("안녕")
    story.answer("가" * 20_000)
    assert story.run.summary is not None and story.whole(story.run.summary) == "가" * 20_000


def test_an_assistant_that_fails_leaves_a_run_that_can_be_continued() -> None:
    story = OrchestrationStory("안녕")
    events = story.answer(failure=Failure(code="crash", detail="exit 1"))
    assert topics(events) == ["turn.failed", *STOPPED]
    assert (story.run.status, story.run.partial_reason) == ("partial", "agent_failed")
    assert story.run.last_error == "assistant: crash: exit 1"
    story.resumes()
    assert is_direct(story)
    story.answer("hello")
    assert story.run.status == "done"


# -- late subtasks (§1.6) ------------------------------------------------------------------------------------------


def test_late_subtasks_enter_the_same_rounds_as_a_plan() -> None:
    """S0 2-D, S1 §3.3: one loop, two ways in."""
    story = OrchestrationStory("안녕")
    late = story.answer("I hand this on.\n" + plan(subtask("Backend", checkpoint=True)))
    assert topics(late) == ["turn.answered", "orchestration.plan_made", "orchestration.round_start", "turn.requested"]
    assert (made(story)[0].source, made(story)[0].plan.head) == ("agent", "Agent-initiated dispatch")
    assert (story.run.mode, story.run.plan_version, story.asked) == ("orchestrated", 1, ["Backend"])
    story.round(Backend=True)
    assert (story.run.status, story.agent("Backend")["checkpointed"]) == ("checkpoint", True)
    assert story.run.agent_sessions == {}


def test_late_subtasks_for_an_unknown_agent_are_requested_again_once() -> None:
    story = OrchestrationStory("안녕")
    events = story.answer(plan(subtask("Ghost")))
    assert topics(events) == [*REFUSED, "turn.requested"]
    assert (story.asked, story.request.prompt, story.request.reads) == (["assistant"], "plan_repair@1", "text")
    story.answer(plan(subtask("Backend")))
    assert (story.asked, refusals(story)) == (["Backend"], [no_employee("Ghost")])


def test_late_subtasks_that_stay_invalid_end_partial_and_continue_asks_again() -> None:
    story = OrchestrationStory("안녕")
    story.answer(plan(subtask("Ghost")))
    assert topics(story.answer(plan(subtask("Ghost")))) == [*REFUSED, *STOPPED]
    assert (story.run.status, story.run.partial_reason) == ("partial", "plan_invalid")
    story.resumes()
    assert is_direct(story)
    assert story.request.prompt == "direct@1"


def test_without_employees_subtasks_are_an_ordinary_answer() -> None:
    story = OrchestrationStory("안녕", employees=())
    words = plan(subtask("Backend"))
    story.answer(words)
    assert story.run.status == "done"
    assert story.run.summary is not None and story.run.summary.head == words


# -- the plan ------------------------------------------------------------------------------------------------------


def test_a_plan_starts_the_first_round() -> None:
    story = OrchestrationStory()
    assert (story.prompt_part("task"), story.prompt_part("employees"), story.prompt_part("max_rounds")) == (
        "src/ API 만들어줘",
        TEAM_LISTED,
        "3",
    )
    assert story.prompt_part("worklog") == "/api/sessions/orchestration-1/worklog"
    words = "Tier 2.\n" + plan(subtask("Backend", 3, 5), subtask("Docs"))
    events = story.answer(words, agent_session="planner-1")
    assert topics(events) == ["turn.answered", "orchestration.plan_made", "orchestration.round_start", "turn.requested"]
    [result] = made(story)
    assert (result.plan_version, result.plan.head, result.source, result.last_round) == (1, words, "planner", 3)
    assert [(agent.agent, agent.phase_profile) for agent in result.agents] == [("Backend", (3, 4, 5)), ("Docs", (3,))]
    assert (story.run.state, story.run.round, story.run.last_round) == ("working", 1, 3)


def test_the_planner_may_answer_itself() -> None:
    """K-16: that closes the run."""
    story = OrchestrationStory()
    events = story.answer('Tier 0.\n{"direct_answer": "It is a cache.", "subtasks": []}')
    assert topics(events) == ANSWERED
    assert (story.run.status, story.run.agents) == ("done", ())
    assert story.run.summary is not None and story.run.summary.head == "It is a cache."


def test_subtasks_with_a_direct_answer_are_a_plan() -> None:
    """§1.5.5: only an answer without subtasks ends the run."""
    story = OrchestrationStory()
    story.answer(json.dumps({"direct_answer": "Later.", "subtasks": [subtask("Backend")]}))
    assert story.asked == ["Backend"]


@pytest.mark.parametrize(
    ("role", "recorded", "profile"),
    [
        ("Backend", "backend", (1, 2, 3, 4, 5)),
        ("docs", "docs", (1, 3, 5)),
        ("qa", "qa", (3,)),
        (None, "custom", (3,)),
        ("planner", "planner", (3,)),
    ],
)
def test_the_role_of_a_subtask_is_the_planners_word(role: str | None, recorded: str, profile: tuple[int, ...]) -> None:
    """§1.7: lower-cased, custom where it is missing, whatever the employee is."""
    story = OrchestrationStory().planned({"agent": "Backend", "role": role, "task": "t"})
    assert (story.run.agents[0].role, story.run.agents[0].phase_profile) == (recorded, profile)


@pytest.mark.parametrize("role", ["planner", "judge", "assistant"])
def test_an_employee_with_the_role_of_a_crew_member_is_an_employee(role: str) -> None:
    """A role is an agent's word; what a reply is taken for must not hang on it."""
    story = OrchestrationStory().planned(subtask("Backend", role=role), subtask("Docs"))
    story.works("Backend", json.dumps({"verdicts": [{"agent": "Docs", "pass": True}], "allDone": True}))
    assert (story.run.state, story.asked) == ("working", ["Docs"])
    story.works("Docs", plan(subtask("Frontend")))
    assert (story.run.state, story.run.plan_version) == ("judging", 1)


def test_a_range_without_a_phase_is_recorded_as_a_warning() -> None:
    """EP-004, edge case 4."""
    story = OrchestrationStory().planned(subtask("Docs", 2, 2), subtask("Backend", 5, 3))
    assert story.run.warnings == ("Docs: docs has no phase in [2, 2], so it gets phase 3",)
    assert made(story)[0].warnings == story.run.warnings
    assert [agent.phase_profile for agent in story.run.agents] == [(3,), (5,)]


@pytest.mark.parametrize(
    ("case", "fields", "profile"),
    [
        ("EP-001, edge case 1: end_phase left out", {"start_phase": 3}, (3, 4, 5)),
        ("EP-002, edge case 2: start=3 end=3", {"start_phase": 3, "end_phase": 3}, (3,)),
        ("EP-003, edge case 3: start > end", {"start_phase": 5, "end_phase": 3}, (5,)),
        ("EP-004, edge case 4: docs 2..2", {"role": "docs", "start_phase": 2, "end_phase": 2}, (3,)),
        ("EP-005, edge case 5: docs 2..4", {"role": "docs", "start_phase": 2, "end_phase": 4}, (3,)),
        ("EP-006: end_phase=99", {"start_phase": 3, "end_phase": 99}, (3, 4, 5)),
        ("null is left out", {"start_phase": 3, "end_phase": None}, (3, 4, 5)),
        ("blank is left out", {"start_phase": "3", "end_phase": ""}, (3, 4, 5)),
        ("a boolean is left out", {"start_phase": True, "end_phase": 2}, (1, 2)),
    ],
    ids=lambda found: found if isinstance(found, str) else "",
)
def test_a_plan_brings_each_agent_its_phases(case: str, fields: dict[str, Any], profile: tuple[int, ...]) -> None:
    story = OrchestrationStory().planned({"agent": "Backend", "role": "backend", "task": "t"} | fields)
    assert story.run.agents[0].phase_profile == profile


@pytest.mark.parametrize(
    ("case", "fields", "checkpoint"),
    [("EP-007", {"checkpoint": True}, True), ("EP-008", {}, False), ("a word", {"checkpoint": "true"}, False)],
)
def test_only_the_boolean_true_asks_for_a_checkpoint(case: str, fields: dict[str, Any], checkpoint: bool) -> None:
    story = OrchestrationStory().planned(subtask("Backend", **fields))
    assert (story.run.agents[0].checkpoint, story.run.agents[0].checkpointed) == (checkpoint, False)


# -- employees are matched exactly (K-18) --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Backend", "backend", "BACKEND"])
def test_an_employee_is_found_by_its_name_in_any_case(name: str) -> None:
    story = OrchestrationStory().planned(subtask(name, role="backend"))
    assert (story.run.agents[0].agent, story.asked) == ("Backend", ["Backend"])


def no_employee(name: str) -> tuple[str, ...]:
    return (f"There is no employee {name!r}; there are: Frontend, Backend, Data, Docs.",)


@pytest.mark.parametrize("name", ["Back", "Backend2", "o", "Backend ", "*"])
def test_a_part_of_a_name_matches_no_agent(name: str) -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask(name, role="backend")))
    assert (refusals(story), story.run.agents, story.asked) == ([no_employee(name)], (), ["planner"])


def test_the_same_agent_may_have_two_subtasks() -> None:
    """K-19 speaks of it: one after the other, never at once."""
    both = {"affected_files": ["a.py"]}
    other = {"affected_files": ["b.py"]}
    story = OrchestrationStory().planned(
        subtask("Backend", parallel=True, verification=both), subtask("backend", parallel=True, verification=other)
    )
    assert (story.run.parallel, story.asked) == ((True, False), ["Backend"])


# -- plans that do not hold (K-16, K-18, contract §5) --------------------------------------------------------------

UNREADABLE = {
    "prose": ("I will think about it.", "The reply holds no list of subtasks."),
    "nothing": ("", "The reply holds no list of subtasks."),
    "no-subtasks": (
        '{"subtasks": []}',
        "The list of subtasks does not fit at /subtasks: should have at least 1 entry.",
    ),
    "broken": ('{"subtasks": [{"agent": "Backend"', "The list of subtasks in the reply cannot be read"),
    "nameless": (
        '{"subtasks": [{"task": "t"}]}',
        "The list of subtasks does not fit at /subtasks/0/agent: is missing.",
    ),
    "no-task": (
        '{"subtasks": [{"agent": "Backend"}]}',
        "The list of subtasks does not fit at /subtasks/0/task: is missing.",
    ),
}


@pytest.mark.parametrize(("reply", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unreadable_plan_is_requested_again_once(reply: str, reason: str) -> None:
    story = OrchestrationStory()
    assert topics(story.answer(reply)) == [*REFUSED, "turn.requested"]
    [[result]] = refusals(story)
    assert result.startswith(reason)
    assert (story.asked, story.request.prompt, story.run.state) == (["planner"], "plan_repair@1", "planning")
    assert (story.prompt_part("answer"), story.prompt_part("reasons")) == (reply, f"- {result}")
    assert (story.prompt_part("task"), story.prompt_part("employees")) == ("src/ API 만들어줘", TEAM_LISTED)


def test_every_reason_is_recorded() -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask("Ghost"), subtask("Backend"), subtask("Phantom")))
    assert refusals(story) == [(*no_employee("Ghost"), *no_employee("Phantom"))]


def test_a_repaired_plan_is_used() -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask("Ghost")))
    story.answer(plan(subtask("Backend")))
    assert (story.asked, story.run.plan_version, story.run.refused_plans) == (["Backend"], 1, 0)


def test_a_planner_may_answer_itself_instead_of_repairing_its_plan() -> None:
    story = OrchestrationStory()
    story.answer("Hm.")
    story.answer('{"direct_answer": "Nothing to do.", "subtasks": []}')
    assert story.run.status == "done"


def test_a_plan_that_stays_invalid_ends_the_run_partial() -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask("Ghost")))
    events = story.answer(plan(subtask("Phantom")))
    assert topics(events) == [*REFUSED, *STOPPED]
    assert [event.attempt for event in story.events if isinstance(event, PlanRefused)] == [1, 2]
    assert (story.run.status, story.run.partial_reason, story.run.agents) == ("partial", "plan_invalid", ())
    assert story.run.summary is not None and story.run.summary.head == no_employee("Phantom")[0]
    assert allowed_actions(story.run) == ("continue", "retry", "reset", "cancel")


def test_retry_after_two_invalid_plans_asks_for_a_new_one() -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask("Ghost")))
    story.answer(plan(subtask("Phantom")))
    assert topics(story.when(RetryTurn(reason="again"))) == ["orchestration.retried", "turn.requested"]
    assert (story.run.state, story.request.prompt) == ("planning", "plan@1")
    story.answer(plan(subtask("Backend")))
    assert (story.asked, story.run.refused_plans) == (["Backend"], 0)


def test_a_prose_answer_of_the_planner_is_the_summary() -> None:
    """S1 §1.5.5: they may be a question to the person."""
    story = OrchestrationStory()
    story.answer("Hm.")
    story.answer("<think>Which?</think>어느 데이터베이스를 쓸까요?\n\n1. SQLite\n2. PostgreSQL")
    assert story.run.summary is not None
    assert story.run.summary.head == (
        "어느 데이터베이스를 쓸까요?\n\n1. SQLite\n2. PostgreSQL\n\nThe reply holds no list of subtasks."
    )


def test_continue_after_an_invalid_plan_plans_again() -> None:
    story = OrchestrationStory()
    story.answer("Hm.")
    story.answer("Hm.")
    assert topics(story.resumes()) == ["orchestration.continued", "turn.requested"]
    assert (story.run.state, story.request.prompt) == ("planning", "plan@1")
    assert topics(story.answer("Hm.")) == [*REFUSED, "turn.requested"], "two tries, as at the first time"
    story.answer(plan(subtask("Backend")))
    assert (story.run.plan_version, story.run.round, story.run.partial_reason) == (1, 1, None)


def test_a_failing_planner_is_asked_again_once() -> None:
    story = OrchestrationStory()
    events = story.answer(failure=Failure(code="timeout", detail="No answer within 1800 s."))
    assert topics(events) == ["turn.failed", "orchestration.plan_refused", "turn.requested"]
    assert refusals(story) == [("planner: timeout: No answer within 1800 s.",)]
    story.answer(failure=Failure(code="timeout"))
    assert (story.run.status, story.run.partial_reason) == ("partial", "plan_invalid")


# -- who begins, begins clean --------------------------------------------------------------------------------------


def test_a_new_request_starts_without_old_conversations() -> None:
    """S1 §2: always."""
    [cleared] = [event for event in OrchestrationStory().events if isinstance(event, AgentSessionsCleared)]
    assert (cleared.reason, cleared.agent_sessions) == ("a new request begins clean", {})


def test_the_crew_fills_the_roles() -> None:
    story = OrchestrationStory(crew={"planner": "Sol", "judge": "Luna", "assistant": "Ada"})
    assert story.asked == ["Sol"]
    story.planned(subtask("Backend"))
    story.works("Backend")
    assert (story.asked, story.request.role) == (["Luna"], "judge")


@pytest.mark.parametrize(
    ("rounds", "sentence"),
    [(1, "A plan for 1 agent, in at most 1 round."), (3, "A plan for 1 agent, in at most 3 rounds.")],
)
def test_a_plan_says_for_how_many_agents_it_is(rounds: int, sentence: str) -> None:
    story = OrchestrationStory(max_rounds=rounds).planned(subtask("Backend"))
    [result] = made(story)
    assert result.message == sentence
