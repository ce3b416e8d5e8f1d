"""Ends and continuation of runs: checkpoint, done, partial, continue, reset, new request (S0 2-B…2-D; S1 §2, 4, 5)."""

from typing import Any

import pytest

from domain.orchestration.commands import (
    AddRounds,
    ClearAgentSessions,
    ContinueOrchestration,
    ResetOrchestration,
    StartOrchestration,
)
from domain.orchestration.decide import allowed_actions
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    Continued,
    OrchestrateDone,
    OrchestrationRequest,
    PartialReached,
    PlanMade,
    RoundsAdded,
    RoundStart,
    WasReset,
)
from domain.session.turns import AgentSessionsCleared, TurnRequested
from tests.kit.replies import plan, subtask, verdicts
from tests.kit.stories import OrchestrationStory, topics

PAUSED = ["orchestration.round_done", "orchestration.checkpoint_reached", "orchestration.orchestrate_done"]
DONE = [
    *["orchestration.round_done", "orchestration.completed"],
    *["session.agent_sessions_cleared", "orchestration.orchestrate_done"],
]
RAN_OUT = ["orchestration.round_done", "orchestration.partial_reached", "orchestration.orchestrate_done"]
GOES_ON = ["orchestration.continued", "orchestration.round_start", "turn.requested"]


def newest(story: OrchestrationStory, kind: type[Any]) -> Any:
    return next(event for event in reversed(story.events) if isinstance(event, kind))


def cleared(story: OrchestrationStory) -> list[str]:
    """Why agents' conversations ended, but for the clean beginning."""
    return [event.reason for event in story.events if isinstance(event, AgentSessionsCleared)][1:]


def planners_asked(story: OrchestrationStory) -> int:
    return sum(isinstance(event, TurnRequested) and event.role == "planner" for event in story.events)


def summary(story: OrchestrationStory) -> str:
    assert story.run.summary is not None
    return story.whole(story.run.summary)


def held(*agents: str) -> OrchestrationStory:
    """Every agent has a conversation that can be resumed, and phase 3 with a checkpoint."""
    story = OrchestrationStory().planned(*(subtask(agent, checkpoint=True) for agent in agents or ("Backend",)))
    while story.run.state == "working":
        agent = story.asked[0]
        story.works(agent, agent_session=f"{agent}-1")
    return story


def paused(*agents: str, words: str = "Phase 3 is built.") -> OrchestrationStory:
    story = held(*agents)
    story.answer(verdicts(words=words, **dict.fromkeys(agents or ("Backend",), True)))
    return story


def ran_out(max_rounds: int = 1) -> OrchestrationStory:
    story = OrchestrationStory(max_rounds=max_rounds).planned(subtask("Backend", 3, 5), subtask("Docs"))
    for number in range(max_rounds):
        story.works("Backend", agent_session="Backend-1")
        if number == 0:
            story.works("Docs")
        story.answer(verdicts(Backend=False, Docs=True))
    return story


# -- checkpoint (S0 2-B) -------------------------------------------------------------------------------------------


def test_cp_001_a_finished_scope_with_a_checkpoint_pauses_its_agents() -> None:
    """CP-001: checkpointed, and not completed."""
    story = held()
    assert topics(story.answer(verdicts(words="Phase 3 is built.", Backend=True)))[2:] == PAUSED
    assert story.run.status == "checkpoint"
    assert (story.agent("Backend")["checkpointed"], story.agent("Backend")["completed"]) == (True, False)
    assert story.run.agent_sessions == {"Backend (backend)": "Backend-1"}, "kept"
    assert cleared(story) == []


def test_a_checkpoint_lists_the_finished_work_and_the_possible_commands() -> None:
    story = paused(words="Phase 3 is built.\n\nTests are green.")
    reached, output = newest(story, CheckpointReached), newest(story, OrchestrateDone)
    assert summary(story) == reached.summary.head == "Phase 3 is built.\n\nTests are green."
    assert reached.hint == '다음: "리뷰해봐", "이어서 해줘", "리셋해"'
    assert (output.text.head, output.checkpoint, output.status, output.origin) == (
        summary(story),
        True,
        "checkpoint",
        "",
    )


