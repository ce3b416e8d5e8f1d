"""Rounds: who works when, what each agent gets, what a verdict moves and what not (S0, S1; behaviour §1.8, §1.9)."""

import json
import unicodedata
from typing import Any

import pytest

from domain.orchestration.events import (
    Employee,
    RoundDone,
    RoundStart,
    VerdictGiven,
    VerdictRefused,
    VerdictUnreadable,
    WorkReported,
)
from domain.session.attempts import Failure
from domain.values.base import Refused
from tests.kit.replies import plan, subtask, verdicts
from tests.kit.stories import OrchestrationStory, topics


def files(*paths: str) -> dict[str, Any]:
    return {"parallel": True, "verification": {"affected_files": list(paths)}}


def found(story: OrchestrationStory, kind: type[Any]) -> list[Any]:
    return [event for event in story.events if isinstance(event, kind)]


def stands(story: OrchestrationStory) -> dict[str, tuple[int, bool]]:
    """The current phase of each agent, and whether it has completed."""
    return {agent.agent: (agent.current_phase, agent.completed) for agent in story.run.agents}


# -- who works when ------------------------------------------------------------------------------------------------


def test_the_parallel_group_works_at_once_then_the_others_one_by_one() -> None:
    story = OrchestrationStory().planned(
        subtask("Data"), subtask("Backend", **files("a.py")), subtask("Docs"), subtask("Frontend", **files("b.ts"))
    )
    assert story.asked == ["Backend", "Frontend"]
    story.works("Frontend")
    assert story.asked == ["Backend"]
    story.works("Backend")
    assert story.asked == ["Data"]
    story.works("Data")
    assert story.asked == ["Docs"]
    story.works("Docs")
    assert (story.asked, story.run.state) == (["judge"], "judging")


