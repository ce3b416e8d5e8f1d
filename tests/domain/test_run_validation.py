"""The validation of orchestrations and direct answers (contract-3 §17)."""

from typing import Any

import pytest

from domain.checks.weakening import Weakening
from domain.delivery.commands import RecordBaseline
from domain.delivery.validation import Baseline, BaselineCommand
from domain.orchestration.commands import ContinueOrchestration, RecordRound
from domain.orchestration.events import (
    CheckpointReached,
    Completed,
    JudgingStarted,
    PartialReached,
    RoundStart,
    RoundValidated,
    RunBaselineRecorded,
    TreeFailures,
    VerdictGiven,
)
from domain.replay import first_difference
from domain.session.attempts import Failure
from domain.session.summary import summary_of
from domain.session.turns import RecordPackage, RetryTurn, TurnCancelled, TurnRequested
from domain.session.validation import Flake, SetupCommand
from domain.session.workspace import ChangedFile, WorkspaceChanges, WorkspacePrepared
from projections.record.session import view
from tests.domain.test_replay import recorded
from tests.kit.replies import plan, subtask
from tests.kit.stories import TEST, OrchestrationStory

BASE = WorkspacePrepared(repository="/repository", base_branch="main", base_commit="c0")
BROKEN = "FAILED test_a.py::test_add"
GONE = Failure(code="workspace", detail="The disk is full.")
OTHER = "FAILED test_b.py::test_sub"


def ran(*reasons: str, startable: bool = True) -> BaselineCommand:
    return BaselineCommand(
        stage="test",
        command=TEST.command,
        startable=startable,
        exit_code=1 if reasons else 0,
        passed=not reasons,
        reasons=reasons,
    )