@pytest.mark.parametrize("words", ["", "```json\n```", '{"note": 1}', "<think>All good.</think>"])
def test_a_checkpoint_without_text_uses_the_text_of_the_seed(words: str) -> None:
    assert summary(paused(words=words)) == "요청된 scope 완료"


def test_at_a_checkpoint_only_the_agents_that_asked_for_it_pause() -> None:
    """K-2: the others have finished what was asked of them."""
    story = OrchestrationStory().planned(subtask("Backend", checkpoint=True), subtask("Docs"))
    story.round(Backend=True, Docs=True)
    assert story.run.status == "checkpoint"
    assert (story.agent("Backend")["completed"], story.agent("Docs")["completed"]) == (False, True)
    assert (story.agent("Backend")["checkpointed"], story.agent("Docs")["checkpointed"]) == (True, False)


def test_a_checkpoint_waits_for_the_whole_scope() -> None:
    story = OrchestrationStory().planned(subtask("Backend", checkpoint=True), subtask("Docs", 3, 5))
    story.round(Backend=True, Docs=False)
    assert (story.run.state, story.asked) == ("working", ["Docs"])
    assert (story.agent("Backend")["completed"], story.agent("Backend")["checkpointed"]) == (True, False)
    story.round(Docs=True)
    story.round(Docs=True)
    assert (story.run.status, story.agent("Backend")["completed"]) == ("checkpoint", False)


def test_all_done_reaches_a_checkpoint_too() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 3, 5, checkpoint=True))
    story.round(Backend=True, all_done=True)
    assert (story.run.status, story.run.round) == ("checkpoint", 1)


# -- done ----------------------------------------------------------------------------------------------------------


def test_cp_002_a_finished_scope_without_a_checkpoint_is_done() -> None:
    """CP-002: completed, conversations cleared."""
    story = OrchestrationStory().planned(subtask("Backend"))
    story.works("Backend", agent_session="Backend-1")
    assert topics(story.answer(verdicts(words="Built.", Backend=True)))[2:] == DONE
    assert (story.run.status, story.agent("Backend")["completed"], story.run.agent_sessions) == ("done", True, {})
    assert (cleared(story), newest(story, AgentSessionsCleared).agent_sessions) == (
        ["done"],
        {"Backend (backend)": "Backend-1"},
    )
    assert (summary(story), newest(story, OrchestrateDone).text.head) == ("Built.", "Built.")
    assert newest(story, OrchestrateDone).checkpoint is False


def test_done_without_text_uses_the_text_of_the_seed() -> None:
    story = OrchestrationStory().planned(subtask("Backend"))
    story.round(Backend=True)
    assert summary(story) == "모든 작업 완료"