def test_a_round_starts_with_the_phases_and_the_parallel_agents() -> None:
    """The seeds' broadcast round_start."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 5, **files("a.py")), subtask("Docs"))
    [started] = found(story, RoundStart)
    assert (started.round, started.parallel) == (1, (True, False))
    assert [agent.model_dump() for agent in started.agent_phases] == [
        {"agent": "Backend", "phase": 3, "completed": False},
        {"agent": "Docs", "phase": 3, "completed": False},
    ]


@pytest.mark.parametrize(
    ("case", "first", "second", "parallel"),
    [
        ("apart", ["a.py"], ["b.py"], (True, True)),
        ("the same file", ["a.py"], ["a.py"], (True, False)),
        ("spelled otherwise", ["src/a.py"], ["./src//x/../a.py"], (True, False)),
        ("a folder around it", ["src/a.py"], ["src"], (True, False)),
        ("no list", ["a.py"], None, (True, False)),
        ("an empty list", [], ["b.py"], (False, True)),
        ("out of the workspace", ["../a.py"], ["b.py"], (False, True)),
    ],
)
def test_overlapping_files_make_the_later_one_wait(
    case: str, first: list[str], second: list[str] | None, parallel: tuple[bool, bool]
) -> None:
    """K-19: a missing list is no promise."""
    story = OrchestrationStory().planned(
        subtask("Backend", parallel=True, verification={"affected_files": first}),
        subtask("Docs", parallel=True, verification={"affected_files": second}),
    )
    assert story.run.parallel == parallel


def test_a_worker_that_had_to_wait_claims_nothing() -> None:
    """Shipped, a third agent was downgraded for a file of one that had itself been downgraded (§1.8)."""
    story = OrchestrationStory().planned(
        subtask("Backend", **files("a.py")), subtask("Docs", **files("a.py", "b.md")), subtask("Data", **files("b.md"))
    )
    assert (story.run.parallel, story.asked) == ((True, False, True), ["Backend", "Data"])


def test_files_of_an_agent_that_has_finished_are_free() -> None:
    story = OrchestrationStory().planned(subtask("Backend", **files("a.py")), subtask("Docs", 3, 5, **files("a.py")))
    story.round(Backend=True, Docs=True)
    assert (story.run.parallel, story.asked) == ((False, True), ["Docs"])


def test_each_refused_parallel_request_is_one_warning() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5, **files("a.py")), subtask("Docs", **files("a.py")))
    story.round(Backend=True, Docs=False)
    assert story.run.round == 2
    assert story.run.warnings == ("Docs does not work in parallel: it shares a.py with Backend.",)


def test_parallel_agents_know_each_other_but_not_the_results() -> None:
    story = OrchestrationStory().planned(subtask("Backend", **files("a.py", "b.py")), subtask("Docs", **files("c.md")))
    asked = story.requested("Backend")
    assert (asked.lane, story.requested("Docs").lane, asked.access) == (1, 2, "write")
    assert story.whole(asked.context["mode"]) == "parallel"
    assert story.whole(asked.context["peers"]) == "- Docs: c.md"
    assert story.whole(story.requested("Docs").context["peers"]) == "- Backend: a.py, b.py"
    assert story.whole(asked.context["previous_results"]) == ""


def test_sequential_agents_see_the_first_150_characters_of_earlier_results() -> None:
    story = OrchestrationStory().planned(subtask("Data", **files("a.py")), subtask("Backend"), subtask("Docs"))
    story.works("Data", "가" * 200)
    assert story.prompt_part("previous_results") == f"- Data (done): {'가' * 150}"
    story.breaks("Backend", "crash", "exit 1")
    assert story.prompt_part("previous_results") == f"- Data (done): {'가' * 150}\n- Backend (error): crash: exit 1"
    assert story.prompt_part("mode") == "sequential"
    assert story.prompt_part("peers") == ""


def test_results_of_an_earlier_round_are_not_shown_again() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs", 3, 5))
    story.works("Backend", "first")
    story.works("Docs", "first")
    story.answer(verdicts(Backend=True, Docs=True))
    assert story.prompt_part("previous_results") == ""
    story.works("Backend", "second")
    assert story.prompt_part("previous_results") == "- Backend (done): second"


def test_a_prompt_names_the_phase_the_remaining_ones_and_the_criteria() -> None:
    checks = {"pass_criteria": "tests pass", "fail_criteria": "lint fails"}
    story = OrchestrationStory().planned(subtask("Backend", 3, 5, verification=checks))
    assert story.request.prompt == "work@1"
    assert (story.request.phase, story.request.round, story.request.role) == ("3", 1, "backend")
    assert {place: story.prompt_part(place) for place in story.request.context if place != "plan"} == {
        "task": "Backend's task",
        "phase_number": "3",
        "remaining_phases": "4,5",
        "mode": "sequential",
        "previous_results": "",
        "peers": "",
        "pass_criteria": "tests pass",
        "fail_criteria": "lint fails",
        "feedback": "",
    }


# -- agents' conversations -----------------------------------------------------------------------------------------


def test_an_agents_conversation_is_kept_and_resumed_in_the_next_round() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5), subtask("Docs"))
    assert story.request.agent_session is None
    story.works("Backend", agent_session="backend-1")
    story.works("Docs", agent_session="docs-1")
    story.answer(verdicts(Backend=True, Docs=True), agent_session="judge-1")
    assert (story.request.agent, story.request.agent_session) == ("Backend", "backend-1")
    story.works("Backend", agent_session="backend-2")
    assert (story.request.role, story.request.agent_session) == ("judge", "judge-1")
    assert story.run.agent_sessions == {
        "Backend (backend)": "backend-2",
        "Docs (docs)": "docs-1",
        "judge (judge)": "judge-1",
    }


def test_only_answered_turns_keep_their_conversation() -> None:
    """§1.8: a new session id is stored only when the exit code is 0."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 4))
    story.works("Backend", agent_session="broken", failure=Failure(code="crash"))
    assert story.run.agent_sessions == {}


# -- work that failed ----------------------------------------------------------------------------------------------


def test_an_agent_that_fails_is_judged_as_an_error() -> None:
    story = OrchestrationStory().planned(subtask("Backend"), subtask("Docs"))
    story.breaks("Backend", "timeout", "No answer within 1800 s.", words="I was at it")
    story.works("Docs", "Written.")
    reported = [(event.agent, event.result, event.phase) for event in found(story, WorkReported)]
    assert reported == [("Backend", "error", 3), ("Docs", "done", 3)]
    assert story.prompt_part("results") == (
        "❌ Backend\ntimeout: No answer within 1800 s.\nI was at it\n\n✅ Docs\nWritten."
    )
    story.answer(verdicts(Backend=False, Docs=True))
    assert stands(story) == {"Backend": (3, False), "Docs": (3, True)}
    assert (story.asked, story.prompt_part("feedback")) == (["Backend"], "Backend: False")


