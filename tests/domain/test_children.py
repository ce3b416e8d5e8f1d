"""Reviews and debates as steps of orchestrations and deliveries (S2; K-24, K-25, K-33)."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from domain.delivery.commands import CancelDelivery, ExtendBudget, RecordValidation, StartDelivery
from domain.delivery.state import Delivery
from domain.discussion.commands import CancelDiscussion
from domain.orchestration.commands import ContinueOrchestration, ResetOrchestration, StartOrchestration
from domain.orchestration.events import Employee, OrchestrationRequest, PlanMade, VerdictOverturned
from domain.orchestration.state import Orchestration
from domain.session.children import CloseChild, ReviewSettings, child_id, fix_feedback, fix_issues
from domain.session.turns import ExpireTurn
from domain.values.base import Text, Usage
from tests.kit.discussing import Family, wish
from tests.kit.replies import critique, issue, plan, review, subtask, verdicts
from tests.kit.stories import start, topics

RUN, DELIVERY = "orchestration-1", "delivery-1"
DEBATE = "debate-1c1"
TEAM = ("Frontend", "Backend")
BROKEN = critique(summary="It is broken.", issues=[issue("No test.", suggestion="Write one.")])
MEND = "[Review NEEDS_FIX] It is broken.\n- **[major]** No test. → Write one."


class Run(Family):
    """An orchestration with its discussions."""

    def __init__(self, *, rounds: int = 3, **fields: Any) -> None:
        super().__init__()
        employees = tuple(Employee(name=name, role=name.lower()) for name in TEAM)
        settings = {"prompt": "src/ API 만들어줘", "employees": employees, "max_rounds": rounds}
        self.when(RUN, StartOrchestration(opening=OrchestrationRequest(**(settings | fields))), starts=True)

    @property
    def run(self) -> Orchestration:
        result = self.sessions[RUN]
        assert isinstance(result, Orchestration)
        return result

    @property
    def asked(self) -> list[str]:
        return [turn.agent for turn in self.run.outstanding.values()]

    def round(self, *, all_done: bool = False, words: str = "", **passed: object) -> None:
        """All agents report, then the judge says who passes."""
        while self.run.state == "working":
            self.answers(RUN, f"{self.asked[0]} reports.", agent=self.asked[0])
        self.answers(RUN, verdicts(all_done=all_done, words=words, **passed))

    def history(self, name: str) -> list[tuple[int, int, bool]]:
        [agent] = [agent for agent in self.run.agents if agent.agent == name]
        return [(judged.round, judged.phase, judged.passed) for judged in agent.history]


def planned(**fields: Any) -> Run:
    """A plan for Backend that is being debated."""
    run = Run(**fields)
    run.answers(RUN, plan(subtask("Backend")))
    return run


def working(*subtasks: dict[str, Any], **fields: Any) -> Run:
    """Passed work is reviewed, in one round of critique; the first round of the run has begun."""
    run = Run(**({"work_review": wish("review")} | fields))
    run.answers(RUN, plan(*(subtasks or (subtask("Backend"),))))
    return run


# ------------------------------------------------------------------------------------------------------ the plan


def test_the_plan_is_debated_before_any_agent_works() -> None:
    run = planned(plan_review=wish("debate"), title="The API")
    debate = run.talk(DEBATE)
    assert (run.run.state, run.run.status, run.run.round) == ("debating", "active", 0)
    assert (debate.parent, run.run.children, run.run.outstanding) == (RUN, (DEBATE,), {})
    assert (debate.kind, debate.strategy, debate.max_rounds, debate.title) == ("debate", "debate", 2, "Plan: The API")
    assert debate.about is not None and debate.about.about == "plan"
    assert debate.subject.head == f"Request:\nsrc/ API 만들어줘\n\nPlan:\n{plan(subtask('Backend'))}"


def test_the_debate_is_about_the_whole_plan_without_what_the_planner_only_thought() -> None:
    run = Run(plan_review=wish("perspectives"))
    words = "가" * 10_000
    run.answers(RUN, f"<think>Who knows?</think>{words}\n" + plan(subtask("Backend")))
    assert (
        run.prompt_part(DEBATE, "plan") == f"Request:\nsrc/ API 만들어줘\n\nPlan:\n{words}\n{plan(subtask('Backend'))}"
    )
    assert run.talk(DEBATE).max_rounds == 3


def test_an_accepted_plan_is_executed() -> None:
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE)
    run.decides(DEBATE, "accept")
    assert topics(run.events(RUN))[-3:] == ["session.child_closed", "orchestration.round_start", "turn.requested"]
    assert (run.run.state, run.run.round, run.run.plan_version, run.asked) == ("working", 1, 1, ["Backend"])


def test_a_plan_that_is_sent_back_becomes_version_two() -> None:
    """K-24: with the synthesis; the debate's budget of two rounds is spent, so nothing more is debated."""
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE, synthesis="Add a rollback.")
    run.decides(DEBATE, "revise")
    assert (run.run.state, run.asked) == ("planning", ["planner"])
    assert run.request(RUN).prompt == "revise_plan@1"
    assert run.prompt_part(RUN, "synthesis") == "Add a rollback."
    assert run.prompt_part(RUN, "plan") == plan(subtask("Backend"))
    run.answers(RUN, plan(subtask("Frontend")))
    made = [event for event in run.events(RUN) if isinstance(event, PlanMade)]
    assert [event.plan_version for event in made] == [1, 2]
    assert (run.run.state, run.run.children, run.asked) == ("working", (DEBATE,), ["Frontend"])
    assert [agent.agent for agent in run.run.agents] == ["Frontend"]


