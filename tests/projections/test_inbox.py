"""The inbox: what waits for a person, and when it no longer does."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.delivery.commands import ExtendBudget, RecordValidation
from domain.discussion.commands import CancelDiscussion
from domain.orchestration.commands import ContinueOrchestration, ResetOrchestration
from domain.session.children import Decide
from domain.session.forks import ForkSession
from domain.session.turns import ExpireTurn
from domain.values.base import Command, Invalid
from domain.values.budget import BudgetLimits
from projections.follow import Follower
from projections.sessions import inbox, overview
from tests.projections.given import SECOND
from tests.projections.stage import DEBATE, Stage, challenge, critique, plan, subtask, verdicts


def page(stage: Stage, **query: Any) -> dict[str, Any]:
    views = SqliteViews(stage.store.path.with_suffix(".views"))
    try:
        follower = Follower(stage.store, views)
        follower.catch_up()
        assert follower.problems() == []
        with views.reading() as db:
            return inbox.page(db, **query).wire()
    finally:
        views.close()


def waiting(stage: Stage) -> list[str]:
    return [item["sessionId"] for item in page(stage)["items"]]


def reviewed(stage: Stage, session_id: str = "review-1", **fields: Any) -> Stage:
    """A review that waits: one round, then its synthesis."""
    stage.discusses(session_id, "Step: a result", max_rounds=1, **fields)
    return stage.answers(session_id, critique("NEEDS_FIX", "Slow")).answers(session_id, "Make it fast.")


def paused(stage: Stage, session_id: str = "orchestration-1") -> Stage:
    """An orchestration at its checkpoint."""
    stage.orchestrates(session_id).answers(session_id, plan(subtask(start_phase=3, end_phase=3, checkpoint=True)))
    return stage.answers(session_id, "Done.").answers(session_id, verdicts(Backend=True))


def test_an_open_decision_includes_everything_needed_to_make_it(tmp_path: Path) -> None:
    stage = reviewed(Stage(tmp_path), expires_ms=60 * SECOND)
    assert page(stage)["items"] == [
        {
            "sessionId": "review-1",
            "kind": "review",
            "waitsFor": "decision",
            "reason": "decision",
            "cause": "limit",
            "why": "The discussion used up its rounds; a person decides.",
            "owner": "tester",
            "repository": None,
            "costMicros": 6,
            "title": "Step: a result",
            "parent": None,
            "about": None,
            "since": "2026-11-21T12:00:02.000Z",
            "version": stage.session("review-1").version,
            "choices": ["apply_fix", "skip"],
            "requestId": None,
            "stopReason": "limit",
            "convergence": {
                "agreementRatio": 0.5,
                "avgStability": 0.0,
                "overallScore": 0.3,
                "recommendation": "continue",
                "profile": "seed",
            },
            "feedback": {"verdict": "NEEDS_FIX", "summary": "One thing.", "points": 1, "error": None},
            "synthesis": "Make it fast.",
            "summary": None,
            "expiresAt": "2026-11-21T12:01:02.000Z",
            "seen": stage.session("review-1").seen,
        }
    ]


def test_a_checkpoint_says_what_is_done_and_what_may_follow(tmp_path: Path) -> None:
    stage = paused(Stage(tmp_path))
    [result] = page(stage)["items"]
    assert (result["kind"], result["reason"], result["choices"]) == (
        "orchestration",
        "checkpoint",
        ["continue", "reset"],
    )
    assert (result["title"], result["summary"], result["stopReason"]) == ("Add a login", "요청된 scope 완료", None)
    assert result["version"] == stage.session("orchestration-1").version


def test_a_childs_decision_names_its_parent_and_what_it_is_about(tmp_path: Path) -> None:
    stage = Stage(tmp_path).orchestrates(plan_review=DEBATE).answers("orchestration-1", plan())
    for words in (challenge("CHALLENGE", "Too big"), "It is not.", "Split it."):
        stage.answers("debate-1c1", words)
    [result] = page(stage)["items"]
    assert (result["sessionId"], result["parent"], result["about"]) == ("debate-1c1", "orchestration-1", "plan")
    assert result["choices"] == ["revise", "accept"]
    assert result["feedback"] == {"verdict": "CHALLENGE", "summary": "Too big", "points": 1, "error": None}


def test_a_failed_reviewer_waits_with_its_error(tmp_path: Path) -> None:
    """K-32: nothing is accepted because an agent crashed."""
    stage = Stage(tmp_path).discusses("review-1").fails("review-1", "boom")
    [result] = page(stage)["items"]
    assert (result["stopReason"], result["synthesis"]) == ("error", None)
    assert result["feedback"]["error"] == "reviewer: crash: boom"


@pytest.mark.parametrize(
    "command",
    [Decide(choice="skip"), Decide(choice="apply_fix"), CancelDiscussion(), ExpireTurn(turn_id="review-1.t3")],
    ids=lambda command: type(command).__name__,
)
def test_decided_cancelled_and_expired_sessions_leave_at_once(tmp_path: Path, command: Command) -> None:
    stage = reviewed(Stage(tmp_path), expires_ms=SECOND)
    assert waiting(stage) == ["review-1"]
    stage.at += SECOND
    assert waiting(stage.do("review-1", command)) == []


def test_a_fork_waits_since_the_fork_and_expires_that_much_later(tmp_path: Path) -> None:
    stage = reviewed(Stage(tmp_path), expires_ms=60 * SECOND)
    reviewed(stage, "review-2")
    stage.at += 600 * SECOND
    forked(stage, "review-3", "review-1")
    items = page(stage)["items"]
    assert [(item["sessionId"], item["since"], item["expiresAt"]) for item in items] == [
        ("review-1", "2026-11-21T12:00:02.000Z", "2026-11-21T12:01:02.000Z"),
        ("review-2", "2026-11-21T12:00:05.000Z", None),
        ("review-3", "2026-11-21T12:10:06.000Z", "2026-11-21T12:11:06.000Z"),
    ]


def test_every_wait_in_a_fork_counts_from_the_fork(tmp_path: Path) -> None:
    stage = paused(Stage(tmp_path))
    stage.delivers("delivery-1").fails("delivery-1", code="refused")
    forked(forked(stage, "orchestration-2", "orchestration-1"), "delivery-2", "delivery-1")
    items = page(stage)["items"]
    assert [item["sessionId"] for item in items] == ["orchestration-1", "delivery-1", "orchestration-2", "delivery-2"]
    assert [item["since"] for item in items] == sorted({item["since"] for item in items})


def test_a_fork_in_an_old_log_keeps_its_sources_expiry(tmp_path: Path) -> None:
    stage = reviewed(Stage(tmp_path), expires_ms=60 * SECOND)
    forked(stage, "review-2", "review-1", restarts_wait=False)
    source, fork = page(stage)["items"]
    assert (fork["since"], fork["expiresAt"]) == ("2026-11-21T12:00:03.000Z", source["expiresAt"])


def forked(stage: Stage, name: str, source: str, **fields: Any) -> Stage:
    command = ForkSession(source=source, at_version=stage.session(source).version, **fields)
    return stage.do(name, command, starts=True)


@pytest.mark.parametrize("command", [ContinueOrchestration(), ResetOrchestration()])
def test_continued_and_reset_sessions_leave_at_once(tmp_path: Path, command: Command) -> None:
    stage = paused(Stage(tmp_path))
    assert waiting(stage) == ["orchestration-1"]
    assert waiting(stage.do("orchestration-1", command)) == []


def test_everything_waiting_is_listed_with_the_reason(tmp_path: Path) -> None:
    """Contract-2 §16, K6: a script that polls the inbox sees exhausted deliveries and stopped runs, too."""
    stage = paused(reviewed(Stage(tmp_path)))
    stage.delivers("delivery-1", limits=BudgetLimits(max_iterations=1))
    for words in ("Plan.", "Modules.", "Functions.", "Code."):
        stage.answers("delivery-1", words)
    stage.do("delivery-1", RecordValidation(turn_id="delivery-1.t5", attempt=1, passed=False))
    stage.orchestrates("orchestration-2").fails("orchestration-2").fails("orchestration-2")
    result = {item["sessionId"]: (item["waitsFor"], item["cause"], item["choices"]) for item in page(stage)["items"]}
    assert result == {
        "review-1": ("decision", "limit", ["apply_fix", "skip"]),
        "orchestration-1": ("checkpoint", "scope_done", ["continue", "reset"]),
        "delivery-1": ("budget", "iterations", ["extend"]),
        "orchestration-2": ("partial", "plan_invalid", ["continue", "reset", "retry"]),
    }
    for word in ("decision", "checkpoint", "budget", "partial"):
        assert [item["waitsFor"] for item in page(stage, needs=(word,))["items"]] == [word]
    assert [item["waitsFor"] for item in page(stage, needs=("permission", "scope", "failed"))["items"]] == []


def test_a_delivery_without_budget_names_what_rejected_its_work_last(tmp_path: Path) -> None:
    """A failing test or a blocking finding, and no longer once there is more budget."""
    stage = Stage(tmp_path).delivers("delivery-1", limits=BudgetLimits(max_iterations=1))
    for words in ("Plan.", "Modules.", "Functions.", "Code."):
        stage.answers("delivery-1", words)
    broken = ("FAILED tests/test_a.py::test_total", "FAILED tests/test_a.py::test_average")
    stage.do("delivery-1", RecordValidation(turn_id="delivery-1.t5", attempt=1, passed=False, reasons=broken))
    [result] = page(stage)["items"]
    assert (result["cause"], result["summary"]) == ("iterations", "FAILED tests/test_a.py::test_total")
    stage.do("delivery-1", ExtendBudget(add_iterations=1, reason="more")).answers("delivery-1", "Code again.")
    assert waiting(stage) == []
    stage.do("delivery-1", RecordValidation(turn_id="delivery-1.t7", attempt=1, passed=True))
    blocked = {"blockingIssues": [{"id": "a", "title": "Empty basket", "detail": "Divides by zero."}], "score": 60}
    stage.answers("delivery-1", f"No.\n```json\n{json.dumps(blocked)}\n```")
    [result] = page(stage)["items"]
    assert (result["cause"], result["summary"]) == ("iterations", "Empty basket: Divides by zero.")


def test_an_item_names_the_owner_the_repository_and_the_cost(tmp_path: Path) -> None:
    stage = Stage(tmp_path).orchestrates(plan_review=DEBATE, workspace="/work/app").answers("orchestration-1", plan())
    for words in (challenge("CHALLENGE", "Too big"), "It is not.", "Split it."):
        stage.answers("debate-1c1", words)
    [result] = page(stage)["items"]
    assert (result["owner"], result["repository"], result["costMicros"]) == ("tester", "/work/app", 9)


def test_a_run_waits_again_at_the_next_checkpoint(tmp_path: Path) -> None:
    stage = paused(Stage(tmp_path)).do("orchestration-1", ResetOrchestration())
    assert waiting(paused(stage, "orchestration-2")) == ["orchestration-2"]


def test_the_longest_wait_comes_first(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-0", max_rounds=1)
    reviewed(stage, "review-1")
    paused(stage)
    stage.answers("review-0", critique()).answers("review-0", "Words.")
    assert waiting(stage) == ["review-1", "orchestration-1", "review-0"]
    first = page(stage, limit=2)
    assert [item["sessionId"] for item in first["items"]] == ["review-1", "orchestration-1"]
    last = page(stage, limit=2, cursor=first["nextCursor"])
    assert ([item["sessionId"] for item in last["items"]], last["nextCursor"]) == (["review-0"], None)


@pytest.mark.parametrize(
    ("query", "pointer"), [({"limit": 0}, "/limit"), ({"cursor": "x"}, "/cursor"), ({"needs": ("sleep",)}, "/needs")]
)
def test_a_page_that_cannot_be_is_refused(tmp_path: Path, query: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        page(Stage(tmp_path), **query)
    assert list(refused.value.errors) == [pointer]


def test_the_overview_says_of_every_kind_what_it_waits_for(tmp_path: Path) -> None:
    stage = reviewed(Stage(tmp_path))
    paused(stage)
    stage.orchestrates("orchestration-2", max_rounds=1).answers("orchestration-2", plan())
    stage.answers("orchestration-2", "Half.").answers("orchestration-2", verdicts(Backend=False))
    stage.discusses("debate-2").says("orchestration-3", "hello", "telegram")
    page(stage)
    views = SqliteViews(stage.store.path.with_suffix(".views"))
    with views.reading() as db:
        listed = {item.id: (item.status, item.waiting) for item in overview.page(db).items}
        assert [item.id for item in overview.page(db, kind="review", status="waiting_for_decision").items] == [
            "review-1"
        ]
    views.close()
    assert listed == {
        "review-1": ("waiting_for_decision", "decision"),
        "orchestration-1": ("checkpoint", "checkpoint"),
        "orchestration-2": ("partial", "budget"),
        "debate-2": ("debating", None),
        "orchestration-3": ("active", None),
    }
