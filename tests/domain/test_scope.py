"""Scope: changes outside of what a repository allows are recorded, asked about, or refused (contract-2 §8, §12)."""

from typing import Any

import pytest

from domain.checks.test_files import changed_tests
from domain.delivery.commands import CancelDelivery, DecideScope
from domain.delivery.events import ScopeDecided, ScopeRequested
from domain.kinds import allowed_actions
from domain.orchestration.events import VerdictRefused
from domain.orchestration.judgement import OUTSIDE
from domain.replay import first_difference
from domain.session.forks import ForkSession
from domain.session.team_decisions import DecisionPolicy
from domain.session.workspace import ChangedFile, PathScope, WorkspaceChanges, touched
from domain.values.base import Forbidden
from projections.record.session import view
from tests.domain.test_replay import recorded
from tests.kit.replies import subtask, verdicts
from tests.kit.stories import MINUTE, DeliveryStory, OrchestrationStory, topics

SRC = ("src/**",)


def changes(*paths: str) -> dict[str, Any]:
    """The developer's answer, with everything that differs from the base by now."""
    files = tuple(ChangedFile(path=path, status="modified") for path in paths)
    return {"changes": WorkspaceChanges(head="b" * 40, files=files), "files": paths}


def story(outside: str, **fields: Any) -> DeliveryStory:
    """A delivery whose developer is asked, in a repository that allows `src`."""
    scope = PathScope.model_validate({"allow": SRC, "outside": outside})
    return DeliveryStory(scope=scope, **fields).designed()


def test_inside_the_scope_nothing_happens() -> None:
    for outside in ("record", "ask", "fail"):
        run = story(outside)
        assert topics(run.answer("done", **changes("src/a.py")))[-3:] == [
            "delivery.phase_completed",
            "delivery.phase_started",
            "turn.requested",
        ]


def test_record_goes_on() -> None:
    run = story("record")
    run.answer("done", **changes("src/a.py", "deploy/prod.yaml"))
    assert run.delivery.state == "validation"


def test_fail_sends_back_and_names_the_paths() -> None:
    run = story("fail")
    events = topics(run.answer("done", **changes("src/a.py", "deploy/prod.yaml")))
    assert events[2:] == [
        "delivery.scope_exceeded",
        "delivery.attempt_started",
        "delivery.phase_started",
        "turn.requested",
    ]
    assert run.delivery.iteration == 2
    assert "- deploy/prod.yaml" in run.prompt_part("feedback") and "src/a.py" not in run.prompt_part("feedback")
    run.answer("undone", **changes("src/a.py"))
    assert run.delivery.state == "validation"


def test_a_moved_file_counts_at_both_places() -> None:
    moved = ChangedFile(path="src/prod.yaml", status="renamed", renamed_from="deploy/prod.yaml")
    assert touched(WorkspaceChanges(head="b" * 40, files=(moved,))) == ("src/prod.yaml", "deploy/prod.yaml")


def test_files_that_are_not_listed_count_too() -> None:
    run = story("fail")
    many = WorkspaceChanges(head="b" * 40, files=(ChangedFile(path="src/a.py", status="added"),), more_files=7)
    run.answer("done", changes=many, files=("src/a.py", "zoo/z.py"))
    assert "- zoo/z.py" in run.prompt_part("feedback")


def test_ask_waits_for_a_person_and_costs_no_time() -> None:
    run = story("ask", minutes=10)
    events = run.answer("done", **changes("deploy/prod.yaml"))
    assert topics(events)[-1] == "delivery.scope_requested"
    assert isinstance(request := events[-1], ScopeRequested)
    assert (request.request_id, request.paths) == ("delivery-1.s1", ("deploy/prod.yaml",))
    delivery = run.delivery
    assert (delivery.state, delivery.status, delivery.phase) == ("awaiting_scope", "running", "implementation")
    assert allowed_actions(delivery)[0] == "scope"
    shown = view(delivery).wire()
    assert shown["scopeRequest"]["requestId"] == "delivery-1.s1" and shown["scopeRequest"]["paths"] == [
        "deploy/prod.yaml"
    ]
    before = delivery.budget.deadline_at
    run.when(DecideScope(request_id="delivery-1.s1", decision="allow", actor="person:ann"), after=60 * MINUTE)
    assert run.delivery.state == "validation"
    assert run.delivery.budget.deadline_at == before + 60 * MINUTE
    assert run.delivery.snapshot(run.at).elapsed_ms == 0
    decided = next(event for event in run.events if isinstance(event, ScopeDecided))
    assert (decided.by, decided.decision, decided.paths) == ("person:ann", "allow", ("deploy/prod.yaml",))