def test_a_claim_of_a_turn_that_failed_counts_for_nothing() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    story.breaks("Backend", words='{"phases_completed": [3, 4, 5]}')
    assert story.prompt_part("rubric") == "3"


def test_the_work_of_a_turn_that_failed_cannot_pass() -> None:
    """Contract §10: refused by rule, counted as FAIL; and nothing is all done."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 3), subtask("Docs", 3, 3))
    story.breaks("Backend", "crash", "exit code 1")
    story.works("Docs")
    story.answer(verdicts(Backend=True, Docs=True, all_done=True))
    assert stands(story) == {"Backend": (3, False), "Docs": (3, True)}
    [refused] = found(story, VerdictRefused)
    assert refused.message == "Backend did not answer in this round, so its work cannot pass."
    assert (story.judged("Backend"), story.run.round) == ([(1, 3, False)], 2)
    assert story.prompt_part("feedback") == "The turn failed: do the work again.\nBackend: True"
    story.round(Backend=True)
    assert (story.run.status, story.run.last_error) == ("done", None)


# -- what the judge gets -------------------------------------------------------------------------------------------


def test_the_judge_sees_results_standing_and_rubric() -> None:
    checks = {"pass_criteria": "tests pass", "fail_criteria": "lint fails"}
    story = OrchestrationStory().planned(subtask("Backend", 3, 5, verification=checks), subtask("Docs", 5, 5))
    story.works("Backend", "가" * 2_000)
    story.works("Docs", "Written.")
    asked = story.request
    assert (asked.prompt, asked.reads, asked.expects, asked.access) == (
        "verdict@1",
        "verdicts",
        ("Backend", "Docs"),
        "read",
    )
    assert (story.prompt_part("task"), story.prompt_part("round"), story.prompt_part("max_rounds")) == (
        "src/ API 만들어줘",
        "1",
        "3",
    )
    assert story.prompt_part("results") == f"✅ Backend\n{'가' * 1_200}\n\n✅ Docs\nWritten."
    assert story.prompt_part("agents") == (
        "- Backend (backend): judged for phase 3 (개발); pass: tests pass; fail: lint fails\n"
        "- Docs (docs): judged for phase 5 (통합검증)"
    )
    assert story.prompt_part("rubric") == "3,5"


def test_finished_agents_are_shown_but_not_expected() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs"))
    story.round(Backend=True, Docs=True)
    story.works("Backend", "again")
    assert story.request.expects == ("Backend",)
    assert story.prompt_part("agents").splitlines()[1] == "- Docs (docs): completed"
    assert story.prompt_part("results") == "✅ Backend\nagain"


# -- verdicts ------------------------------------------------------------------------------------------------------


def test_pass_leads_to_the_next_phase_and_fail_stays() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5), subtask("Docs", 3, 5))
    events = story.round(Backend=True, Docs=False)
    assert topics(events) == [
        *["turn.answered", "orchestration.verdict_given", "orchestration.verdict_given"],
        *["orchestration.round_done", "orchestration.round_start", "turn.requested"],
    ]
    assert stands(story) == {"Backend": (4, False), "Docs": (3, False)}
    assert (story.judged("Backend"), story.judged("Docs")) == ([(1, 3, True)], [(1, 3, False)])
    assert story.agent("Docs")["history"] == [{"round": 1, "phase": 3, "pass": False, "feedback": "Docs: False"}]
    assert (story.asked, story.prompt_part("feedback")) == (["Backend"], "")
    story.works("Backend")
    assert story.prompt_part("feedback") == "Docs: False"


def test_a_pass_in_the_last_phase_completes() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs", 3, 5))
    story.round(Backend=True, Docs=True)
    story.round(Backend=True, Docs=False)
    assert stands(story) == {"Backend": (4, True), "Docs": (5, False)}
    assert story.asked == ["Docs"]


def test_the_feedback_of_a_failure_is_cleared_when_it_is_fixed() -> None:
    story = OrchestrationStory(max_rounds=5).planned(subtask("Backend", 3, 5))
    story.round(Backend=False)
    assert story.prompt_part("feedback") == "Backend: False"
    story.round(Backend=True)
    assert story.prompt_part("feedback") == ""


def test_the_round_ends_with_the_phase_of_each_agent() -> None:
    """The seeds' broadcast round_done."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs"))
    story.round(Backend=True, Docs=True)
    [ended] = found(story, RoundDone)
    assert (ended.round, ended.action, ended.all_done) == (1, "next", False)
    assert [(agent.agent, agent.phase, agent.completed) for agent in ended.agent_phases] == [
        ("Backend", 4, False),
        ("Docs", 3, True),
    ]