@pytest.mark.parametrize(
    ("strategy", "budget", "limits"),
    [
        ("debate", 2, [2]),
        ("debate", 3, [3]),
        ("debate", 5, [5, 3]),
        ("perspectives", 5, [5]),
        ("perspectives", 6, [6, 3]),
        ("debate", 8, [8, 6, 4, 2]),
    ],
)
def test_debates_share_one_budget_of_rounds_and_never_fall_below_their_minimum(
    strategy: str, budget: int, limits: list[int]
) -> None:
    """K-24, K-28: each debate here breaks off or ends as soon as its strategy allows."""
    hasty = wish(strategy, budget).profile.model_copy(update={"patience": 1})
    run = planned(plan_review=ReviewSettings(strategy=strategy, max_rounds=budget, profile=hasty))
    held = []
    while run.run.open_children:
        [child] = run.run.open_children
        held.append(run.talk(child).max_rounds)
        run.discussed(child)
        run.decides(child, "revise")
        run.answers(RUN, plan(subtask("Backend")))
    assert held == limits
    assert run.run.debate_rounds <= budget
    assert (run.run.state, run.run.plan_version) == ("working", len(limits) + 1)


def test_a_critic_that_fails_leaves_the_plan_undecided() -> None:
    """K-32: the plan is not carried out."""
    run = planned(plan_review=wish("debate"))
    run.answers(DEBATE, "", failure={"code": "crash", "detail": "gone"})
    assert run.talk(DEBATE).status == "waiting_for_decision"
    assert (run.run.state, run.run.round, run.run.outstanding) == ("debating", 0, {})
    run.decides(DEBATE, "revise")
    assert run.prompt_part(RUN, "synthesis") == "The debate broke off: critic: crash: gone"


def test_an_invalid_revised_plan_is_requested_again_once() -> None:
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE)
    run.decides(DEBATE, "revise")
    run.answers(RUN, plan(subtask("Nobody")))
    assert run.request(RUN).prompt == "plan_repair@1"
    run.answers(RUN, plan(subtask("Frontend")))
    assert (run.run.state, run.run.plan_version) == ("working", 2)