class Run(OrchestrationStory):
    """A run with a validation command; its turns are settled by their work."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(repository=True, workspace="/repository", steps=(TEST,), **fields)
        self.heads = 0

    def turn_of(self, work: str) -> str:
        [turn] = [turn for turn in self.run.outstanding.values() if turn.work == work]
        return turn.turn_id

    def asks_for(self, work: str) -> bool:
        return any(turn.work == work for turn in self.run.outstanding.values())

    def prepared(self, *reasons: str, **fields: Any) -> list[Any]:
        baseline = fields.pop("baseline", Baseline(commands=(ran(*reasons),)))
        command = RecordBaseline(turn_id=self.turn_of("prepare"), attempt=1, baseline=baseline, prepared=BASE, **fields)
        return self.when(command)

    def plans(self, *subtasks: dict[str, Any]) -> "Run":
        [planner] = [turn for turn in self.run.outstanding.values() if turn.work == "ask"]
        self.answer(plan(*(subtasks or (subtask("Backend"),))), turn_id=planner.turn_id)
        return self

    def changes(self, agent: str) -> None:
        self.heads += 1
        before, head = self.run.tree, f"c{self.heads}"
        files = (ChangedFile(path="a.py", status="modified", added=1, removed=1),)
        self.works(agent, base=before, tree=head, changes=WorkspaceChanges(head=head, files=files))

    def validates(self, *reasons: str, **fields: Any) -> list[Any]:
        command = RecordRound(
            turn_id=self.turn_of("validate"),
            attempt=1,
            passed=not reasons,
            reasons=reasons,
            summary="Validation failed." if reasons else "Validation passed.",
            **fields,
        )
        return self.when(command)

    def judges(self, **passed: bool) -> list[Any]:
        return self.round(all_done=all(passed.values()), **passed)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def begun(*subtasks: dict[str, Any], before: tuple[str, ...] = (), **fields: Any) -> Run:
    run = Run(**fields).plans(*subtasks)
    run.prepared(*before)
    return run


# -- the baseline ----------------------------------------------------------------------------------------------------


def test_the_baseline_runs_beside_the_plan_and_before_the_first_agent() -> None:
    run = Run()
    assert [turn.work for turn in run.run.outstanding.values()] == ["ask", "prepare"]
    run.plans()
    assert run.of(RoundStart) and not run.asks_for("ask")
    run.prepared()
    assert run.of(RunBaselineRecorded)[0].commands[0].passed and run.asked == ["Backend"]


def test_agents_begin_at_once_if_the_baseline_is_there_before_the_plan() -> None:
    run = Run()
    run.prepared()
    run.plans()
    assert run.asked == ["Backend"]


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize(
    ("baseline", "code"),
    [
        (Baseline(commands=(ran("no such program", startable=False),)), "validation_not_startable"),
        (Baseline(setup=(SetupCommand(command="make deps", exit_code=2, passed=False),)), "setup_failed"),
    ],
)
def test_a_baseline_that_proves_nothing_stops_the_run_until_it_is_retried(
    baseline: Baseline, code: str, planned: bool
) -> None:
    run = Run()
    if planned:
        run.plans()
    run.prepared(baseline=baseline)
    assert (run.run.status, run.run.reason) == ("partial", code)
    assert bool(run.of(TurnCancelled)) is not planned and not run.run.outstanding
    run.when(RetryTurn())
    assert run.asks_for("prepare") and run.asks_for("ask") is not planned
    run.prepared()
    if not planned:
        run.plans()
    assert run.asked == ["Backend"]


def test_an_answer_without_a_plan_calls_the_baseline_off() -> None:
    run = Run()
    run.answer('```json\n{"direct_answer": "42"}\n```', turn_id=run.turn_of("ask"))
    assert run.run.status == "done" and not run.run.outstanding


# -- rounds ----------------------------------------------------------------------------------------------------------


def test_a_round_is_validated_before_it_is_judged() -> None:
    run = begun()
    run.changes("Backend")
    assert run.asks_for("validate") and not run.of(JudgingStarted)
    run.validates()
    assert run.of(JudgingStarted)
    run.judges(Backend=True)
    assert run.run.status == "done" and run.run.validated is not None and run.run.validated.passed


def test_a_round_that_changed_no_file_needs_no_validation() -> None:
    run = begun()
    run.works("Backend")
    assert not run.asks_for("validate") and run.of(JudgingStarted)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_with_new_failures_a_pass_leads_to_another_round(checkpoint: bool) -> None:
    run = begun(subtask("Backend", checkpoint=checkpoint))
    run.changes("Backend")
    run.validates(BROKEN)
    run.judges(Backend=True)
    assert [event.passed for event in run.of(VerdictGiven)] == [False]
    assert not run.of(Completed) + run.of(CheckpointReached) and run.run.round == 2
    assert BROKEN in run.requested("Backend").context["feedback"].head
    run.changes("Backend")
    run.validates()
    run.judges(Backend=True)
    assert run.run.status == ("checkpoint" if checkpoint else "done")


def test_the_judge_reads_the_new_failures() -> None:
    run = begun()
    run.changes("Backend")
    run.validates(BROKEN)
    assert BROKEN in run.requested("judge").context["results"].head


def test_failures_that_were_there_before_stop_nobody() -> None:
    run = begun(before=(BROKEN,))
    run.changes("Backend")
    run.validates(BROKEN)
    run.judges(Backend=True)
    [validated] = run.of(RoundValidated)
    assert (validated.passed, validated.new_failures, run.run.status) == (False, (), "done")


def test_in_the_last_round_new_failures_end_partial_and_more_rounds_go_on() -> None:
    run = begun(max_rounds=1)
    run.changes("Backend")
    run.validates(BROKEN)
    run.judges(Backend=True)
    [reached] = run.of(PartialReached)
    assert reached.reason == run.run.reason == "validation_failed"
    assert summary_of(run.run).choices == ("continue", "reset", "extend")
    run.when(ContinueOrchestration())
    assert run.run.status == "active" and "Backend" in run.asked


def test_only_the_agent_whose_tree_shows_them_first_fails() -> None:
    run = begun(subtask("Backend"), subtask("Docs"))
    run.changes("Backend")
    run.changes("Docs")
    run.validates(BROKEN, OTHER, earlier=(TreeFailures(tree="c1", reasons=(OTHER,)),))
    [validated] = run.of(RoundValidated)
    assert [(each.agent, each.reasons) for each in validated.broken] == [("Backend", (OTHER,)), ("Docs", (BROKEN,))]
    run.judges(Backend=True, Docs=True)
    assert [event.passed for event in run.of(VerdictGiven)] == [False, False]


def test_the_others_keep_their_verdict() -> None:
    run = begun(subtask("Backend"), subtask("Docs"))
    run.changes("Backend")
    run.changes("Docs")
    run.validates(BROKEN, earlier=(TreeFailures(tree="c1", reasons=(BROKEN,)),))
    run.judges(Backend=True, Docs=True)
    assert {event.agent: event.passed for event in run.of(VerdictGiven)} == {"Backend": False, "Docs": True}
    run.works("Backend")
    run.judges(Backend=True)
    assert run.run.round == 3 and run.run.failures == (BROKEN,), "nothing was changed: it still fails"


def test_commands_that_cannot_run_stop_the_run_until_they_are_retried() -> None:
    run = begun()
    run.changes("Backend")
    turn_id = run.turn_of("validate")
    run.when(RecordRound(turn_id=turn_id, attempt=1, failure=Failure(code="validation_not_startable", detail="gone")))
    assert (run.run.status, run.run.reason) == ("partial", "validation_not_startable")
    run.when(RetryTurn())
    run.validates()
    assert run.of(JudgingStarted)


# -- direct answers --------------------------------------------------------------------------------------------------


def answered(*, changed: bool) -> Run:
    run = Run(triage="direct")
    files = (ChangedFile(path="a.py", status="modified", added=1, removed=1),)
    changes = WorkspaceChanges(head="c1", files=files) if changed else None
    run.answer("I did it.", prepared=BASE, tree="c1" if changed else None, changes=changes)
    return run


def test_an_answer_that_changed_nothing_is_the_answer() -> None:
    run = answered(changed=False)
    assert run.run.status == "done" and not run.of(TurnRequested)[1:]


def test_an_answer_that_changed_files_counts_once_they_are_validated() -> None:
    run = answered(changed=True)
    assert run.asks_for("validate") and run.run.status == "active"
    run.validates()
    [completed] = run.of(Completed)
    assert completed.summary.head == "I did it."


def test_an_answer_with_new_failures_ends_partial() -> None:
    run = answered(changed=True)
    run.validates(BROKEN, earlier=(TreeFailures(tree="c0", reasons=(OTHER,)),))
    assert (run.run.status, run.run.reason) == ("partial", "validation_failed")
    assert summary_of(run.run).choices == ("continue", "reset")  # it has no rounds
    assert BROKEN in (run.run.summary.head if run.run.summary else "")


def test_an_answer_whose_failures_were_there_before_is_the_answer() -> None:
    run = answered(changed=True)
    run.validates(BROKEN, earlier=(TreeFailures(tree="c0", reasons=(BROKEN,)),))
    assert run.run.status == "done"


# -- what proves less than before --------------------------------------------------------------------------------------

FEWER = Weakening(what="assertions", path="test_a.py", before=3, after=1)


def test_the_judge_reads_first_what_makes_the_validation_weaker() -> None:
    run = begun()
    run.changes("Backend")
    flake = Flake(stage="test", command=TEST.command, runs=2, failed=1)
    run.validates(weakened=(FEWER,), flaky=(flake,))
    assert run.run.weakened == (FEWER,)
    *_, judge = run.of(TurnRequested)
    results = judge.context["results"].head
    places = [results.index(words) for words in ("is flaky", "proves less than before", "Validation of the work")]
    assert places == sorted(places)
    seen = view(run.run).wire()
    assert [each["what"] for each in seen["report"]["weakened"]] == ["assertions"]
    assert [each["command"] for each in seen["report"]["flaky"]] == [TEST.command]


def test_a_later_change_makes_the_last_validation_say_nothing() -> None:
    run = begun(max_rounds=3)
    run.changes("Backend")
    run.validates(weakened=(FEWER,))
    run.judges(Backend=False)
    run.changes("Backend")
    assert (run.run.weakened, run.run.validated) == ((), None)


def test_a_pass_without_any_test_counts_for_nothing() -> None:
    run = begun()
    run.changes("Backend")
    run.validates(no_tests=True)
    assert (run.run.validated, run.run.proves_nothing) == (None, "no_tests")
    assert view(run.run).wire()["result"]["why"] == "no_tests"


# -- the branch ------------------------------------------------------------------------------------------------------


def test_what_prepares_and_publishes_a_run_may_fail_and_is_decided_again() -> None:
    run = Run()
    run.pace = 1
    run.plans()
    run.when(RecordBaseline(turn_id=run.turn_of("prepare"), attempt=1, failure=GONE))
    assert first_difference(recorded(run), run.whole) is None
    run.when(RetryTurn())
    run.prepared()
    run.changes("Backend")
    run.validates()
    run.judges(Backend=True)
    run.when(RecordPackage(turn_id=run.turn_of("package"), attempt=1, failure=GONE))
    assert (run.run.status, run.run.published) == ("done", None)
    assert first_difference(recorded(run), run.whole) is None


def test_a_run_of_which_no_commit_was_made_has_no_branch() -> None:
    run = begun()
    run.changes("Backend")
    run.validates()
    run.judges(Backend=True)
    run.when(RecordPackage(turn_id=run.turn_of("package"), attempt=1))
    assert (run.run.status, run.run.branch, run.run.outstanding) == ("done", None, {})