@pytest.mark.parametrize("name", ["Ghost", "Back", "Backend "])
def test_a_verdict_on_an_unknown_agent_is_refused_and_recorded(name: str) -> None:
    """§1.9, K-18: names are exact but for their case."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs", 3, 5))
    story.round(**{name: True, "Docs": False}, all_done=True)
    [refused] = found(story, VerdictRefused)
    assert (refused.agent, refused.reason, refused.round) == (name, "is not part of this run", 1)
    assert (stands(story)["Backend"], story.judged("Backend")) == ((3, False), [])
    assert (story.run.state, story.run.round) == ("working", 2)


def test_a_verdict_on_an_agent_that_has_finished_is_refused_and_recorded() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs"))
    story.round(Backend=True, Docs=True)
    story.round(Backend=False, Docs=False)
    [refused] = found(story, VerdictRefused)
    assert (refused.agent, refused.reason, refused.round) == ("Docs", "has completed its phases", 2)
    assert (stands(story), story.judged("Docs")) == ({"Backend": (4, False), "Docs": (3, True)}, [(1, 3, True)])


def test_refused_verdicts_are_recorded_in_the_judges_order() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4))
    story.works("Backend")
    story.answer(verdicts(Zoe=True, Backend=True, Adam=True, Mia=False))
    assert [refused.agent for refused in found(story, VerdictRefused)] == ["Zoe", "Adam", "Mia"]
    assert stands(story) == {"Backend": (4, False)}


def test_a_name_matches_however_its_letters_were_typed() -> None:
    syllables, letters = (unicodedata.normalize(form, "백엔드") for form in ("NFC", "NFD"))
    assert syllables != letters
    story = OrchestrationStory(employees=(Employee(name=letters, role="backend"),))
    story.answer(plan(subtask(syllables, role="backend")))
    story.works(letters)
    story.answer(json.dumps({"verdicts": [{"agent": syllables, "pass": True}]}))
    assert (story.run.status, found(story, VerdictRefused)) == ("done", [])


def test_agents_without_a_verdict_have_no_entry() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs", 3, 5))
    story.round(Backend=True)
    assert stands(story) == {"Backend": (4, False), "Docs": (3, False)}
    assert story.judged("Docs") == []


# -- an agent with several subtasks (contract §10) -----------------------------------------------------------------


def twice() -> OrchestrationStory:
    """Backend has two subtasks and has reported on both; Docs has one."""
    story = OrchestrationStory().planned(
        subtask("Backend", 3, 4, task="write it"), subtask("Docs", 3, 5), subtask("Backend", 3, 3, task="more")
    )
    for words in ("one", "two", "three"):
        story.works(story.asked[0], words)
    return story


def judges(story: OrchestrationStory, *given: tuple[str, str | None, bool], all_done: bool = False) -> None:
    listed = [
        {"agent": agent, "pass": ok, "feedback": f"{name}: {ok}"} | ({"subtask": name} if name else {})
        for agent, name, ok in given
    ]
    story.answer(json.dumps({"verdicts": listed, "allDone": all_done}))


def places(story: OrchestrationStory) -> list[tuple[int, bool]]:
    return [(agent.current_phase, agent.completed) for agent in story.run.agents]


def test_the_judge_is_shown_each_subtask_of_an_agent() -> None:
    story = twice()
    assert story.request.expects == ("Backend#s1", "Docs", "Backend#s3")
    assert story.prompt_part("agents").splitlines() == [
        "- Backend, subtask s1 (backend): judged for phase 3 (개발); task: write it",
        "- Docs (docs): judged for phase 3 (개발)",
        "- Backend, subtask s3 (backend): judged for phase 3 (개발); task: more",
    ]
    assert story.prompt_part("results").startswith("✅ Backend, subtask s1\none")


def test_each_subtask_is_judged_by_itself() -> None:
    story = twice()
    judges(story, ("Backend", "s1", False), ("Docs", None, True), ("backend", "S3", True))
    assert places(story) == [(3, False), (5, False), (3, True)]
    assert [len(agent.history) for agent in story.run.agents] == [1, 1, 1]
    assert story.run.feedback == {0: "s1: False"}


def test_one_verdict_never_passes_several_subtasks() -> None:
    story = twice()
    judges(story, ("Backend", None, True), ("Docs", None, True), all_done=True)
    assert places(story) == [(3, False), (5, False), (3, False)]
    [refused] = found(story, VerdictRefused)
    assert refused.reason == "has several subtasks; the verdict has to name one of s1, s3"


def test_a_verdict_needs_no_subtask_if_an_agent_has_one_left() -> None:
    story = twice()
    judges(story, ("Backend", "s1", False), ("Docs", "s2", True), ("Backend", "s3", True))
    for _ in range(2):
        story.works(story.asked[0])
    judges(story, ("Backend", None, True), ("Docs", None, True))
    assert places(story)[0] == (4, False)


def test_a_subtask_of_another_team_is_not_part_of_the_run() -> None:
    story = twice()
    judges(story, ("Docs", "s1", True), ("Backend", "s3", True))
    [refused] = found(story, VerdictRefused)
    assert (refused.agent, refused.reason) == ("Docs (s1)", "is not part of this run")


# -- phases_completed: a claim widens what is judged, only the verdict moves (K-12) --------------------------------

CLAIM = 'Done.\n```json\n{"phases_completed": [3, 4]}\n```'


def test_a_claim_widens_what_the_verdict_is_about() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    story.works("Backend", CLAIM)
    assert story.prompt_part("rubric") == "3,4"
    assert story.prompt_part("agents") == "- Backend (backend): judged for phase 3 (개발), 4 (디버깅)"
    assert stands(story) == {"Backend": (3, False)}, "the claim itself moves nothing"
    story.answer(verdicts(Backend=True))
    assert stands(story) == {"Backend": (5, False)}
    [value] = found(story, VerdictGiven)
    assert (value.phase, value.judged, value.passed) == (3, (3, 4), True)


@pytest.mark.parametrize(
    ("passed", "entries"),
    [(True, [(3, True), (4, True)]), (False, [(3, False)])],
)
def test_a_verdict_is_in_the_history_of_every_phase_that_it_passed(
    passed: bool, entries: list[tuple[int, bool]]
) -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    story.works("Backend", CLAIM)
    story.answer(verdicts(Backend=passed))
    assert [(judged.phase, judged.passed) for judged in story.run.agents[0].history] == entries


def test_the_last_round_leaves_something_to_do_next() -> None:
    """Behaviour §1.10: `next` where the scope is not done, whether or not there is another round."""
    story = OrchestrationStory(max_rounds=2).planned(subtask("Backend"))
    story.round(Backend=False)
    story.round(Backend=False)
    assert story.run.status == "partial"
    assert [ended.action for ended in found(story, RoundDone)] == ["next", "next"]


def test_a_claim_that_fails_moves_nothing() -> None:
    """RL-20: shipped, the agent's word completed phases although the verdict was FAIL."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    story.works("Backend", CLAIM)
    story.answer(verdicts(Backend=False))
    assert (stands(story), story.judged("Backend")) == ({"Backend": (3, False)}, [(1, 3, False)])