def test_a_revised_plan_that_stays_invalid_stops_the_run_without_running_the_old_plan() -> None:
    """Contract §5: partial with reason plan_invalid; continue plans again. A person had sent the old plan back."""
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE)
    run.decides(DEBATE, "revise")
    run.answers(RUN, plan(subtask("Nobody")))
    run.answers(RUN, "I give up.")
    assert (run.run.status, run.run.partial_reason, run.run.plan_version) == ("partial", "plan_invalid", 1)
    run.when(RUN, ContinueOrchestration())
    assert (run.run.state, run.request(RUN).prompt) == ("planning", "plan@1")
    run.answers(RUN, plan(subtask("Frontend")))
    assert (run.run.state, run.run.plan_version, run.asked) == ("working", 2, ["Frontend"])


def test_a_plan_that_was_sent_back_is_not_answered_away() -> None:
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE)
    run.decides(DEBATE, "revise")
    run.answers(RUN, json.dumps({"direct_answer": "It is done already.", "subtasks": []}))
    assert (run.run.state, run.request(RUN).prompt) == ("planning", "plan_repair@1")


def test_subtasks_of_a_direct_answer_are_debated_too() -> None:
    """Behaviour §1.6: one loop, two ways in."""
    run = Run(prompt="What is this?", plan_review=wish("debate"))
    assert run.asked == ["assistant"]
    run.answers(RUN, "I need help.\n" + plan(subtask("Backend")))
    assert run.talk(DEBATE).subject.head.endswith("Plan:\nI need help.\n" + plan(subtask("Backend")))
    run.discussed(DEBATE)
    run.decides(DEBATE, "accept")
    assert run.run.state == "working"


def test_a_direct_answer_is_not_debated() -> None:
    run = Run(plan_review=wish("debate"))
    run.answers(RUN, json.dumps({"direct_answer": "Forty-two.", "subtasks": []}))
    assert (run.run.status, run.run.children) == ("done", ())


# ------------------------------------------------------------------------------------------------------- the work


def test_work_that_passed_is_reviewed_before_the_round_counts() -> None:
    run = working(subtask("Backend", 3, 4), subtask("Frontend"))
    run.round(Backend=True, Frontend=False)
    assert (run.run.state, run.run.status, run.run.children) == ("reviewing", "active", ("review-1c1",))
    reviewed = run.talk("review-1c1")
    assert reviewed.about is not None and reviewed.about.about == "agent:0"
    assert reviewed.subject.head == (
        "Step:\nBackend (backend), phase 3 (개발)\n\nAction:\nBackend's task\n\nResult:\nBackend reports."
    )
    assert run.history("Backend") == [(1, 3, True)]
    assert "orchestration.round_done" not in topics(run.events(RUN))


def test_reviewers_see_how_the_files_changed_in_that_phase() -> None:
    run = working(subtask("Backend", 3, 4))
    for round_no, (patch, choice, seen) in enumerate(
        (("+1", "apply_fix", "+1"), ("+2", "skip", "+1\n+2"), ("+3", "skip", "+3")), start=1
    ):
        run.answers(RUN, "Done.", agent="Backend", patch=Text.of(patch)[0], files=("a.py",))
        run.answers(RUN, verdicts(Backend=True))
        child = f"review-1c{round_no}"
        assert run.talk(child).subject.head.partition("Result:\nDone.")[2] == f"\n\nChanges:\n{seen}"
        run.discussed(child, BROKEN)
        run.decides(child, choice)
    assert run.run.status == "done"


def test_a_skipped_review_lets_the_work_count() -> None:
    run = working(subtask("Backend", 3, 4))
    run.round(Backend=True)
    run.discussed("review-1c1", BROKEN)
    run.decides("review-1c1", "skip")
    assert (run.run.state, run.run.round, run.history("Backend")) == ("working", 2, [(1, 3, True)])
    assert run.run.agents[0].current_phase == 4
    assert run.request(RUN).prompt == "work@1"