def test_cp_003_all_done_finishes_the_scope() -> None:
    """CP-003."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 5))
    story.round(Backend=True, all_done=True)
    assert (story.run.status, newest(story, Completed).all_done) == ("done", True)


# -- partial (S0 2-C) ----------------------------------------------------------------------------------------------


def test_cp_005_used_up_rounds_end_partial_and_keep_the_conversations() -> None:
    """CP-005, K-4."""
    story = OrchestrationStory(max_rounds=2).planned(subtask("Backend", 1, 5), subtask("Docs"))
    story.works("Backend", agent_session="Backend-1")
    story.works("Docs")
    story.answer(verdicts(Backend=True, Docs=True))
    story.works("Backend", agent_session="Backend-2")
    assert topics(story.answer(verdicts(Backend=False)))[2:] == RAN_OUT
    assert (story.run.status, story.run.partial_reason, story.run.round) == ("partial", "rounds", 2)
    assert (story.run.agent_sessions, cleared(story)) == ({"Backend (backend)": "Backend-2"}, [])
    reached = newest(story, PartialReached)
    assert (reached.done, reached.pending) == (("Docs",), ("Backend",))
    assert summary(story) == (
        "## 완료 (1)\n- ✅ Docs (docs)\n\n"
        "## 미완료 (1)\n- ⏳ Backend (backend) — Phase 2: 기획검증\n\n"
        '이어서 진행하려면 "이어서 해줘"라고 말씀하세요.\n'
        "Worklog: /api/sessions/orchestration-1/worklog"
    )
    assert (newest(story, OrchestrateDone).text.head, newest(story, OrchestrateDone).checkpoint) == (
        summary(story),
        False,
    )


def test_five_phases_need_more_than_three_rounds() -> None:
    """K-13, RL-14: three is the default, five would do."""
    for max_rounds, status in ((3, "partial"), (5, "done")):
        story = OrchestrationStory(max_rounds=max_rounds).planned(subtask("Backend", 1, 5))
        while story.run.status == "active":
            story.round(Backend=True)
        assert (story.run.status, story.run.round) == (status, max_rounds)


def test_a_round_that_finishes_the_scope_is_not_partial() -> None:
    story = OrchestrationStory(max_rounds=1).planned(subtask("Backend"))
    story.round(Backend=True)
    assert story.run.status == "done"


def test_unreadable_verdicts_in_the_last_round_end_partial() -> None:
    story = OrchestrationStory(max_rounds=1).planned(subtask("Backend"))
    story.works("Backend")
    story.answer('{"allDone": true}')
    story.answer('{"allDone": true}')
    assert (story.run.status, story.judged("Backend")) == ("partial", [(1, 3, False)])


# -- continue after a checkpoint (K-7, K-9) ------------------------------------------------------------------------


def test_after_a_checkpoint_the_next_phases_of_the_role_follow() -> None:
    story = paused()
    assert topics(story.resumes()) == GOES_ON
    assert planners_asked(story) == 1
    assert (story.run.status, story.run.round, story.run.last_round) == ("active", 2, 4)
    agent = story.run.agents[0]
    assert (agent.phase_profile, agent.current_phase, agent.checkpoint) == ((4, 5), 4, False)
    assert (story.request.phase, story.request.agent_session) == ("4", "Backend-1"), "the conversation is resumed"
    story.round(Backend=True)
    story.round(Backend=True)
    assert (story.run.status, story.judged("Backend")) == ("done", [(1, 3, True), (2, 4, True), (3, 5, True)])
    assert (cleared(story), story.run.agent_sessions) == (["done"], {})


def test_after_a_checkpoint_there_is_no_second_one() -> None:
    """K-3: S1 could never have reached done."""
    story = paused("Backend", "Docs")
    story.resumes()
    while story.run.status == "active":
        story.round(Backend=True, Docs=True)
    assert story.run.status == "done"
    assert sum(isinstance(event, CheckpointReached) for event in story.events) == 1


def test_after_a_checkpoint_agents_without_one_stay_finished() -> None:
    story = OrchestrationStory().planned(subtask("Backend", checkpoint=True), subtask("Docs"))
    story.round(Backend=True, Docs=True)
    story.resumes()
    assert story.asked == ["Backend"]
    assert (story.agent("Docs")["completed"], story.agent("Docs")["phaseProfile"]) == (True, [3])


def test_after_a_checkpoint_with_nothing_left_the_run_is_done() -> None:
    story = OrchestrationStory().planned(subtask("Backend", 5, 5, checkpoint=True))
    story.works("Backend", agent_session="Backend-1")
    story.answer(verdicts(Backend=True))
    assert story.run.status == "checkpoint"
    events = story.resumes()
    assert topics(events) == DONE[1:]
    assert (story.run.status, summary(story), cleared(story)) == ("done", "모든 작업이 이미 완료되었습니다.", ["done"])
    assert story.agent("Backend")["completed"] is True


def test_after_a_checkpoint_agents_with_phases_left_continue() -> None:
    story = OrchestrationStory().planned(
        subtask("Backend", 5, 5, checkpoint=True), subtask("Docs", checkpoint=True), subtask("Data", role="qa")
    )
    story.round(Backend=True, Docs=True, Data=True)
    story.resumes()
    assert story.asked == ["Docs"]
    assert [agent.completed for agent in story.run.agents] == [True, False, True]
    assert story.run.agents[1].phase_profile == (5,), "docs has no phase 4"


def test_after_an_early_checkpoint_the_phases_that_were_not_done_follow() -> None:
    """allDone paused the run at phase 3 of 3…5: the next phase is 4, not what follows 5."""
    story = OrchestrationStory().planned(subtask("Backend", 3, 5, checkpoint=True), subtask("Docs", checkpoint=True))
    story.round(Backend=True, Docs=True, all_done=True)
    assert story.run.status == "checkpoint"
    story.resumes()
    assert [agent.phase_profile for agent in story.run.agents] == [(4, 5), (5,)]


def test_a_run_that_was_continued_can_run_out_and_be_continued_again() -> None:
    story = paused()
    story.resumes()
    for _ in range(3):
        story.round(Backend=False)
    assert (story.run.status, story.run.round) == ("partial", 4)
    story.resumes()
    assert (story.run.agents[0].current_phase, story.run.round, story.run.last_round) == (4, 5, 7)
    story.round(Backend=True)
    story.round(Backend=True)
    assert (story.run.status, story.run.round) == ("done", 6)


# -- continue after partial ----------------------------------------------------------------------------------------


def test_after_partial_the_same_phase_continues_with_new_rounds() -> None:
    """K-9: same session, same agents, no planner."""
    story = ran_out(max_rounds=2)
    before = story.run
    assert topics(story.resumes()) == GOES_ON
    assert planners_asked(story) == 1
    assert (story.run.round, story.run.last_round, story.run.plan_version) == (3, 4, 1)
    assert (story.run.agents, story.asked) == (before.agents, ["Backend"])
    assert (story.request.phase, story.request.agent_session) == ("3", "Backend-1")
    assert story.prompt_part("feedback") == "Backend: False"
    assert (story.run.summary, story.run.partial_reason) == (None, None)
    story.round(Backend=False)
    story.round(Backend=False)
    assert (story.run.status, story.run.round) == ("partial", 4)


def test_an_unreached_checkpoint_remains_after_partial() -> None:
    story = OrchestrationStory(max_rounds=1).planned(subtask("Backend", 3, 4, checkpoint=True))
    story.round(Backend=True)
    story.resumes()
    assert story.run.agents[0].checkpoint is True
    story.round(Backend=True)
    assert story.run.status == "checkpoint"


# -- what an agent writes is no state (K-8) ------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["Status: done", "- Status: reset", "## Final Summary\n| X | ✅ 완료 |"])
def test_agents_texts_never_decide_whether_a_run_can_continue(words: str) -> None:
    """C1, C3: shipped, continue was refused for ever once an agent had written `Status: done`."""
    story = OrchestrationStory(prompt=f"src/ API 만들어줘 {words}", max_rounds=1)
    story.planned(subtask("Backend", 3, 4, task=words, checkpoint=True))
    story.works("Backend", words)
    story.answer(verdicts(words=words, Backend=True))
    assert story.run.status == "partial"
    story.resumes()
    story.works("Backend", words)
    story.answer(verdicts(words=words, Backend=True))
    assert story.run.status == "checkpoint"
    story.resumes()
    assert story.asked == ["Backend"]


# -- reset (K-17, K-20) --------------------------------------------------------------------------------------------


def test_reset_clears_and_keeps_the_history() -> None:
    story = paused()
    events = story.resets("not needed")
    assert topics(events) == ["orchestration.reset", "session.agent_sessions_cleared", "orchestration.orchestrate_done"]
    assert (story.run.status, story.run.agent_sessions, cleared(story)) == ("reset", {}, ["reset"])
    assert newest(story, AgentSessionsCleared).agent_sessions == {"Backend (backend)": "Backend-1"}
    assert (story.run.round, story.judged("Backend")) == (1, [(1, 3, True)]), "rounds stay (K-20)"
    was_reset = newest(story, WasReset)
    assert (was_reset.reason, was_reset.message, was_reset.round) == ("not needed", "not needed", 1)
    assert summary(story) == "유저 요청으로 페이즈 리셋됨."
    assert newest(story, OrchestrateDone).text.head == "페이즈 리셋 완료. 새로 시작하려면 작업을 요청하세요."
    assert newest(story, OrchestrateDone).status == "reset"


def test_reset_while_agents_work_calls_their_turns_off() -> None:
    """K-17; whatever they still answer changes nothing."""
    story = OrchestrationStory().planned(
        subtask("Backend", parallel=True, verification={"affected_files": ["a"]}),
        subtask("Docs", parallel=True, verification={"affected_files": ["b"]}),
    )
    late = [story.reply("late", turn_id=turn_id) for turn_id in story.run.outstanding]
    assert topics(story.resets())[:3] == ["turn.cancelled", "turn.cancelled", "orchestration.reset"]
    assert (story.run.status, story.asked) == ("reset", [])
    for reply in late:
        story.refused(reply)


@pytest.mark.parametrize("at", ["planning", "direct", "working", "judging", "checkpoint", "partial"])
def test_a_run_can_be_reset_at_any_time_before_its_end(at: str) -> None:
    story = {
        "planning": OrchestrationStory,
        "direct": lambda: OrchestrationStory("안녕"),
        "working": lambda: OrchestrationStory().planned(subtask("Backend")),
        "judging": held,
        "checkpoint": paused,
        "partial": ran_out,
    }[at]()
    assert story.run.state == at
    assert {"reset", "cancel"} <= set(allowed_actions(story.run))
    story.resets()
    assert (story.run.status, allowed_actions(story.run)) == ("reset", ())


# -- what is refused -----------------------------------------------------------------------------------------------


def done() -> OrchestrationStory:
    story = OrchestrationStory().planned(subtask("Backend"))
    story.round(Backend=True)
    return story


def was_reset() -> OrchestrationStory:
    story = paused()
    story.resets()
    return story


def test_edge_case_8_after_a_reset_nothing_continues() -> None:
    """S1 §5.8."""
    refusal = was_reset().refused(ContinueOrchestration())
    assert str(refusal) == (
        "이어갈 worklog가 없습니다. (There is nothing to continue.)"
        " An orchestration in the state reset cannot be continued. Nothing is allowed now."
    )
    assert refusal.allowed == ()


def test_edge_case_9_after_done_nothing_continues() -> None:
    """S1 §5.9."""
    refusal = done().refused(ContinueOrchestration())
    assert str(refusal) == (
        "이어갈 worklog가 없습니다. (There is nothing to continue.)"
        " An orchestration in the state done cannot be continued."
    )


def test_a_run_that_is_active_is_not_continued() -> None:
    refusal = OrchestrationStory().planned(subtask("Backend")).refused(ContinueOrchestration())
    assert "An orchestration in the state active (working) cannot be continued." in str(refusal)
    assert refusal.allowed == ("reset", "cancel", "extend", "revise")


@pytest.mark.parametrize("story", [done, was_reset], ids=["done", "reset"])
def test_what_has_ended_is_not_reset(story: Any) -> None:
    ended = story()
    message = f"An orchestration in the state {ended.run.state} cannot be"
    reset, cancel = ended.refused(ResetOrchestration()), ended.refused(ResetOrchestration(action="cancel"))
    nothing = "리셋할 worklog가 없습니다. (There is nothing to reset.)"
    end = "" if reset.allowed else " Nothing is allowed now."
    assert str(reset) == f"{nothing} {message} reset.{end}"
    assert str(cancel) == f"{message} cancelled.{end}"


def test_a_run_starts_once() -> None:
    story = OrchestrationStory()
    refusal = story.refused(StartOrchestration(opening=OrchestrationRequest(prompt="again")))
    assert str(refusal) == "This session has already started."


# -- a new request (S1 §5.6, §5.7) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [paused, ran_out], ids=["edge-case-6-checkpoint", "edge-case-7-partial"])
def test_a_new_request_clears_what_the_paused_run_had_kept(story: Any) -> None:
    """S1 §5.6 and §5.7: the run itself does not change, and could still continue."""
    run: OrchestrationStory = story()
    status = run.run.status
    assert topics(run.when(ClearAgentSessions())) == ["session.agent_sessions_cleared"]
    assert (run.run.status, run.run.agent_sessions) == (status, {})
    run.resumes()
    assert run.request.agent_session is None


# -- more rounds ---------------------------------------------------------------------------------------------------


def test_more_rounds_for_a_running_run() -> None:
    story = OrchestrationStory(max_rounds=1).planned(subtask("Backend", 3, 5))
    events = story.when(AddRounds(add_rounds=2, reason="it is big"))
    assert topics(events) == ["orchestration.rounds_added"]
    added = newest(story, RoundsAdded)
    assert (added.add_rounds, added.last_round, added.why, added.message) == (
        2,
        3,
        "it is big",
        "2 more rounds: it is big",
    )
    for _ in range(3):
        story.round(Backend=True)
    assert (story.run.status, story.run.round) == ("done", 3)


def test_a_run_without_rounds_continues_with_more_rounds() -> None:
    """An extension is a person's command; a run that ran out continues (contract §2)."""
    story = ran_out(max_rounds=2)
    assert "extend" in allowed_actions(story.run)
    events = story.when(AddRounds(add_rounds=1, reason="nearly there"))
    assert topics(events) == ["orchestration.rounds_added", *GOES_ON]
    assert (story.run.round, story.run.last_round, newest(story, Continued).last_round) == (3, 3, 3)
    story.round(Backend=False)
    assert (story.run.status, story.run.round) == ("partial", 3)


