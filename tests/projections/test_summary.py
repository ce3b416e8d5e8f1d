"""The summary of a folded session, and the rows that say the same: on every golden log, after every event."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.proof.transfer import take_in
from adapters.store.sqlite.store import SqliteStore
from adapters.store.sqlite.views import SqliteViews
from domain.discussion.state import Discussion
from domain.kinds import KINDS, allowed_actions, fold
from domain.session.attempts import Failure, RetryPolicy
from domain.session.children import Decide
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.summary import summary_of
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import RecordPackage, RetryTurn
from domain.session.waits import ALLOW_OR_DENY, RETRY, WaitsFor
from domain.values.sentences import Sentence, because
from projections.follow import Follower
from projections.sessions import fold as overview_fold
from projections.sessions import inbox, overview
from projections.sessions.row import ROWS, SessionRow
from projections.views.inbox import WaitingItem
from tests.golden.happenings import (
    APPROVING,
    DESIGN,
    HEAD,
    PREPARED,
    SHOP,
    changes,
    landing,
    not_landed,
    said,
    validated,
)
from tests.golden.make import PLACE
from tests.kit.claiming import claim
from tests.projections.stage import REVIEW, Stage, critique

GONE = Sentence("branch_of_deleted_worktree", branch="hansard/delivery-1", path="/gone")
LOGS = sorted(PLACE.glob("*.jsonl"))


def followed(events: Sequence[Recorded], folder: Path) -> Iterator[tuple[Session, SessionRow]]:
    """Each session and its row after every event."""
    sessions: dict[str, Session] = {}
    with closing(SqliteViews(folder / "views.db")) as views, views.transaction() as db:
        for statement in overview_fold.SCHEMA:
            db.execute(statement)
        for recorded in events:
            overview_fold.apply(db, [recorded])
            if recorded.kind in KINDS:
                name = recorded.session_id
                session = fold(recorded.kind, [(recorded.event, recorded.metadata)], sessions.get(name))
                assert session is not None
                sessions[name] = session
                yield session, ROWS.get(db, [name])[name]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_row_waits_for_what_its_folded_session_waits_for(path: Path, tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path / "log.db"))) as store:
        take_in(store, path.read_bytes().splitlines(keepends=True))
        for session, row in followed(store.log(limit=100_000), tmp_path):
            wait = summary_of(session).wait
            if wait is not None and wait.waits_for != "permission":  # each request is an item of its own
                assert (row.waits_for, row.cause, tuple(json.loads(row.choices or "[]"))) == tuple(wait)
            else:
                assert row.waits_for is None
            assert row.status == session.status


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_what_a_summary_offers_is_allowed(path: Path, tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path / "log.db"))) as store:
        take_in(store, path.read_bytes().splitlines(keepends=True))
        for session, _ in followed(store.log(limit=100_000), tmp_path):
            summary = summary_of(session)
            offered = {_action(summary.waits_for, choice) for choice in summary.choices} - {"land", "pull-request"}
            assert offered <= set(allowed_actions(session))


def _action(waits_for: WaitsFor | None, choice: str) -> str:
    if choice in ALLOW_OR_DENY:
        return str(waits_for)
    return "decision" if waits_for == "decision" and choice != RETRY else choice


def waiting(stage: Stage) -> list[WaitingItem]:
    views = SqliteViews(stage.store.path.with_suffix(".views"))
    with closing(views):
        follower = Follower(stage.store, views)
        follower.catch_up()
        assert follower.problems() == []
        with views.reading() as db:
            return list(inbox.page(db).items)


def listed(stage: Stage, name: str) -> tuple[str, str | None]:
    """The status of a session in the list, and what it needs from a person."""
    with closing(SqliteViews(stage.store.path.with_suffix(".views"))) as views:
        Follower(stage.store, views).catch_up()
        with views.reading() as db:
            row = overview.item(db, name)
    assert row is not None
    return row.status, row.waiting


def reviewed_delivery(stage: Stage) -> Stage:
    """A delivery whose review has used up its rounds."""
    stage.delivers("delivery-1", review=REVIEW)
    for words in ("plan", "architecture", "design", "code"):
        stage.answers("delivery-1", words)
    validated(stage, "delivery-1")
    stage.answers("delivery-1", APPROVING)
    [child] = stage.session("delivery-1").open_children
    while summary_of(stage.session(child)).wait is None:
        stage.answers(child, critique("NEEDS_FIX", "Slow"))
    return stage


@pytest.mark.parametrize("kind", ["review", "debate"])
def test_an_interrupted_discussion_offers_to_ask_again(kind: str, tmp_path: Path) -> None:
    """Besides its choices, of which the team may count votes."""
    stage = Stage(tmp_path).discusses(f"{kind}-1", decisions=DecisionPolicy(approvers=2)).fails(f"{kind}-1", "boom")
    discussion = stage.session(f"{kind}-1")
    assert isinstance(discussion, Discussion)
    [item] = waiting(stage)
    assert (item.cause, item.choices) == ("error", (*discussion.choices, "retry"))
    assert item.approval is not None
    assert set(item.approval.missing) == set(discussion.choices)


def test_a_discussion_that_came_to_its_end_offers_only_its_choices(tmp_path: Path) -> None:
    stage = Stage(tmp_path).discusses("review-1", max_rounds=1)
    stage.answers("review-1", critique("NEEDS_FIX", "Slow")).answers("review-1", "Make it fast.")
    [item] = waiting(stage)
    assert item.choices == ("apply_fix", "skip")


def test_finished_work_waits_until_its_landing_has_merged_it(tmp_path: Path) -> None:
    """A landing that begins ends the wait; what comes of it may begin another."""
    stage = Stage(tmp_path)
    landing(stage)
    causes = list[str | None]()
    for session, row in followed(stage.events(), tmp_path):
        summary = summary_of(session)
        assert (row.waits_for, row.cause) == (summary.waits_for, summary.cause)
        if causes[-1:] != [summary.cause]:
            causes.append(summary.cause)
    assert causes == [None, "landing_sent_back", None, "landing_sent_back", None]


def test_the_inbox_says_what_is_in_the_way_of_a_landing_until_it_has_landed(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    not_landed(stage)
    shown = [
        (row.waits_for, row.cause, row.choices, row.summary, row.status)
        for _, row in followed(stage.events(), tmp_path)
        if row.waits_for
    ]
    told = str(Sentence("in_the_way_uncommitted", paths="src/a.py"))
    assert shown[0] == ("landing", "landing_not_tried", '["land"]', told, "success")
    assert waiting(stage) == []


def packs(stage: Stage, name: str, **fields: Any) -> None:
    """The result is put on its branch, or it is not; a wait is over by then."""
    stage.at += 60_000
    claim(stage.store, "worker", now=stage.at, lease_ms=2**30)
    turn = stage.turn(name)
    stage.do(name, RecordPackage(turn_id=turn.turn_id, attempt=turn.tries.ended + 1, **fields))


def test_work_whose_branch_is_checked_out_waits_for_a_person_until_it_is_free(tmp_path: Path) -> None:
    """The wait has one beginning, however often the branch is looked at; a retry, or a cancel, ends it."""
    stage, name = Stage(tmp_path), "delivery-1"
    stage.delivers(name, repository=True, workspace=SHOP, retry=RetryPolicy(attempts=5))
    stage.answers(name, "One step.", prepared=PREPARED)
    said(stage, name, *DESIGN[1:])
    stage.answers(name, "Written.", tree=HEAD, **changes("src/a.py"))
    validated(stage, name)
    stage.answers(name, APPROVING)
    told = Sentence("branch_checked_out", branch="hansard/delivery-1", path="/shop")
    in_use = Failure.of("branch", because(Sentence("branch_not_made", branch="hansard/delivery-1"), told))
    packs(stage, name, failure=in_use)
    [item] = waiting(stage)
    assert (item.waits_for, item.cause, item.choices) == ("landing", "branch_checked_out", ("retry",))
    assert (item.checked_out_in, str(item.summary_sentence)) == ("/shop", str(told))
    packs(stage, name, failure=in_use)
    assert [again.since for again in waiting(stage)] == [item.since]
    stage.do(name, RetryTurn())
    assert waiting(stage) == []
    packs(stage, name, failure=Failure.of("branch", because(Sentence("branch_not_made", branch="b"), GONE)))
    [item] = waiting(stage)
    assert (item.checked_out_in, str(item.summary_sentence)) == (None, str(GONE))
    packs(stage, name, branch="hansard/delivery-1", commit=HEAD)
    assert waiting(stage) == []
    for session, row in followed(stage.events(), tmp_path):
        summary = summary_of(session)
        assert (row.waits_for, row.cause) == (summary.waits_for, summary.cause)


def test_a_parent_says_that_its_discussion_waits_for_a_person(tmp_path: Path) -> None:
    stage = reviewed_delivery(Stage(tmp_path))
    [item] = waiting(stage)
    assert (item.parent, item.waits_for) == ("delivery-1", "decision")
    assert listed(stage, "delivery-1") == ("running", "decision")
    stage.do(item.session_id, Decide(choice="skip", actor="Kim"))
    assert listed(stage, "delivery-1") == ("success", None)