@pytest.mark.parametrize(
    ("claim", "phase", "completed"),
    [
        ([3, 4, 5], 5, True),
        ([1, 2, 3, 4, 5], 5, True),
        ([4, 5], 5, True),
        ([3], 4, False),
        ([1, 2], 4, False),
        ([3, 9], 4, False),
        ("3,4,5", 4, False),
        ([3, True], 4, False),
    ],
)
def test_a_claim_counts_from_two_phases_up_to_its_highest(claim: object, phase: int, completed: bool) -> None:
    """RL-21: a PASS skips no phase that was not judged."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 5), subtask("Docs", 3, 5))
    story.works("Backend", json.dumps({"phases_completed": claim}))
    story.works("Docs")
    story.answer(verdicts(Backend=True, Docs=True))
    assert stands(story)["Backend"] == (phase, completed)


# -- verdicts that cannot be read (K-14, K-15) ---------------------------------------------------------------------

GARBLED = {
    "prose": "Looks good to me.",
    "nothing": "",
    "a-word-for-a-boolean": '{"verdicts": [{"agent": "Backend", "pass": "false", "feedback": ""}], "allDone": true}',
    "a-number-for-a-boolean": '{"verdicts": [{"agent": "Backend", "pass": 1}], "allDone": true}',
    "one-agent-twice": '{"verdicts": [{"agent": "Backend", "pass": true}, {"agent": "Backend", "pass": true}]}',
    "twice-in-other-case": '{"verdicts": [{"agent": "Backend", "pass": true}, {"agent": "backend ", "pass": false}]}',
    "no-list": '{"verdicts": "all good", "allDone": true}',
    "allDone-alone": '{"allDone": true}',
    "cut-off": '{"verdicts": [{"agent": "Backend", "pass": true}',
    "twice-a-key": '{"verdicts": [], "verdicts": [{"agent": "Backend", "pass": true}]}',
}


@pytest.mark.parametrize("words", GARBLED.values(), ids=GARBLED.keys())
def test_an_unreadable_verdict_is_requested_again_once(words: str) -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 4))
    story.works("Backend", "Built.")
    assert topics(story.answer(words)) == ["turn.answered", "orchestration.verdict_unreadable", "turn.requested"]
    [unreadable] = found(story, VerdictUnreadable)
    assert (unreadable.attempt, unreadable.round) == (1, 1)
    assert (story.asked, story.request.prompt, story.run.state) == (["judge"], "verdict_repair@1", "judging")
    assert (story.prompt_part("answer"), story.prompt_part("reasons")) == (words, unreadable.problem)
    assert story.prompt_part("results") == "✅ Backend\nBuilt.", "with the same results"
    story.answer(verdicts(Backend=True))
    assert (stands(story), story.judged("Backend")) == ({"Backend": (4, False)}, [(1, 3, True)])


def test_a_verdict_unreadable_twice_advances_no_agent() -> None:
    """CP-004, K-15: every active agent gets an entry {pass: false}; the allDone of the bad object is ignored."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 4), subtask("Docs"), subtask("Data", 3, 4))
    story.round(Backend=False, Docs=True, Data=True)
    for agent in ("Backend", "Data"):
        story.works(agent)
    story.answer('{"verdicts": 0, "allDone": true}')
    events = story.answer('{"verdicts": null, "allDone": true}')
    assert topics(events) == [
        *["turn.answered", "orchestration.verdict_unreadable"],
        *["orchestration.verdict_given", "orchestration.verdict_given"],
        *["orchestration.round_done", "orchestration.round_start", "turn.requested"],
    ]
    assert [event.attempt for event in found(story, VerdictUnreadable)] == [1, 2]
    assert story.run.warnings == ("Round 2: the verdict was unreadable. The reply holds no list of verdicts.",)
    assert stands(story) == {"Backend": (3, False), "Docs": (3, True), "Data": (4, False)}
    assert story.judged("Docs") == [(1, 3, True)]
    assert story.judged("Data") == [(1, 3, True), (2, 4, False)]
    assert story.agent("Data")["history"][1]["feedback"] == ("verdict_unreadable: The reply holds no list of verdicts.")
    assert [value.judged for value in found(story, VerdictGiven)[-2:]] == [(), ()]