def test_what_was_allowed_is_not_asked_again() -> None:
    run = story("ask")
    run.answer("done", **changes("deploy/a", "src/a.py"))
    run.when(DecideScope(request_id="delivery-1.s1", decision="allow"))
    run.breaks()
    run.answer("again", **changes("deploy/a"))
    assert run.delivery.state == "validation"
    run.breaks()
    run.answer("more", **changes("deploy/a", "deploy/b"))
    assert run.delivery.scope_request is not None
    assert (run.delivery.scope_request.request_id, run.delivery.scope_request.paths) == (
        "delivery-1.s2",
        ("deploy/b",),
    )


def test_a_denial_is_a_failed_iteration() -> None:
    run = story("ask")
    run.answer("done", **changes("deploy/a"))
    events = run.when(DecideScope(request_id="delivery-1.s1", decision="deny"))
    assert topics(events)[:3] == [
        "delivery.scope_decided",
        "delivery.scope_exceeded",
        "delivery.attempt_started",
    ]
    assert "- deploy/a" in run.prompt_part("feedback")


def test_a_denial_in_the_last_iteration_exhausts_the_budget() -> None:
    run = story("ask", iterations=1)
    run.answer("done", **changes("deploy/a"))
    run.when(DecideScope(request_id="delivery-1.s1", decision="deny"))
    assert (run.delivery.state, run.delivery.final_summary) == ("exhausted", "failed_budget_exhausted")


def test_the_same_paths_mean_no_progress() -> None:
    run = story("fail", no_progress_limit=1, workspace="/shop", repository=True)
    patch = run.reply("x").reply
    run.answer("done", patch=patch, **changes("deploy/a"))
    assert run.delivery.state == "implementation"
    run.answer("done", patch=patch, **changes("deploy/a"))
    assert (run.delivery.state, run.delivery.code) == ("exhausted", "no_progress")


@pytest.mark.parametrize("request_id", ["delivery-1.s2", "x"])
def test_only_the_open_request_is_answered(request_id: str) -> None:
    run = story("ask")
    command = DecideScope(request_id=request_id, decision="allow")
    assert "has no changes outside its scope" in str(run.refused(command))
    run.answer("done", **changes("deploy/a"))
    assert "is not open" in str(run.refused(command))


def test_only_who_may_decide_here_allows_changes_outside_the_scope() -> None:
    run = story("ask", decisions=DecisionPolicy(who=("ann",)))
    run.answer("done", **changes("src/a.py", "deploy/prod.yaml"))
    assert run.delivery.scope_request is not None
    command = DecideScope(request_id=run.delivery.scope_request.request_id, decision="allow", actor="person:bob")
    with pytest.raises(Forbidden, match="ann"):
        run.when(command)
    assert topics(run.when(command.model_copy(update={"actor": "person:ann"})))[0] == "delivery.scope_decided"


def test_a_fork_of_a_delivery_that_waits_waits_as_long_as_if_it_had_just_asked() -> None:
    run = story("ask")
    run.answer("done", **changes("src/a.py", "deploy/prod.yaml"))
    used = run.delivery.snapshot(run.at).elapsed_ms
    run.when(ForkSession(source="delivery-0", at_version=run.delivery.version), after=50 * MINUTE)
    assert run.delivery.snapshot(run.at + MINUTE).elapsed_ms == used
    assert run.delivery.scope_request is not None
    assert run.delivery.scope_request.at == run.at


def test_a_delivery_that_waits_can_be_cancelled() -> None:
    run = story("ask")
    run.answer("done", **changes("deploy/a"))
    run.when(CancelDelivery())
    assert run.delivery.status == "cancelled"


def test_the_history_decides_the_same_again() -> None:
    scope = PathScope(allow=SRC, outside="ask")
    run = DeliveryStory(scope=scope)
    for words in ("the plan", "the architecture", "the design"):
        run.answer(words, after=1)
    run.answer("done", after=1, **changes("deploy/a"))
    run.when(DecideScope(request_id="delivery-1.s1", decision="deny", actor="person:ann"), after=MINUTE)
    run.answer("undone", after=1, **changes("src/a.py"))
    run.passes(after=1)
    assert first_difference(recorded(run), run.whole) is None


def test_the_reviewer_reads_of_tests_that_changed_with_the_code() -> None:
    run = story("record")
    run.answer("done", **changes("src/a.py", "tests/test_a.py"))
    run.passes()
    assert "- tests/test_a.py" in run.prompt_part("validation")
    other = story("record")
    other.answer("done", **changes("tests/test_a.py"))
    other.passes()
    assert "tests/test_a.py" not in other.prompt_part("validation")


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "pkg/test_a.py",
        "a_test.go",
        "src/a.spec.ts",
        "src/a.test.jsx",
        "src/__tests__/a.js",
        "AppTest.java",
    ],
)
def test_what_a_test_looks_like(path: str) -> None:
    assert changed_tests([path, "src/a.py"]) == (path,)
    assert changed_tests([path, "docs/a.md"]) == ()


