"""Scenes of the golden logs: the fields and reasons that are rare."""

import json
from collections.abc import Callable
from typing import Any

from domain.convergence.profiles import named
from domain.delivery.commands import ExtendBudget, RecordBaseline, RecordValidation
from domain.delivery.validation import Baseline, BaselineCommand, Escape
from domain.discussion.commands import CancelDiscussion
from domain.orchestration.commands import ContinueOrchestration, ResetOrchestration
from domain.session.activity import ActivitySummary
from domain.session.attempts import Failure, FailureCode, RetryPolicy
from domain.session.children import Decide
from domain.session.forks import ForkSession
from domain.session.landing import LandSession, RecordLanding
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import RecordPackage, RecordReply, TurnRequested
from domain.session.workspace import PathScope
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from domain.values.sentences import Sentence
from tests.golden.happenings import BASE, DESIGN, HEAD, PREPARED, SHOP, changes, said
from tests.golden.scenes import decided, validated
from tests.projections.given import APPROVING
from tests.projections.stage import DEBATE, REVIEW, Stage, critique, plan, subtask, verdicts

PROBLEM = Sentence("too_busy")


def everything(stage: Stage) -> None:
    """A delivery that was started with all settings, and says all that it can say."""
    name = "delivery-everything"
    given: dict[str, Any] = {
        "file_paths": ("src/a.py",),
        "max_attempts": 9,
        "origin": "chat",
        "crew": {"planner": "Ada"},
    }
    given |= {"scenario": Text.of("[]")[0], "fixes": "delivery-before", "repository": True, "workspace": SHOP}
    given |= {"decisions": DecisionPolicy(approvers=2, who=("ann", "bob"), remind_ms=(60_000,)), "baseline": True}
    stage.delivers(name, limits=BudgetLimits(max_iterations=3, max_minutes=60, max_tokens=900), **given)
    red = BaselineCommand(stage="test", command="pytest", startable=True, exit_code=1, passed=False, seconds=1.5)
    red = red.model_copy(update={"reasons": ("FAILED a.py::test_old",)})
    first = {"turn_id": stage.turn(name).turn_id, "attempt": 1, "prepared": PREPARED}
    stage.do(name, RecordBaseline(baseline=Baseline(commands=(red,), env={"CI": "1"}), **first))
    stage.answers(name, 'One step. {"goals": ["a login"], "files": ["src/a.py"]}', model="claude-opus", fence="bwrap")
    said(stage, name, *DESIGN[1:])
    stage.answers(name, "Written.", tree=HEAD, agent_session="ann-1", **changes("src/a.py"))
    reasons = ("FAILED a.py::test_old", "FAILED a.py::test_new")
    failed: dict[str, Any] = {"passed": False, "classification": "test", "reasons": reasons, "sentence": PROBLEM}
    report, blobs = Text.of('{"runs": []}')
    failed |= {"summary": str(PROBLEM), "report": report, "blobs": blobs}
    stage.do(name, RecordValidation(turn_id=stage.turn(name).turn_id, attempt=1, **failed))
    stage.answers(name, "Fixed.", resumed=False, new_conversation="The old one is gone.")
    validated(stage, name)
    remark = {"id": "n1", "title": "A name", "detail": "It could be shorter."}
    stage.answers(name, json.dumps({"blockingIssues": [], "nonBlockingIssues": [remark], "score": 90, "fixPlan": []}))
    stage.do(name, RecordPackage(turn_id=stage.turn(name).turn_id, attempt=1, branch="hansard/all", commit=HEAD))
    stage.do(name, LandSession(onto="main", actor="person:ann"))
    back: dict[str, Any] = {"reason": "checkout", "detail": "It is checked out."}
    stage.do(name, RecordLanding(turn_id=stage.turn(name).turn_id, attempt=1, before=BASE, **back))


def halted(stage: Stage) -> None:
    """Attempts that fail after they have done something; a package for which there is no branch."""
    name = "delivery-halted"
    stage.delivers(name, retry=RetryPolicy(attempts=3, backoff_seconds=(1,)))
    place: dict[str, Any] = {"fence": "none", "fence_gaps": ("Everything can be read.",), "seconds": 2.0}
    codes: tuple[FailureCode, ...] = ("network", "refused")
    for code in codes:
        failure = Failure(code=code, detail="503", retry_after=1, sentence=PROBLEM)
        stage.answers(name, "So far.", failure=failure, model="claude-opus", activity=ActivitySummary(), **place)
    name = "delivery-unpackaged"
    stage.delivers(name, repository=True, workspace=SHOP).answers(name, "One step.", prepared=PREPARED)
    said(stage, name, *DESIGN[1:], "Written.")
    validated(stage, name)
    problem: dict[str, Any] = {"problem": str(PROBLEM), "sentence": PROBLEM}
    stage.answers(name, APPROVING)
    stage.do(name, RecordPackage(turn_id=stage.turn(name).turn_id, attempt=1, **problem))