def test_a_fix_marks_the_step_as_failed_and_runs_next() -> None:
    """S2 phase 3, K-25: step failed with the feedback, then a fix turn with the synthesis and the issues."""
    run = working(subtask("Backend", 3, 4))
    run.round(Backend=True)
    run.discussed("review-1c1", BROKEN, synthesis="Write the test.")
    run.decides("review-1c1", "apply_fix")
    [overturned] = [event for event in run.events(RUN) if isinstance(event, VerdictOverturned)]
    assert overturned.feedback == f"{MEND}\n\n[Synthesis]: Write the test."
    assert (overturned.phase, overturned.child_id, overturned.role) == (3, "review-1c1", "person")
    assert run.history("Backend") == [(1, 3, True), (1, 3, False)]
    assert (run.run.round, run.run.agents[0].current_phase, run.run.agents[0].completed) == (2, 3, False)
    assert run.request(RUN).prompt == "fix@1"
    content = {place: run.prompt_part(RUN, place) for place in run.request(RUN).context}
    assert content == {"task": "Backend's task", "issues": MEND, "synthesis": "Write the test."}
    assert run.request(RUN).access == "write"


def test_a_fix_is_reviewed_again() -> None:
    run = working()
    run.round(Backend=True)
    run.discussed("review-1c1", BROKEN)
    run.decides("review-1c1", "apply_fix")
    run.round(Backend=True)
    assert run.run.state == "reviewing"
    run.discussed("review-1c2", critique("PASS"))
    run.decides("review-1c2", "skip")
    assert (run.run.status, run.run.round) == ("done", 2)
    assert run.history("Backend") == [(1, 3, True), (1, 3, False), (2, 3, True)]
    assert run.run.fixes == {}


def test_reviews_of_one_piece_of_work_are_bounded() -> None:
    """K-25: no endless loop. Once, and after each of three fixes."""
    run = working(rounds=20)
    for number in range(1, 5):
        run.round(Backend=True)
        run.discussed(f"review-1c{number}", BROKEN)
        run.decides(f"review-1c{number}", "apply_fix")
    run.round(Backend=True)
    assert (run.run.status, run.run.round) == ("done", 5)
    assert len(run.run.children) == 4


def test_the_bound_is_for_each_phase_of_the_work() -> None:
    """An agent with five phases is reviewed in each of them."""
    run = working(subtask("Backend", 1, 5), rounds=20)
    for number in range(1, 6):
        run.round(Backend=True)
        run.discussed(f"review-1c{number}", critique("PASS"))
        run.decides(f"review-1c{number}", "skip")
    assert (run.run.status, run.run.round) == ("done", 5)


def test_work_of_several_agents_is_reviewed_at_once_and_each_is_decided_for_itself() -> None:
    run = working(subtask("Backend"), subtask("Frontend"))
    run.round(Backend=True, Frontend=True)
    assert tuple(run.run.open_children) == ("review-1c1", "review-1c2")
    run.discussed("review-1c2", BROKEN)
    run.decides("review-1c2", "apply_fix")
    assert (run.run.state, run.run.round) == ("reviewing", 1), "the other review is still open"
    run.discussed("review-1c1", critique("PASS"))
    run.decides("review-1c1", "skip")
    assert (run.run.round, run.asked) == (2, ["Frontend"])
    assert [agent.completed for agent in run.run.agents] == [True, False]


def test_all_done_does_not_count_while_fixes_are_open() -> None:
    """K-14: allDone after a person's FAIL."""
    run = working(subtask("Backend", 3, 5))
    run.round(Backend=True, all_done=True, words="All is well.")
    run.discussed("review-1c1", BROKEN)
    run.decides("review-1c1", "apply_fix")
    assert (run.run.status, run.run.round, run.request(RUN).prompt) == ("active", 2, "fix@1")
    run.round(Backend=True, all_done=True, words="Now all is well.")
    run.discussed("review-1c2", critique("PASS"))
    run.decides("review-1c2", "skip")
    assert run.run.status == "done"
    assert run.run.summary is not None and run.run.summary.head == "Now all is well."


def test_all_done_counts_if_the_review_is_skipped() -> None:
    run = working(subtask("Backend", 3, 5))
    run.round(Backend=True, all_done=True, words="All is well.")
    run.discussed("review-1c1", BROKEN)
    run.decides("review-1c1", "skip")
    assert (run.run.status, run.run.round) == ("done", 1)


