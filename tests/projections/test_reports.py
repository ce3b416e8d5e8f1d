"""Reports (contract §5): what they count, as of any position, live as rebuilt."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.convergence.profiles import SHIPPED_V3
from domain.delivery.commands import CancelDelivery
from domain.orchestration.commands import ContinueOrchestration
from domain.session.attempts import Failure, FailureCode, RetryPolicy
from domain.session.children import Decide
from domain.session.forks import ForkSession, SessionForked
from domain.session.record import Recorded
from domain.session.turns import ExpireTurn, RecordReply, RetryTurn
from domain.values.base import DomainEvent, Unknown, Usage
from domain.values.budget import BudgetLimits
from projections.catalogue import dump
from projections.engine.ports import Database, each
from projections.follow import Follower
from projections.reports import REPORTS, Filters, report, summary
from tests.golden.forge_life import kept_at, pull_requests
from tests.kit.claiming import claim
from tests.kit.sweeps import sampled
from tests.projections.given import APPROVING, NOON, SECOND, Story, Twin, caught_up, exhausted, merged, success
from tests.projections.stage import EMPLOYEES, Stage, challenge, critique, plan, subtask, verdicts
from tests.projections.walks import walked, wander

Json = dict[str, Any]


def wire_report(views: SqliteViews, name: str, **filters: Any) -> Json:
    with views.reading() as db:
        return report(db, name, Filters(**filters)).wire()


def rows(views: SqliteViews, name: str, *columns: str, **filters: Any) -> list[tuple[Any, ...]]:
    """The rows of a report, of each these columns."""
    return [tuple(row[column] for column in columns) for row in wire_report(views, name, **filters)["rows"]]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    result = Stage(tmp_path)
    yield result
    result.store.close()


@pytest.fixture
def folded(stage: Stage, tmp_path: Path) -> Iterator[Any]:
    """The views of the stage, caught up."""
    opened: list[SqliteViews] = []

    def fold() -> SqliteViews:
        views = SqliteViews(tmp_path / f"views-{len(opened)}.db")
        opened.append(views)
        follower = Follower(stage.store, views)
        follower.catch_up()
        assert follower.problems() == []
        return views

    yield fold
    for views in opened:
        views.close()


@pytest.fixture
def deliveries(tmp_path: Path) -> Iterator[SqliteViews]:
    """1 succeeded in its third iteration, 2 ran out of its only one, 3 runs."""
    running = Story("delivery-3", NOON + 60 * SECOND).start("Fix it", labels=("urgent", "urgent,cli"))
    views = caught_up(tmp_path / "views.db", merged(success("delivery-1"), exhausted("delivery-2"), running))
    yield views
    views.close()


# -- what each of them says ----------------------------------------------------------------------------------------


def test_the_summary_counts_sessions_by_kind_and_status(deliveries: SqliteViews) -> None:
    columns = ("kind", "status", "sessions", "atRest", "durationMsMax", "roundsMax")
    assert rows(deliveries, "summary", *columns) == [
        ("delivery", "failed", 1, 1, 5_000, 1),
        ("delivery", "running", 1, 0, None, 0),
        ("delivery", "success", 1, 1, 11_000, 3),
    ]
    totals = wire_report(deliveries, "summary")["totals"]
    assert (totals["sessions"], totals["atRest"], totals["durationMsMean"]) == (3, 2, 8_000.0)


def test_budgets_say_what_was_planned_granted_and_used(tmp_path: Path) -> None:
    more = exhausted("delivery-2").extended(2).answers("Done.").validates(exit_code=0).answers(APPROVING)
    views = caught_up(tmp_path / "views.db", merged(exhausted("delivery-1"), more))
    columns = ("sessionId", "plannedIterations", "grantedIterations", "usedIterations", "extensions", "exhausted")
    assert rows(views, "budgets", *columns) == [
        ("delivery-1", 1, 1, 1, 0, "iterations"),
        ("delivery-2", 1, 3, 2, 1, None),
    ]
    totals = wire_report(views, "budgets")["totals"]
    assert (totals["sessions"], totals["extended"], totals["exhausted"]) == (2, 1, 1)
    assert (totals["plannedIterations"], totals["usedIterations"], totals["plannedRounds"]) == (2, 3, None)
    assert wire_report(views, "budgets")["rows"][0]["plannedMs"] == 45 * 60_000
    views.close()


def test_quality_has_the_reviews_and_validations_of_each_iteration(deliveries: SqliteViews) -> None:
    columns = ("measure", "iteration", "judged", "passed", "passRate", "blockingIssues")
    assert rows(deliveries, "quality", *columns) == [
        ("review", 2, 1, 0, 0.0, 1),
        ("review", 3, 1, 1, 1.0, 0),
        ("validation", 1, 2, 0, 0.0, None),
        ("validation", 2, 1, 1, 1.0, None),
        ("validation", 3, 1, 1, 1.0, None),
    ]


def test_quality_has_the_verdicts_by_agent_role_and_phase(stage: Stage, folded: Any) -> None:
    stage.orchestrates(max_rounds=5)
    stage.answers("orchestration-1", plan(subtask(start_phase=3, end_phase=4), subtask(EMPLOYEES[1].name, "docs")))
    for passed in (False, True):
        _round(stage, {"Backend": passed, EMPLOYEES[1].name: True})
    _round(stage, {"Backend": True})
    columns = ("measure", "agent", "role", "phase", "judged", "passed", "failed", "unread", "passRate")
    result = [row for row in rows(folded(), "quality", *columns) if row[1] == "Backend"]
    assert result == [
        ("verdict", "Backend", "backend", 3, 2, 1, 1, 0, 0.5),
        ("verdict", "Backend", "backend", 4, 1, 1, 0, 0, 1.0),
    ]


def _round(stage: Stage, passed: dict[str, bool], judge: Any = None) -> None:
    """All agents answer, then the judge."""
    session = stage.session("orchestration-1")
    while "judge" not in {turn.role for turn in session.outstanding.values()}:
        stage.answers("orchestration-1", "done")
        session = stage.session("orchestration-1")
    stage.answers("orchestration-1", verdicts(**passed) if judge is None else judge)


def test_a_failure_without_a_verdict_counts_in_no_rate(stage: Stage, folded: Any) -> None:
    """K-15"""
    stage.orchestrates(max_rounds=1)
    stage.answers("orchestration-1", plan())
    _round(stage, {}, judge="nothing that can be read")
    stage.answers("orchestration-1", "still nothing")
    totals = wire_report(folded(), "quality")["totals"]["verdict"]
    assert (totals["judged"], totals["unread"], totals["passRate"]) == (0, 1, None)


AGREED = "I agree and accept, a valid point. "
"""In ever the same words: two of the same role converge."""


def _converges(stage: Stage, session_id: str, verdict: str, **fields: Any) -> None:
    stage.discusses(session_id, max_rounds=6, **fields)
    say = critique if session_id.startswith("review") else challenge
    for _ in range(3):
        stage.answers(session_id, AGREED + say(verdict))
    stage.answers(session_id, "a synthesis")


def test_a_person_who_decides_against_the_last_verdict_overrules_it(stage: Stage, folded: Any) -> None:
    story = (
        ("review-1", "NEEDS_FIX", "apply_fix"),
        ("review-2", "NEEDS_FIX", "skip"),
        ("review-3", "PASS", "skip"),
        ("review-4", "PASS", "apply_fix"),
        ("debate-1", "CHALLENGE", "accept"),
        ("debate-2", "APPROVE", "accept"),
    )
    for session_id, verdict, choice in story:
        _converges(stage, session_id, verdict)
        stage.do(session_id, Decide(choice=choice, actor="Kim"))
    columns = ("kind", "converged", "roundsToConvergeMax", "decided", "upheld", "overruled", "overruledRate")
    assert rows(folded(), "convergence", *columns) == [
        ("debate", 2, 3, 2, 1, 1, 0.5),
        ("review", 4, 3, 4, 2, 2, 0.5),
    ]


def test_unreadable_and_expired_decisions_overrule_no_one(stage: Stage, folded: Any) -> None:
    stage.discusses("review-1").fails("review-1")
    stage.do("review-1", Decide(choice="skip", actor="Kim"))
    _converges(stage, "review-2", "NEEDS_FIX", expires_ms=1, expires_as="skip")
    stage.at += SECOND
    waiting = next(iter(stage.session("review-2").outstanding))
    stage.do("review-2", ExpireTurn(turn_id=waiting))
    stage.discusses("review-3")
    totals = wire_report(folded(), "convergence")["totals"]
    counts = {name: totals[name] for name in ("discussions", "open", "error", "converged", "decided", "unclear")}
    assert counts == {"discussions": 3, "open": 1, "error": 1, "converged": 1, "decided": 1, "unclear": 1}
    assert (totals["overruled"], totals["expired"], totals["overruledRate"]) == (0, 1, None)


def test_peoples_waiting_times_are_not_mixed_with_those_of_what_expired(stage: Stage, folded: Any) -> None:
    _converges(stage, "review-1", "NEEDS_FIX")
    stage.at += 9 * SECOND
    stage.do("review-1", Decide(choice="skip", actor="Kim"))
    _converges(stage, "review-2", "NEEDS_FIX", expires_ms=1, expires_as="skip")
    stage.at += 99 * SECOND
    stage.do("review-2", ExpireTurn(turn_id=next(iter(stage.session("review-2").outstanding))))
    _converges(stage, "debate-1", "APPROVE")
    views = folded()
    assert rows(views, "decisions", "kind", "by", "choice", "decisions", "waitedMsMax") == [
        ("debate", "waiting", None, 1, None),
        ("review", "expired", "skip", 1, 100_000),
        ("review", "person", "skip", 1, 10_000),
    ]
    totals = wire_report(views, "decisions")["totals"]
    assert (totals["person"], totals["expired"], totals["waiting"], totals["waitedMsMax"]) == (1, 1, 1, 10_000)


def test_a_checkpoint_waits_for_a_person_too(stage: Stage, folded: Any) -> None:
    stage.orchestrates()
    stage.answers("orchestration-1", plan(subtask(checkpoint=True, start_phase=3, end_phase=3)))
    _round(stage, {"Backend": True})
    assert stage.session("orchestration-1").state == "checkpoint"
    stage.at += 4 * SECOND
    stage.do("orchestration-1", ContinueOrchestration())
    columns = ("kind", "reason", "by", "choice", "waitedMsMax")
    assert rows(folded(), "decisions", *columns) == [("orchestration", "checkpoint", "person", "continue", 5_000)]


def test_unreported_usage_is_unknown_and_never_zero(tmp_path: Path) -> None:
    story = Story("delivery-1").start().answers("plan", usage=Usage(input_tokens=100, cost_micros=7))
    story.answers("arch", usage=Usage(output_tokens=0)).answers("design")
    views = caught_up(tmp_path / "views.db", merged(story))
    columns = ("agent", "turns", "tokens", "costMicros", "turnsWithUnknownTokens", "turnsWithUnknownCost")
    assert rows(views, "costs", *columns) == [
        ("architect", 1, 0, None, 0, 1),
        ("designer", 1, None, None, 1, 1),
        ("planner", 1, 100, 7, 0, 0),
    ]
    totals = wire_report(views, "costs")["totals"]
    assert (totals["turns"], totals["tokens"], totals["costMicros"]) == (3, 100, 7)
    assert (totals["turnsWithUnknownTokens"], totals["turnsWithUnknownCost"]) == (1, 2)
    assert [(row["role"], row["tokens"]) for row in totals["byRole"]] == [
        ("architect", 0),
        ("designer", None),
        ("planner", 100),
    ]
    views.close()


def test_costs_are_reported_by_model_and_an_unnamed_model_stays_unknown(tmp_path: Path) -> None:
    story = Story("delivery-1").start().answers("plan", usage=Usage(input_tokens=100), model="large-1")
    story.answers("arch", usage=Usage(input_tokens=7, cost_micros=3), model="small-2").answers("design")
    views = caught_up(tmp_path / "views.db", merged(story))
    assert rows(views, "costs", "agent", "model", "tokens", "costMicros") == [
        ("architect", "small-2", 7, 3),
        ("designer", None, None, None),
        ("planner", "large-1", 100, None),
    ]
    by_model = wire_report(views, "costs")["totals"]["byModel"]
    assert [(row["model"], row["turns"], row["tokens"]) for row in by_model] == [
        (None, 1, None),
        ("large-1", 1, 100),
        ("small-2", 1, 7),
    ]
    views.close()


def test_an_agent_that_asks_two_models_has_a_row_for_each(tmp_path: Path) -> None:
    story = Story("delivery-1").start()
    for phase, model in (("plan", "b"), ("arch", "a"), ("design", "a")):
        story.answers(phase, usage=Usage(input_tokens=1), model=model)
    views = caught_up(tmp_path / "views.db", merged(story))
    by_model = wire_report(views, "costs")["totals"]["byModel"]
    assert [(row["model"], row["turns"]) for row in by_model] == [("a", 2), ("b", 1)]
    views.close()


def test_a_validation_costs_nothing_that_could_be_reported(deliveries: SqliteViews) -> None:
    """Commands were run, no agent was asked."""
    assert {row[0] for row in rows(deliveries, "costs", "role")} == {
        "planner",
        "architect",
        "designer",
        "dev",
        "reviewer",
    }


def _fails(stage: Stage, code: FailureCode, attempt: int, **usage: int) -> None:
    claim(stage.store, "worker", now=stage.at, lease_ms=2**30)
    turn_id = stage.turn("delivery-1").turn_id
    failure = Failure(code=code, detail="bad weather")
    command = RecordReply(turn_id=turn_id, attempt=attempt, seconds=2.0, usage=Usage(**usage), failure=failure)
    stage.do("delivery-1", command)


def test_waits_are_counted_by_cause_with_what_they_cost(stage: Stage, folded: Any) -> None:
    stage.delivers(retry=RetryPolicy(attempts=3, backoff_seconds=(60.0, 600.0)))
    _fails(stage, "rate_limit", 1, input_tokens=7, cost_micros=3)
    stage.at += 60 * SECOND
    _fails(stage, "rate_limit", 2)
    stage.at += 9 * SECOND
    stage.do("delivery-1", RetryTurn(reason="the limit is gone"))
    _fails(stage, "network", 3, input_tokens=1)
    stage.at += 60 * SECOND
    _fails(stage, "auth", 4)
    columns = ("cause", "agent", "attempts", "failures", "waits", "waitedMs", "lostMs", "tokens", "costMicros")
    assert rows(folded(), "waits", *columns) == [
        ("auth", "planner", 1, 1, 0, 0, 2_000, None, None),
        ("network", "planner", 1, 0, 1, 60_000, 2_000, 1, None),
        ("rate_limit", "planner", 2, 0, 2, 70_000, 4_000, 7, 3),
    ]
    totals = wire_report(folded(), "waits")["totals"]
    assert (totals["attempts"], totals["failures"], totals["waitedMs"]) == (4, 1, 130_000)
    assert [row["hour"] for row in totals["byHour"]] == ["2026-11-21T12:00:00.000Z"]


# -- filters -------------------------------------------------------------------------------------------------------


def test_a_label_is_the_whole_label(deliveries: SqliteViews) -> None:
    def found(label: str) -> list[tuple[Any, ...]]:
        return rows(deliveries, "budgets", "sessionId", label=label)

    assert found("urgent") == found("urgent,cli") == [("delivery-3",)]
    assert found("cli") == found("Urgent") == found("%") == []


def test_a_range_of_time_is_half_open(deliveries: SqliteViews) -> None:
    began = NOON + 60 * SECOND
    assert rows(deliveries, "budgets", "sessionId", since=began) == [("delivery-3",)]
    assert rows(deliveries, "budgets", "sessionId", since=began, until=began) == []
    assert rows(deliveries, "budgets", "sessionId", until=began) == [("delivery-1",), ("delivery-2",)]


def test_costs_count_by_when_they_arose(deliveries: SqliteViews) -> None:
    assert wire_report(deliveries, "costs", until=NOON + 4 * SECOND)["totals"]["turns"] == 6
    assert wire_report(deliveries, "costs", since=NOON + 4 * SECOND)["totals"]["tokens"] == 170


def test_a_kind_leaves_out_the_others(stage: Stage, folded: Any) -> None:
    stage.delivers()
    stage.discusses()
    views = folded()
    assert rows(views, "summary", "kind", kind="review") == [("review",)]
    assert rows(views, "convergence", "kind", kind="delivery") == []


def test_a_report_repeats_its_filters(deliveries: SqliteViews) -> None:
    result = wire_report(deliveries, "costs", since=NOON, kind="delivery", label="urgent")
    assert result["filters"] == {
        "from": "2026-11-21T12:00:00.000Z",
        "to": None,
        "kind": "delivery",
        "label": "urgent",
    }
    assert result["name"] == "costs"


def test_an_unknown_report_is_unknown(deliveries: SqliteViews) -> None:
    with pytest.raises(Unknown, match="quality, convergence, decisions, costs, waits, merges"):
        wire_report(deliveries, "profits")


# -- forks ---------------------------------------------------------------------------------------------------------


def test_reports_count_the_shared_history_of_a_fork_once(tmp_path: Path) -> None:
    story = success("delivery-1")
    copied = [recorded._replace(session_id="delivery-2") for recorded in story.events]
    last = copied[-1]
    forked = SessionForked(source="delivery-1", source_version=last.version, mode="live")
    log = Twin()
    log.add(story.events)
    log.add([*copied, last._replace(version=last.version + 1, event=forked)])
    views = caught_up(tmp_path / "views.db", log)
    before, middle = 66, 100
    for name in ("costs", "quality", "decisions"):
        assert wire_report(views, name)["totals"] == wire_report(views, name, as_of=before)["totals"]
    assert wire_report(views, "costs", as_of=middle)["totals"] != wire_report(views, "costs")["totals"], (
        "not known to be a fork yet"
    )
    assert rows(views, "budgets", "sessionId", "tokens") == [("delivery-1", 170), ("delivery-2", 170)]
    views.close()


def test_a_fork_counts_from_the_fork(stage: Stage, folded: Any) -> None:
    stage.discusses("review-1", max_rounds=1).answers("review-1", critique("NEEDS_FIX", "Slow"))
    at_version = stage.session("review-1").version
    stage.answers("review-1", "All in all.").do("review-1", Decide(choice="skip"))
    stage.at += 600 * SECOND
    before = stage.at
    stage.do("review-2", ForkSession(source="review-1", at_version=at_version), starts=True)
    stage.answers("review-2", "All in all.").do("review-2", Decide(choice="skip"))
    views = folded()
    for as_of in (None, stage.store.head()):
        assert rows(views, "summary", "sessions", "durationMsMax", as_of=as_of) == [(2, 3 * SECOND)]
        assert rows(views, "summary", "sessions", "durationMsMax", as_of=as_of, since=before) == [(1, 2 * SECOND)]
        assert rows(views, "budgets", "sessionId", as_of=as_of, since=before) == [("review-2",)]


def test_a_fork_of_a_finished_session_took_no_time(stage: Stage, folded: Any) -> None:
    stage.delivers("delivery-1").do("delivery-1", CancelDelivery())
    at_version = stage.session("delivery-1").version
    stage.at += 600 * SECOND
    stage.do("delivery-2", ForkSession(source="delivery-1", at_version=at_version), starts=True)
    assert rows(folded(), "summary", "sessions", "durationMsMax") == [(2, SECOND)]


def test_a_fork_of_a_finished_session_is_a_what_if_and_overrules_no_one(stage: Stage, folded: Any) -> None:
    _converges(stage, "review-1", "NEEDS_FIX")
    stage.do("review-1", Decide(choice="skip", actor="Kim"))
    log = Twin(list(stage.events()))
    asked = [result for result in log.events if result.event.TOPIC != "review.decided"]
    cut = next(i for i, result in enumerate(asked) if result.event.TOPIC == "review.decision_requested") + 1
    copied = [result._replace(session_id="review-2") for result in asked[:cut]]
    decided = next(result for result in log.events if result.event.TOPIC == "review.decided")
    forked = SessionForked(source="review-1", source_version=cut, mode="live", profile=SHIPPED_V3)
    log.add([*copied, copied[-1]._replace(version=cut + 1, event=forked)])
    log.add([decided._replace(session_id="review-2", version=cut + 2)])
    views = SqliteViews(stage.store.path.parent / "twin.db")
    Follower(log, views).catch_up()
    assert rows(views, "convergence", "profile", "discussions", "overruled") == [("seed@1", 1, 1)]
    assert rows(views, "decisions", "by", "decisions") == [("person", 1)]
    views.close()


# -- any history ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", sampled(range(6), 0, 1))
def test_a_report_at_a_position_equals_that_of_a_log_that_ends_there(tmp_path: Path, seed: int) -> None:
    stage = wander(tmp_path, seed, steps=60)
    whole, growing, log = SqliteViews(tmp_path / "w.db"), SqliteViews(tmp_path / "g.db"), Twin()
    Follower(stage.store, whole).catch_up()
    follower = Follower(log, growing)
    for recorded in stage.events():
        log.add([recorded])
        follower.catch_up()
        if recorded.position % 17 == 0:
            for name in REPORTS:
                assert wire_report(whole, name, as_of=recorded.position) == wire_report(growing, name), (
                    name,
                    recorded.position,
                )
    assert dump(whole) == dump(growing)
    assert follower.problems() == []
    Follower(stage.store, whole).rebuild()
    assert dump(whole) == dump(growing)
    stage.store.close()
    whole.close()
    growing.close()


@pytest.mark.parametrize("seed", range(4))
def test_rows_have_the_columns_of_their_report_and_add_up(tmp_path: Path, seed: int) -> None:
    stage = wander(tmp_path, seed, steps=120)
    views = SqliteViews(tmp_path / "views.db")
    Follower(stage.store, views).catch_up()
    for name, result in REPORTS.items():
        shown = {tuple(row) for row in wire_report(views, name)["rows"]}
        assert shown == {result.columns} or (name == "merges" and not shown), "these stories have no pull requests"
    costs, sessions = wire_report(views, "costs"), stage.sessions()
    for name in ("turns", "turnsWithUnknownTokens", "turnsWithUnknownCost"):
        assert sum(row[name] for row in costs["rows"]) == costs["totals"][name]
        assert sum(row[name] for row in costs["totals"]["byAgent"]) == costs["totals"][name]
    spent = {
        row["sessionId"]: (row["tokens"], row["costMicros"], row["unknownTurns"])
        for row in wire_report(views, "budgets")["rows"]
    }
    assert spent == {
        session.id: (session.spent.tokens, session.spent.cost_micros, session.spent.unknown) for session in sessions
    }
    assert wire_report(views, "summary")["totals"]["sessions"] == len(sessions)
    stage.store.close()
    views.close()


# -- rebuilding while serving --------------------------------------------------------------------------------------


def test_readers_never_see_half_a_report_during_a_rebuild(tmp_path: Path) -> None:
    views = SqliteViews(tmp_path / "views.db")
    log = merged(*(success(f"delivery-{number}") for number in range(4)))
    Follower(log, views).catch_up()
    before = {name: wire_report(views, name) for name in REPORTS}
    seen: list[bool] = []

    def apply(db: Database, recorded: Recorded) -> None:
        summary.PROJECTION.apply(db, [recorded])
        if recorded.position % 20 == 0:
            seen.append({name: wire_report(views, name) for name in REPORTS} == before)

    others = [result.projection for result in REPORTS.values() if result.name != "summary"]
    Follower(log, views, [replace(summary.PROJECTION, apply=each(apply), about=(DomainEvent,)), *others]).rebuild()
    assert seen == [True] * 13
    assert {name: wire_report(views, name) for name in REPORTS} == before
    views.close()


def test_limits_of_tokens_and_money_are_those_that_were_set(tmp_path: Path) -> None:
    story = Story("delivery-1").start(limits=BudgetLimits(max_tokens=500, max_cost_micros=9))
    views = caught_up(tmp_path / "views.db", merged(story))
    assert rows(views, "budgets", "maxTokens", "maxCostMicros", "tokens", "costMicros") == [(500, 9, None, None)]
    views.close()


# -- as it is now ------------------------------------------------------------------------------------------------------


def test_the_current_summary_equals_that_at_the_newest_position(tmp_path: Path) -> None:
    """Sessions of every kind, folded page by page."""
    with closing(walked(tmp_path, 12, 200)) as store, closing(SqliteViews(tmp_path / "views.db")) as views:
        Follower(store, views, page=7).catch_up()
        first = store.log(limit=1)[0].at
        with views.reading() as db:
            for filters in (Filters(), Filters(kind="review"), Filters(label="mixed"), Filters(since=first + 3_000)):
                then = report(db, "summary", replace(filters, as_of=store.head()))
                assert report(db, "summary", filters).rows == then.rows
                assert report(db, "summary", filters).totals == then.totals
                assert then.rows


def test_the_current_summary_reads_one_row_per_session(tmp_path: Path) -> None:
    with closing(walked(tmp_path, 3, 60)) as store, closing(SqliteViews(tmp_path / "views.db")) as views:
        Follower(store, views).catch_up()
        with views.transaction() as db:
            before = report(db, "summary", Filters())
            db.execute("DELETE FROM report_summary")
            assert report(db, "summary", Filters()) == before


# -- pull requests -------------------------------------------------------------------------------------------------


def test_merges_say_how_long_it_took_with_how_many_change_requests_and_for_how_much(stage: Stage, folded: Any) -> None:
    pull_requests(stage)
    kept_at(stage)
    shown = {row["sessionId"]: row for row in wire_report(folded(), "merges")["rows"]}
    merged = shown["delivery-pulled"]
    assert (merged["state"], merged["number"], merged["project"]) == ("merged", 7, "ann/shop")
    assert merged["revisions"] == 3
    assert merged["mergedMs"] > 60_000
    assert (shown["delivery-from-issue"]["state"], shown["delivery-kept-at"]["state"]) == ("open", "closed")
    assert shown["delivery-kept-at"]["mergedMs"] is None
    totals = wire_report(folded(), "merges")["totals"]
    assert (totals["pullRequests"], totals["merged"], totals["closed"]) == (3, 1, 1)
    assert totals["mergedMsMax"] == merged["mergedMs"]