def budgets(stage: Stage) -> None:
    """Budgets of tokens and of money that are used up, and extended; another folder that is tested instead."""
    for name, limits in (("tokens", {"max_tokens": 20}), ("cost", {"max_cost_micros": 5})):
        session = f"delivery-{name}"
        stage.delivers(session, limits=BudgetLimits.model_validate({"max_iterations": 2, **limits}))
        while stage.session(session).outstanding:
            stage.answers(session, "One step.")
    more: dict[str, int] = {"add_minutes": 5, "add_tokens": 900, "add_cost_micros": 900}
    stage.do("delivery-tokens", ExtendBudget(reason="more", **more)).answers("delivery-tokens", "One step.")
    stage.delivers("delivery-elsewhere", baseline=True)
    escape = Baseline(escapes=(Escape(what="Python package shop", path=SHOP),))
    turn = stage.turn("delivery-elsewhere").turn_id
    stage.do("delivery-elsewhere", RecordBaseline(turn_id=turn, attempt=1, baseline=escape))


def outside(stage: Stage) -> None:
    """Orchestrations that change what they may not: one asks, one stops. A result without a branch."""
    for name, rule in (("asking", "ask"), ("stopped", "fail")):
        session = f"orchestration-{name}"
        scope = PathScope.model_validate({"allow": ("src/**",), "outside": rule})
        stage.orchestrates(session, triage="direct", scope=scope, repository=True, workspace=SHOP)
        stage.answers(session, "Deployed.", prepared=PREPARED, tree=HEAD, **changes("deploy/prod.yaml"))
        turn = next(turn for turn in stage.session(session).outstanding.values() if turn.work == "package")
        words: dict[str, Any] = {"problem": str(PROBLEM), "sentence": PROBLEM}
        stage.do(session, RecordPackage(turn_id=turn.turn_id, attempt=1, commit=HEAD, **words))
        stage.do(session, ContinueOrchestration())


def breaking(stage: Stage) -> None:
    """Discussions of a parent that expire, are cancelled, or end with it. A long contribution."""
    reviewed = {"plan_review": DEBATE, "work_review": REVIEW}
    for name in ("cut", "reset"):
        session = f"orchestration-{name}"
        stage.orchestrates(session, **reviewed).answers(session, plan(subtask(), subtask("Ghost")))
        stage.answers(session, plan(subtask(start_phase=3, end_phase=3)))
    child = next(iter(stage.session("orchestration-cut").open_children))
    stage.answers(child, "I agree. " * 4_000).do(child, CancelDiscussion(reason="enough"))
    stage.do("orchestration-reset", ResetOrchestration(reason="enough"))
    stage.answers("orchestration-cut", "Done.").answers("orchestration-cut", verdicts(all_done=True, Backend=True))
    child = next(iter(stage.session("orchestration-cut").open_children))
    stage.answers(child, "x " * 10_000 + critique("PASS"))
    decided(stage, child, "skip")


def substitutes(stage: Stage) -> None:
    """Forks with something else: thresholds, an answer, a budget, a decision."""
    stage.discusses("review-source")
    stage.answers("review-source", critique("NEEDS_FIX", "No test"))
    asked = [each.version for each in stage.events() if isinstance(each.event, TurnRequested)]
    profile = {"source": "review-source", "at_version": asked[1], "substitute": {"profile": "seed"}}
    stage.do("review-profile", ForkSession(profile=named(), author="person:ann", **profile), starts=True)
    decided(stage, "review-source", "skip")
    waits = stage.session("review-source").version - 2
    choice = {"source": "review-source", "at_version": waits, "substitute": {"decision": "apply_fix"}}
    stage.do("review-decided", ForkSession(then=Decide(choice="apply_fix", actor="ann"), **choice), starts=True)
    stage.delivers("delivery-source")
    at = stage.session("delivery-source").version
    reply = RecordReply(turn_id="delivery-answered.t1", attempt=0, reply=Text.of("Another step.")[0])
    answer = {"source": "delivery-source", "at_version": at, "substitute": {"answer": {"text": "Another step."}}}
    stage.do("delivery-answered", ForkSession(then=reply, **answer), starts=True)
    extended = ExtendBudget(reason="substituted in a fork", add_iterations=1)
    budget = {"source": "delivery-source", "at_version": at, "substitute": {"budget": {"addIterations": 1}}}
    stage.do("delivery-budgeted", ForkSession(then=extended, **budget), starts=True)


def refusals(stage: Stage) -> None:
    """Messages that start nothing: there is nothing to reset, the run is busy, the same words came twice."""
    stage.says("orchestration-none", "리셋", "chat")
    run = "orchestration-paused"
    stage.says(run, "implement src/a.py and then test it", "chat")
    stage.says("orchestration-none", "이어서 해줘", "chat")
    for number in range(2):
        stage.says(f"orchestration-queued{number}", "implement src/b.py and then test it", "chat", "ann")
    stage.answers(run, plan(subtask(start_phase=3, end_phase=3, checkpoint=True)))
    stage.answers(run, "Done.").answers(run, verdicts(Backend=True))


SCENES: dict[str, Callable[[Stage], None]] = {
    scene.__name__: scene for scene in (everything, halted, budgets, outside, breaking, substitutes, refusals)
}