def test_a_checkpoint_comes_after_the_review() -> None:
    run = working(subtask("Backend", checkpoint=True))
    run.round(Backend=True)
    assert run.run.status == "active"
    run.discussed("review-1c1", critique("PASS"))
    run.decides("review-1c1", "skip")
    assert run.run.status == "checkpoint"


def test_a_run_that_is_out_of_rounds_keeps_the_fix_for_its_continuation() -> None:
    run = working(rounds=1)
    run.round(Backend=True)
    run.discussed("review-1c1", BROKEN, synthesis="Write the test.")
    run.decides("review-1c1", "apply_fix")
    assert (run.run.status, run.run.partial_reason) == ("partial", "rounds")
    run.when(RUN, ContinueOrchestration())
    assert (run.run.round, run.request(RUN).prompt, run.prompt_part(RUN, "issues")) == (2, "fix@1", MEND)


@pytest.mark.parametrize("how", ["the agent fails", "the judge says no", "the judge cannot be read"])
def test_a_fix_is_requested_until_a_verdict_passes_it(how: str) -> None:
    run = working(rounds=9)
    run.round(Backend=True)
    run.discussed("review-1c1", BROKEN)
    run.decides("review-1c1", "apply_fix")
    if how == "the agent fails":
        run.answers(RUN, "", failure={"code": "crash", "detail": "gone"})
        run.answers(RUN, verdicts(Backend=False))
    elif how == "the judge says no":
        run.round(Backend=False)
    else:
        run.answers(RUN, "Mended.")
        run.answers(RUN, "?")
        run.answers(RUN, "?")
    assert (run.run.round, run.request(RUN).prompt) == (3, "fix@1")
    added = "" if how == "the judge cannot be read" else "\n\nBackend: False"
    assert run.prompt_part(RUN, "issues") == MEND + added
    run.round(Backend=True)
    assert run.run.fixes == {}


def test_failed_or_unjudged_work_is_not_reviewed() -> None:
    run = working()
    run.round(Backend=False)
    assert (run.run.round, run.run.children) == (2, ())
    run.answers(RUN, "Done.")
    run.answers(RUN, "?")
    run.answers(RUN, "?")
    assert (run.run.round, run.run.children) == (3, ())


def test_a_reviewer_that_fails_does_not_let_the_work_count() -> None:
    """K-32."""
    run = working()
    run.round(Backend=True)
    run.answers("review-1c1", "", failure={"code": "crash", "detail": "gone"})
    assert (run.run.state, run.talk("review-1c1").status) == ("reviewing", "waiting_for_decision")
    run.decides("review-1c1", "apply_fix")
    assert run.prompt_part(RUN, "issues") == "[Review NEEDS_FIX] The review broke off: reviewer: crash: gone"


def test_a_review_sees_the_workspace_after_the_work() -> None:
    """Each review in a folder of its own, which is none of the agents'."""
    run = working(subtask("Backend"), subtask("Frontend"), workspace="/srv/project")
    run.answers(RUN, "Done.", agent="Backend", tree="t1", base=None)
    run.answers(RUN, "Done.", agent="Frontend", tree="t2", base="t1")
    run.answers(RUN, verdicts(Backend=True, Frontend=True))
    talks = [run.talk(child) for child in run.run.children]
    assert [(talk.home, talk.tree, talk.workspace) for talk in talks] == [(RUN, "t2", "/srv/project")] * 2
    assert [run.request(child).lane for child in run.run.children] == [1_001, 1_002]


# ------------------------------------------------------------------------------------------------- how a parent ends


@pytest.mark.parametrize("waits", [False, True])
def test_a_reset_closes_the_debate_as_accepted_and_takes_no_further_step(waits: bool) -> None:
    """K-33, S2 phase 3: pending decisions are resolved as accept, and the run ends all the same."""
    run = planned(plan_review=wish("debate"))
    if waits:
        run.discussed(DEBATE)
    run.when(RUN, ResetOrchestration(reason="enough"))
    assert (run.run.status, run.run.round, run.run.open_children, run.run.outstanding) == ("reset", 0, {}, {})
    debate = run.talk(DEBATE)
    assert (debate.status, debate.outstanding) == ("cancelled", {})
    assert debate.decision is not None
    assert (debate.decision.choice, debate.decision.actor) == ("accept", "policy")
    closed = run.events(RUN)[-1].model_dump()
    assert (closed["choice"], closed["by"]) == ("accept", "cancelled")


