"""Scenes of the golden logs: what sessions of every kind usually do, and how they end."""

from collections.abc import Callable

from domain.delivery.commands import CancelDelivery, ExtendBudget, RecordValidation
from domain.discussion.commands import CancelDiscussion
from domain.orchestration.commands import AddRounds, ContinueOrchestration, ResetOrchestration
from domain.session.children import Choice, Decide
from domain.session.turns import ExpireTurn, RecordPackage
from domain.values.budget import BudgetLimits
from tests.projections.given import APPROVING, BLOCKING
from tests.projections.stage import DEBATE, REVIEW, Stage, challenge, critique, plan, subtask, verdicts


def delivery(stage: Stage) -> None:
    """One that is sent back once and then succeeds, one that fails, one that is cancelled."""
    stage.delivers("delivery-golden", title="Golden", labels=("golden",))
    for words in ("One step. " * 2_000, "One module.", "One function.", "Written."):
        stage.answers("delivery-golden", words)
    validated(stage, "delivery-golden", passed=False)
    stage.answers("delivery-golden", "Fixed.")
    validated(stage, "delivery-golden")
    stage.answers("delivery-golden", APPROVING)
    for turn in stage.session("delivery-golden").outstanding:
        stage.do("delivery-golden", RecordPackage(turn_id=turn, attempt=1, branch="hansard/golden", commit="c0ffee"))
    stage.delivers("delivery-failed").fails("delivery-failed")
    stage.delivers("delivery-cancelled").answers("delivery-cancelled", "A plan.")
    stage.do("delivery-cancelled", CancelDelivery(reason="enough"))


def validated(stage: Stage, name: str, *, passed: bool = True) -> None:
    """The validation ran."""
    kind, words = (None, "1 passed") if passed else ("test", "1 failed")
    outcome = {"passed": passed, "classification": kind, "summary": words, "seconds": 1.0}
    stage.do(name, RecordValidation.model_validate({"turn_id": stage.turn(name).turn_id, "attempt": 1, **outcome}))


def orchestration(stage: Stage) -> None:
    """A plan, a round that is judged, a checkpoint, and on to the end."""
    name = "orchestration-golden"
    stage.orchestrates(name).answers(name, plan(subtask(start_phase=3, end_phase=4, checkpoint=True)))
    for _ in range(20):
        session = stage.session(name)
        if session.outstanding:
            role = stage.turn(name).role
            stage.answers(name, verdicts(Backend=True) if role == "judge" else "Done.")
        elif session.state == "checkpoint":
            stage.do(name, ContinueOrchestration())


def review(stage: Stage) -> None:
    stage.discusses("review-golden")
    for words in (critique("NEEDS_FIX", "No test"), "I agree.", critique("PASS")):
        if stage.session("review-golden").outstanding:
            stage.answers("review-golden", words)
    decided(stage, "review-golden", "apply_fix")


def debate(stage: Stage) -> None:
    stage.discusses("debate-golden", strategy="debate", max_rounds=2)
    for words in (challenge("CHALLENGE", "A risk"), "I agree.", challenge("APPROVE")):
        if stage.session("debate-golden").outstanding:
            stage.answers("debate-golden", words)
    decided(stage, "debate-golden", "accept")


def decided(stage: Stage, name: str, choice: Choice) -> None:
    """Every agent that is still asked agrees; then a person decides."""
    while waiting := [turn for turn in stage.session(name).outstanding.values() if turn.work != "wait"]:
        stage.answers(name, "I agree and accept.", agent=waiting[0].agent)
    stage.do(name, Decide(choice=choice, rationale="as I see it", actor="Kim"))


def parents(stage: Stage) -> None:
    """Sessions that have their plan and their work discussed; a channel."""
    stage.orchestrates("orchestration-parent", plan_review=DEBATE, work_review=REVIEW)
    stage.answers("orchestration-parent", plan(subtask()))
    stage.delivers("delivery-parent", review=REVIEW)
    stage.says("orchestration-said", "implement src/a.py and then test it", "telegram")


def exhausted(stage: Stage) -> None:
    """Two budgets that are used up; one is extended, and its delivery succeeds."""
    for name in ("delivery-spent", "delivery-extended"):
        stage.delivers(name, limits=BudgetLimits(max_iterations=1))
        for words in ("One step.", "One module.", "One function.", "Written."):
            stage.answers(name, words)
        validated(stage, name)
        stage.answers(name, BLOCKING)
    stage.do("delivery-extended", ExtendBudget(add_iterations=1, reason="one more"))
    stage.answers("delivery-extended", "Fixed.")
    validated(stage, "delivery-extended")
    stage.answers("delivery-extended", APPROVING)


def ends(stage: Stage) -> None:
    """The other ends: direct, out of rounds, reset; discussions that break off, expire or are cancelled."""
    stage.orchestrates("orchestration-direct", "hello", triage="direct").answers("orchestration-direct", "Hello.")
    for name in ("orchestration-partial", "orchestration-extended"):
        stage.orchestrates(name, max_rounds=1).answers(name, plan(subtask(start_phase=3, end_phase=3)))
        stage.answers(name, "Done.").answers(name, verdicts(Backend=False))
    stage.do("orchestration-extended", AddRounds(add_rounds=1, reason="once more"))
    stage.answers("orchestration-extended", "Done.").answers("orchestration-extended", verdicts(Backend=True))
    stage.orchestrates("orchestration-reset").answers("orchestration-reset", plan(subtask()))
    stage.do("orchestration-reset", ResetOrchestration(reason="enough"))
    stage.orchestrates("orchestration-unplanned").answers("orchestration-unplanned", "No.")
    stage.answers("orchestration-unplanned", "Still no.")
    for kind in ("review", "debate"):
        stage.discusses(f"{kind}-broken").fails(f"{kind}-broken")
        stage.discusses(f"{kind}-expired", expires_ms=1).fails(f"{kind}-expired")
        stage.do(f"{kind}-expired", ExpireTurn(turn_id=stage.turn(f"{kind}-expired").turn_id))
        stage.discusses(f"{kind}-cancelled")
        stage.do(f"{kind}-cancelled", CancelDiscussion(reason="enough"))


SCENES: dict[str, Callable[[Stage], None]] = {
    "delivery": delivery,
    "orchestration": orchestration,
    "review": review,
    "debate": debate,
    "parents": parents,
    "exhausted": exhausted,
    "ends": ends,
}