def no_plan() -> OrchestrationStory:
    story = OrchestrationStory()
    story.answer("?")
    story.answer("?")
    return story


@pytest.mark.parametrize("story", [paused, done, was_reset, no_plan])
def test_rounds_cannot_be_added_if_something_else_is_missing(story: Any) -> None:
    run: OrchestrationStory = story()
    refusal = run.refused(AddRounds(add_rounds=1, reason="more"))
    sentence = f"An orchestration in the state {run.run.status} cannot be given more rounds."
    assert str(refusal) == (sentence if refusal.allowed else f"{sentence} Nothing is allowed now.")
    assert "extend" not in allowed_actions(run.run)


# -- S1 §4, the three scenarios as this session sees them ----------------------------------------------------------


def test_scenario_1_checkpoint_continue_done() -> None:
    """ "개발만 하고 보고해" → checkpoint at 3 → continue from phase 4 → done."""
    story = OrchestrationStory("개발만 하고 보고해", triage="orchestrate")
    story.answer(plan(subtask("Backend", 3, 3, checkpoint=True)))
    story.works("Backend", "커밋 완료", agent_session="kept")
    story.answer(verdicts(words="Phase 3 완료. 다음 지시?", Backend=True))
    assert (story.run.status, summary(story)) == ("checkpoint", "Phase 3 완료. 다음 지시?")
    story.resumes()
    assert (story.request.phase, story.request.agent_session) == ("4", "kept")
    story.round(Backend=True)
    story.round(words="전체 완료", Backend=True)
    assert (story.run.status, summary(story), story.run.agent_sessions) == ("done", "전체 완료", {})
    assert sum(isinstance(event, PlanMade) for event in story.events) == 1
    assert [event.round for event in story.events if isinstance(event, RoundStart)] == [1, 2, 3]


def test_scenario_2_checkpoint_reset() -> None:
    """ "테스트만 해봐" → checkpoint at 4 → reset."""
    story = OrchestrationStory("테스트만 해봐", triage="orchestrate")
    story.answer(plan(subtask("Backend", 4, 4, checkpoint=True)))
    story.works("Backend", agent_session="kept")
    story.answer(verdicts(words="테스트 완료", Backend=True))
    story.resets("다른데서 리뷰했으니 리셋해")
    assert (story.run.status, story.run.agent_sessions, cleared(story)) == ("reset", {}, ["reset"])