def test_a_failure_without_a_verdict_gives_no_feedback() -> None:
    """The judge's last feedback stays; the agent is not to blame for an unreadable verdict."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 4))
    story.round(Backend=False)
    story.works("Backend")
    story.answer("?")
    story.answer("?")
    assert (story.run.round, story.prompt_part("feedback")) == (3, "Backend: False")


def test_a_failing_judge_is_asked_again_once_and_then_counts_as_unreadable() -> None:
    story = OrchestrationStory().planned(subtask("Backend"))
    story.works("Backend")
    story.answer(failure=Failure(code="timeout", detail="No answer."))
    assert (story.asked, found(story, VerdictUnreadable)[0].problem) == (["judge"], "judge: timeout: No answer.")
    story.answer(failure=Failure(code="crash"))
    assert (story.run.round, stands(story)) == (2, {"Backend": (3, False)})


def test_every_round_has_its_own_second_chance() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    for _ in range(2):
        story.works("Backend")
        story.answer("?")
        story.answer("?")
    assert story.run.round == 3
    assert [event.attempt for event in found(story, VerdictUnreadable)] == [1, 2, 1, 2]


# -- allDone (K-14) ------------------------------------------------------------------------------------------------


def two() -> OrchestrationStory:
    return OrchestrationStory().planned(subtask("Backend", 3, 5), subtask("Docs", 3, 5))


def test_all_done_ends_the_run_with_phases_left() -> None:
    """CP-003; S1's early completion."""
    story = two()
    story.round(Backend=True, Docs=True, all_done=True)
    assert (story.run.status, stands(story)) == ("done", {"Backend": (4, True), "Docs": (5, True)})
    [ended] = found(story, RoundDone)
    assert (ended.action, ended.all_done) == ("complete", True)