def test_a_reset_closes_every_review_as_skipped() -> None:
    run = working(subtask("Backend"), subtask("Frontend"))
    run.round(Backend=True, Frontend=True)
    run.discussed("review-1c1", BROKEN)
    run.when(RUN, ResetOrchestration())
    assert [run.talk(child).status for child in run.run.children] == ["cancelled", "cancelled"]
    decisions = [run.talk(child).decision for child in run.run.children]
    assert [decision and decision.choice for decision in decisions] == ["skip", "skip"]
    assert (run.run.status, run.run.round, run.run.open_children) == ("reset", 1, {})


def test_a_reset_run_accepts_no_decision() -> None:
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE)
    run.when(RUN, ResetOrchestration())
    before = dict(run.sessions)
    for choice in ("accept", "revise"):
        with pytest.raises(Exception, match="A debate in the state cancelled does not wait for a decision"):
            run.decides(DEBATE, choice)
    assert run.sessions == before


def test_a_child_that_the_parent_did_not_request_changes_nothing() -> None:
    run = planned(plan_review=wish("debate"))
    run.discussed(DEBATE)
    run.decides(DEBATE, "accept")
    version = run.run.version
    late = CloseChild(child_id=DEBATE, choice="revise", by="person", synthesis=Text(), feedback={}, rounds=2)
    run.when(RUN, late)
    assert run.run.version == version


def test_a_cancelled_debate_counts_as_accept() -> None:
    """Behaviour §2.7; no person is named as having chosen it."""
    run = planned(plan_review=wish("debate"))
    run.when(DEBATE, CancelDiscussion(reason="enough"))
    assert (run.talk(DEBATE).status, run.run.state) == ("cancelled", "working")
    closed = [event.model_dump() for event in run.events(RUN) if event.TOPIC == "session.child_closed"]
    assert [(event["choice"], event["by"]) for event in closed] == [("accept", "cancelled")]


def test_a_cancelled_review_counts_as_skip() -> None:
    run = working()
    run.round(Backend=True)
    run.when("review-1c1", CancelDiscussion())
    assert run.run.status == "done"


def test_a_decision_may_expire_within_a_run() -> None:
    run = working(work_review=wish("review", expires_ms=60_000, expires_as="apply_fix"))
    run.round(Backend=True)
    run.discussed("review-1c1", BROKEN)
    [wait] = run.talk("review-1c1").outstanding.values()
    run.when("review-1c1", ExpireTurn(turn_id=wait.turn_id), after=60_001)
    assert run.request(RUN).prompt == "fix@1"
    closed = [event.model_dump() for event in run.events(RUN) if event.TOPIC == "session.child_closed"]
    assert [(event["choice"], event["by"]) for event in closed] == [("apply_fix", "policy")]


# ------------------------------------------------------------------------------------------------------ deliveries


class Shipment(Family):
    """A delivery whose approved work is reviewed in one round of critique."""

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        command = start(**({"review": wish("review")} | fields))
        assert isinstance(command, StartDelivery)
        self.when(DELIVERY, command, starts=True)
        for words in ("plan", "architecture", "design"):
            self.answers(DELIVERY, words)

    @property
    def delivery(self) -> Delivery:
        result = self.sessions[DELIVERY]
        assert isinstance(result, Delivery)
        return result

    def approved(self, said: str = "I wrote it.", *, patch: str = "+ a line", **fields: Any) -> "Shipment":
        """One iteration that its own reviewer approves."""
        text = Text.of(patch)[0] if patch else None
        self.answers(DELIVERY, said, patch=text, **fields)
        [turn] = self.delivery.outstanding.values()
        report = Text.of('{"runs": []}')[0]
        passed = RecordValidation(turn_id=turn.turn_id, attempt=1, passed=True, summary="2 passed", report=report)
        self.when(DELIVERY, passed)
        self.answers(DELIVERY, review())
        return self