@pytest.mark.parametrize("path", ["src/contest.py", "src/testing.py", "latest.go", "src/attest/a.py"])
def test_what_no_test_looks_like(path: str) -> None:
    assert changed_tests([path, "src/a.py"]) == ()


def test_planned_files_count_as_named() -> None:
    run = DeliveryStory(file_paths=())
    run.answer('The plan. {"goals": ["g"], "files": ["src/a.py"]}')
    assert run.delivery.planned == ("src/a.py",)


# -- orchestrations ----------------------------------------------------------------------------------------------------


def run_of(outside: str, **fields: Any) -> OrchestrationStory:
    scope = PathScope.model_validate({"allow": SRC, "outside": outside})
    return OrchestrationStory(scope=scope, **fields)


def planned(outside: str) -> OrchestrationStory:
    return run_of(outside).planned(subtask("Backend", end_phase=3), subtask("Docs", end_phase=3))


def test_no_verdict_passes_refused_changes_until_they_are_undone() -> None:
    """The other agent, which wrote nothing outside, passes."""
    run = planned("fail")
    run.works("Backend", **changes("src/a.py", "deploy/prod.yaml"))
    run.works("Docs", **changes("src/a.py", "deploy/prod.yaml") | {"files": ("src/b.md",)})
    events = run.answer(verdicts(all_done=True, Backend=True, Docs=True))
    [refused] = [event for event in events if isinstance(event, VerdictRefused)]
    assert (refused.agent, refused.reason) == ("Backend", OUTSIDE)
    assert [(name, run.judged(name)[-1][2]) for name in ("Backend", "Docs")] == [("Backend", False), ("Docs", True)]
    feedback = run.requested("Backend").context["feedback"].head
    assert "- deploy/prod.yaml" in feedback and "src/a.py" not in feedback
    run.works("Backend", **changes("src/a.py"))
    run.answer(verdicts(all_done=True, Backend=True))
    assert run.run.status == "done"


def test_a_run_asks_before_it_is_done_and_continuing_allows_the_paths() -> None:
    run = planned("ask")
    run.works("Backend", **changes("src/a.py", "deploy/prod.yaml"))
    run.works("Docs")
    run.answer(verdicts(all_done=True, Backend=True, Docs=True))
    assert run.run.status == "checkpoint" and run.run.summary is not None
    assert "- deploy/prod.yaml" in run.run.summary.head and "src/a.py" not in run.run.summary.head
    run.resumes()
    assert run.run.status == "done"


def test_what_a_person_allowed_is_not_asked_again() -> None:
    run = run_of("ask").planned(subtask("Backend", checkpoint=True))
    run.works("Backend", **changes("deploy/prod.yaml"))
    run.answer(verdicts(Backend=True))
    assert run.run.status == "checkpoint"
    run.resumes()
    run.round(all_done=True, Backend=True)
    assert (run.run.status, run.run.outside) == ("done", ())


def test_a_direct_answer_asks_too() -> None:
    run = run_of("ask", triage="direct")
    run.answer("Deployed.", **changes("deploy/prod.yaml"))
    assert run.run.status == "checkpoint"
    run.resumes()
    assert run.run.status == "done" and run.run.summary is not None
    assert run.run.summary.head.startswith("Deployed.")


def test_a_direct_answer_with_refused_changes_stops_and_is_asked_again() -> None:
    run = run_of("fail", triage="direct")
    run.answer("Deployed.", **changes("deploy/prod.yaml"))
    assert (run.run.status, run.run.partial_reason) == ("partial", "outside_scope")
    run.resumes()
    assert "- deploy/prod.yaml" in run.requested("assistant").context["task"].head
    run.answer("Undone.", changes=WorkspaceChanges(head="c" * 40, files=()), files=("deploy/prod.yaml",))
    assert run.run.status == "done"


@pytest.mark.parametrize("outside", ["record", "ask", "fail"])
def test_a_run_inside_the_scope_is_done(outside: str) -> None:
    run = planned(outside)
    run.works("Backend", **changes("src/a.py", *(["deploy/prod.yaml"] if outside == "record" else [])))
    run.works("Docs")
    run.answer(verdicts(all_done=True, Backend=True, Docs=True))
    assert run.run.status == "done"