@pytest.mark.parametrize(
    ("case", "passed"),
    [
        ("RL-28: one fails", {"Backend": True, "Docs": False}),
        ("one is missing", {"Backend": True}),
        ("a stranger stands for one", {"Backend": True, "Ghost": True}),
    ],
)
def test_all_done_is_ignored_when_a_verdict_fails_or_is_missing(case: str, passed: dict[str, bool]) -> None:
    story = two()
    story.round(all_done=True, **passed)
    assert (story.run.state, story.run.round) == ("working", 2)
    assert [ended.all_done for ended in found(story, RoundDone)] == [False]


@pytest.mark.parametrize("passed", [{}, {"Ghost": True}], ids=["RL-24: all are missing", "only a stranger"])
def test_an_empty_list_of_verdicts_is_requested_again_once_and_then_recorded(passed: dict[str, bool]) -> None:
    """Contract §10, K-15."""
    story = two()
    story.round(all_done=True, **passed)
    assert (story.run.state, story.run.round, story.asked) == ("judging", 1, ["judge"])
    story.answer(verdicts(all_done=True, **passed))
    assert (story.run.state, story.run.round) == ("working", 2)
    assert story.judged("Backend") == [(1, 3, False)]
    assert [event.attempt for event in found(story, VerdictUnreadable)] == [1, 2]


@pytest.mark.parametrize("name", ["backend", "BACKEND"])
def test_a_verdict_names_its_agent_in_any_case(name: str) -> None:
    """K-18: as in a plan."""
    story = two()
    story.round(**{name: True, "Docs": True})
    assert stands(story) == {"Backend": (4, False), "Docs": (5, False)}
    assert found(story, VerdictRefused) == []


@pytest.mark.parametrize("word", ["true", 1, None, [], "yes"])
def test_only_the_boolean_true_says_that_all_is_done(word: object) -> None:
    story = two()
    story.round(Backend=True, Docs=True, all_done=word)
    assert story.run.state == "working"


def test_all_done_is_ignored_when_a_finished_agent_fails() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5), subtask("Docs"))
    story.round(Backend=True, Docs=True)
    story.round(Backend=True, Docs=False, all_done=True)
    assert (story.run.state, stands(story)) == ("working", {"Backend": (5, False), "Docs": (3, True)})


def test_a_strangers_failure_is_nothing() -> None:
    story = two()
    story.round(Backend=True, Docs=True, Ghost=False, all_done=True)
    assert story.run.status == "done"


def test_verdicts_of_an_employee_have_no_effect() -> None:
    """Agents' reports are shown to the judge, never read as its answer."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    story.works("Backend", verdicts(Backend=True, all_done=True))
    assert (story.run.state, stands(story)) == ("judging", {"Backend": (3, False)})


# -- each turn once ------------------------------------------------------------------------------------------------


def test_a_turn_is_settled_once() -> None:
    story = OrchestrationStory().planned(subtask("Backend"), subtask("Docs"))
    turn = story.turn.turn_id
    story.works("Backend")
    assert "is settled or was never requested" in str(story.refused(story.reply("again", turn_id=turn)))
    assert isinstance(story.refused(story.reply("?", turn_id="orchestration-1.t99")), Refused)