def test_approved_work_is_held_for_a_review() -> None:
    ship = Shipment(title="Login").approved(tree="t1", base=None)
    assert (ship.delivery.state, ship.delivery.status, ship.delivery.outstanding) == ("under_review", "running", {})
    assert ship.delivery.children == ("review-1c1",)
    talk = ship.talk("review-1c1")
    assert (talk.parent, talk.home, talk.tree, talk.title) == (DELIVERY, DELIVERY, "t1", "Iteration 1: Login")
    assert talk.subject.head == (
        "Step:\niteration 1 of the implementation\n\nAction:\nAdd a login page\n\nResult:\nI wrote it."
        "\n\nValidation:\n2 passed\n\nChanges in this iteration:\n+ a line"
    )


def test_a_skipped_review_releases_the_delivery() -> None:
    ship = Shipment().approved()
    ship.discussed("review-1c1", BROKEN)
    ship.decides("review-1c1", "skip")
    assert (ship.delivery.status, ship.delivery.iteration) == ("success", 1)


def test_a_fix_is_the_next_iteration_with_what_was_found() -> None:
    ship = Shipment().approved()
    ship.discussed("review-1c1", BROKEN, synthesis="Write the test.")
    ship.decides("review-1c1", "apply_fix")
    assert (ship.delivery.state, ship.delivery.iteration) == ("implementation", 2)
    assert ship.prompt_part(DELIVERY, "feedback") == f"{MEND}\n\n[Synthesis]: Write the test."
    ship.approved()
    assert ship.delivery.children == ("review-1c1", "review-1c2")
    ship.discussed("review-1c2", critique("PASS"))
    ship.decides("review-1c2", "skip")
    assert ship.delivery.status == "success"


def test_a_fix_needs_an_iteration_that_is_left() -> None:
    ship = Shipment(iterations=1).approved()
    ship.discussed("review-1c1", BROKEN)
    ship.decides("review-1c1", "apply_fix")
    assert (ship.delivery.status, ship.delivery.exhausted_by) == ("failed", "iterations")
    ship.when(DELIVERY, ExtendBudget(add_iterations=1, reason="worth it"))
    assert (ship.delivery.state, ship.delivery.iteration) == ("implementation", 2)
    assert ship.prompt_part(DELIVERY, "feedback").startswith("[Review NEEDS_FIX]")


MINUTE = 60_000


@pytest.mark.parametrize(
    ("talked", "waited", "outcome"),
    [(0, 600, "implementation"), (9, 600, "implementation"), (11, 0, "exhausted"), (11, 600, "exhausted")],
)
def test_minutes_of_waiting_for_a_person_do_not_count_but_those_of_reviewers_do(
    talked: int, waited: int, outcome: str
) -> None:
    """S4 §7.1 with a person in the loop: of ten minutes, talk uses some, waiting none."""
    ship = Shipment(minutes=10).approved()
    ship.answers("review-1c1", BROKEN, after=talked * MINUTE)
    ship.answers("review-1c1", "Mend it.")
    ship.decides("review-1c1", "apply_fix", after=waited * MINUTE)
    assert ship.delivery.state == outcome
    assert ship.delivery.snapshot(ship.at).elapsed_ms == talked * MINUTE
    assert ship.delivery.budget.paused == waited * MINUTE


def test_what_a_review_costs_is_part_of_the_delivery() -> None:
    ship = Shipment(tokens=100).approved()
    ship.answers("review-1c1", BROKEN, usage=Usage(input_tokens=90, output_tokens=9))
    ship.answers("review-1c1", "Mend it.", usage=Usage(input_tokens=1, cost_micros=7))
    ship.decides("review-1c1", "apply_fix")
    assert (ship.delivery.state, ship.delivery.exhausted_by) == ("exhausted", "tokens")
    assert (ship.delivery.spent.tokens, ship.delivery.spent.cost_micros) == (100, 7)


def test_finished_work_is_handed_over_even_without_minutes_left() -> None:
    ship = Shipment(minutes=10).approved()
    ship.answers("review-1c1", BROKEN, after=60 * MINUTE)
    ship.answers("review-1c1", "Mend it.")
    ship.decides("review-1c1", "skip")
    assert ship.delivery.status == "success"


@pytest.mark.parametrize("waits", [False, True])
def test_a_cancelled_delivery_closes_its_review_as_skipped(waits: bool) -> None:
    """K-33."""
    ship = Shipment().approved()
    if waits:
        ship.discussed("review-1c1", BROKEN)
    ship.when(DELIVERY, CancelDelivery(reason="enough"))
    talk = ship.talk("review-1c1")
    assert (ship.delivery.status, ship.delivery.open_children, ship.delivery.outstanding) == ("cancelled", {}, {})
    assert (talk.status, talk.decision is not None and talk.decision.choice) == ("cancelled", "skip")


def test_a_cancelled_review_releases_the_delivery() -> None:
    ship = Shipment().approved()
    ship.when("review-1c1", CancelDiscussion())
    assert ship.delivery.status == "success"


def test_the_budget_of_a_held_delivery_can_be_extended() -> None:
    ship = Shipment(iterations=1).approved()
    ship.when(DELIVERY, ExtendBudget(add_iterations=1, reason="worth it"))
    assert ship.delivery.state == "under_review"
    ship.discussed("review-1c1", BROKEN)
    ship.decides("review-1c1", "apply_fix")
    assert (ship.delivery.state, ship.delivery.iteration) == ("implementation", 2)


# ---------------------------------------------------------------------------------------------------- words and names

FEEDBACK: list[tuple[dict[str, Any], str, str]] = [
    ({}, "", "[Review NEEDS_FIX]"),
    ({"summary": "Bad.", "issues": []}, "", "[Review NEEDS_FIX] Bad."),
    (
        {"summary": "Bad.", "issues": [issue("A", "critical", "B"), issue("C", "minor")]},
        "Do B.",
        "[Review NEEDS_FIX] Bad.\n- **[critical]** A → B\n- **[minor]** C\n\n[Synthesis]: Do B.",
    ),
]


@pytest.mark.parametrize(("feedback", "synthesis", "told"), FEEDBACK)
def test_the_prompt_of_a_fix_has_the_text_of_the_seed(feedback: dict[str, Any], synthesis: str, told: str) -> None:
    """Behaviour §2.4."""
    assert fix_feedback(feedback, Text.of(synthesis)[0]) == told
    assert fix_issues(feedback) == told.partition("\n\n[Synthesis]")[0]


@pytest.mark.parametrize(
    ("parent", "kind", "number", "name"),
    [("orchestration-7f3k", "review", 2, "review-7f3kc2"), ("delivery-abc", "review", 1, "review-abcc1")],
)
def test_a_child_is_called_after_its_parent(parent: str, kind: str, number: int, name: str) -> None:
    assert child_id(parent, kind, number) == name


def off() -> Sequence[str]:
    run = Run()
    run.answers(RUN, plan(subtask("Backend", 3, 4)))
    run.round(Backend=True)
    run.round(Backend=True)
    return topics(run.events(RUN))


def test_without_the_feature_nothing_is_different() -> None:
    """S2, verification: toggle off = as before."""
    assert off() == [
        *("orchestration.session_started", "session.agent_sessions_cleared", "turn.requested"),
        *("turn.answered", "orchestration.plan_made"),
        *("orchestration.round_start", "turn.requested", "turn.answered", "orchestration.work_reported"),
        *("orchestration.judging_started", "turn.requested", "turn.answered", "orchestration.verdict_given"),
        "orchestration.round_done",
        *("orchestration.round_start", "turn.requested", "turn.answered", "orchestration.work_reported"),
        *("orchestration.judging_started", "turn.requested", "turn.answered", "orchestration.verdict_given"),
        *("orchestration.round_done", "orchestration.completed", "session.agent_sessions_cleared"),
        "orchestration.orchestrate_done",
    ]
