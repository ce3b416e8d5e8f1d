"""All sessions at a glance."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.delivery.commands import RecordBaseline
from domain.kinds import fold
from domain.session.attempts import Failure
from domain.session.forks import ForkSession
from domain.session.record import Recorded
from domain.values.base import Invalid, iso
from projections.follow import Follower
from projections.record.session import view
from projections.sessions import overview
from projections.sessions.places import HERE, of_repository
from projections.sessions.search import SEARCH, SEARCH_OMITS
from projections.views.sessions import SessionPage
from tests.kit.sweeps import sampled
from tests.projections.given import NOON, SECOND, Story, Twin, caught_up, exhausted, merged, success, wander
from tests.projections.stage import Stage


@pytest.fixture
def many(tmp_path: Path) -> SqliteViews:
    """Five deliveries, the first the oldest: 1 and 4 succeeded, 2 ran out of budget, 3 failed, 5 runs."""
    log = merged(
        success("delivery-1", task="Add a --json flag\nsecond line"),
        exhausted("delivery-2", at=NOON + 1),
        Story("delivery-3", NOON + 2).start("Füge 100% 한글 hinzu", title="Größe").fails(),
        success("delivery-4", task="a_b", at=NOON + 3),
        Story("delivery-5", NOON + 4).start("Fix it", labels=("urgent", "cli")).answers("A plan."),
    )
    with closing(SqliteViews(tmp_path / "search.db")) as index:
        Follower(log, index, [SEARCH], omitted=SEARCH_OMITS).catch_up()
    return caught_up(tmp_path / "many.db", log)


def page(views: SqliteViews, **query: Any) -> SessionPage:
    search = SqliteViews(views.path.with_name("search.db"))
    with closing(search), search.reading() as index, views.reading() as db:
        return overview.page(db, index=index, **query)


def ids(views: SqliteViews, **query: Any) -> list[str]:
    return [item.id for item in page(views, **query).items]


def test_the_newest_session_comes_first(many: SqliteViews) -> None:
    assert ids(many) == ["delivery-5", "delivery-4", "delivery-3", "delivery-2", "delivery-1"]


def test_a_row_contains_what_a_list_shows(many: SqliteViews) -> None:
    with many.reading() as db:
        item = overview.item(db, "delivery-5")
    assert item is not None
    assert item.wire() == {
        "id": "delivery-5",
        "kind": "delivery",
        "status": "running",
        "title": "Fix it",
        "version": 8,
        "createdAt": "2026-11-21T12:00:00.004Z",
        "updatedAt": "2026-11-21T12:00:01.004Z",
        "origin": "web",
        "labels": ["urgent", "cli"],
        "parent": None,
        "children": [],
        "forkedFrom": None,
        "outstandingTurns": [
            {
                "turnId": "delivery-5.t2",
                "work": "ask",
                "agent": "architect",
                "role": "architect",
                "phase": "architecture",
                "round": None,
                "requestedAt": "2026-11-21T12:00:01.004Z",
            }
        ],
        "owner": "tester",
        "repository": None,
        "lastError": None,
        "currentPhase": "architecture",
        "iteration": 0,
        "maxIterations": 6,
        "round": None,
        "maxRounds": None,
        "lastRound": None,
        "strategy": None,
        "convergenceScore": None,
        "recommendation": None,
        "held": False,
        "waiting": None,
        "forkedAt": None,
        "outcome": None,
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"status": "success"}, ["delivery-4", "delivery-1"]),
        ({"status": "failed"}, ["delivery-3", "delivery-2"]),
        ({"status": "nonsense"}, []),
        ({"kind": "delivery", "status": "running"}, ["delivery-5"]),
        ({"kind": "review"}, []),
        ({"label": "urgent"}, ["delivery-5"]),
        ({"label": "urg"}, []),
        ({"q": "JSON FLAG"}, ["delivery-2", "delivery-1"]),
        ({"q": "second"}, ["delivery-1"]),
        ({"q": "GRÖSSE"}, []),
        ({"q": "größe"}, ["delivery-3"]),
        ({"q": "GRO\u0308ßE"}, ["delivery-3"]),
        ({"q": "\u1112\u1161\u11ab글"}, ["delivery-3"]),
        ({"q": "0%"}, ["delivery-3"]),
        ({"q": "%"}, ["delivery-3"]),
        ({"q": "a_b"}, ["delivery-4"]),
        ({"q": "!"}, []),
        ({"q": "delivery-2"}, ["delivery-2"]),
        ({"q": "", "limit": 1}, ["delivery-5"]),
    ],
)
def test_sessions_are_found(many: SqliteViews, query: dict[str, Any], expected: list[str]) -> None:
    assert ids(many, **query) == expected


@pytest.mark.parametrize("query", [{}, {"kind": "delivery"}, {"q": "delivery-"}])
def test_a_cursor_continues_after_its_page(many: SqliteViews, query: dict[str, Any]) -> None:
    first = page(many, limit=2, **query)
    second = page(many, limit=2, cursor=first.next_cursor, **query)
    third = page(many, limit=2, cursor=second.next_cursor, **query)
    pages = [[item.id for item in each.items] for each in (first, second, third)]
    assert pages == [["delivery-5", "delivery-4"], ["delivery-3", "delivery-2"], ["delivery-1"]]
    assert third.next_cursor is None


def test_a_session_that_starts_meanwhile_moves_no_page(tmp_path: Path) -> None:
    log = merged(success("delivery-1"), success("delivery-2"), success("delivery-3"))
    views = caught_up(tmp_path / "v.db", log)
    with views.reading() as db:
        cursor = overview.page(db, limit=2).next_cursor
    views.close()
    log.add(Story("delivery-4").start().events)
    assert ids(caught_up(tmp_path / "v.db", log), limit=2, cursor=cursor) == ["delivery-1"]


@pytest.mark.parametrize("cursor", ["", "x", "MTA=", "MTA!", "LTE", "MDE", "☃", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OQ", "MA"])
def test_a_cursor_of_ones_own_making_is_refused(many: SqliteViews, cursor: str) -> None:
    with many.reading() as db, pytest.raises(Invalid) as refused:
        overview.page(db, cursor=cursor)
    assert refused.value.errors == {"/cursor": "is not a cursor of this list"}


@pytest.mark.parametrize(("query", "pointer"), [({"limit": 0}, "/limit"), ({"limit": 201}, "/limit")])
def test_a_limit_outside_its_bounds_is_refused(many: SqliteViews, query: dict[str, Any], pointer: str) -> None:
    with many.reading() as db, pytest.raises(Invalid) as refused:
        overview.page(db, **query)
    assert list(refused.value.errors) == [pointer]


def test_too_many_words_to_look_for_are_refused(many: SqliteViews) -> None:
    with many.reading() as db, pytest.raises(Invalid):
        overview.page(db, q="x" * 1_001)


def test_an_exhausted_delivery_waits_for_a_person_until_it_is_extended(tmp_path: Path) -> None:
    story = exhausted()
    views = caught_up(tmp_path / "v.db", merged(story))
    with views.reading() as db:
        assert [(item.id, item.waiting) for item in overview.waiting(db)] == [("delivery-1", "budget")]
    views.close()
    views = caught_up(tmp_path / "v.db", merged(story.extended(1)))
    with views.reading() as db:
        assert overview.waiting(db) == ()


def test_sessions_are_counted_by_kind_and_status(many: SqliteViews) -> None:
    with many.reading() as db:
        assert overview.counts(db) == {"delivery": {"failed": 2, "running": 1, "success": 2}}


def test_a_title_is_given_or_the_first_line_of_the_task_in_80_characters(tmp_path: Path) -> None:
    log = merged(
        Story("delivery-1").start("\n  first\x1b[31m line\nsecond"),
        Story("delivery-2").start("task", title="Given"),
        Story("delivery-3").start("x" * 81),
        Story("delivery-4").start("task", title="g" * 200),
    )
    with caught_up(tmp_path / "v.db", log).reading() as db:
        titles = [item.title for item in overview.page(db).items]
    assert titles == ["g" * 200, "x" * 79 + "…", "Given", "first line"]


def test_a_fork_is_created_when_it_is_made(tmp_path: Path) -> None:
    stage = Stage(tmp_path).delivers("delivery-1").answers("delivery-1", "A plan.")
    stage.at += 600 * SECOND
    at = stage.at
    stage.do("delivery-2", ForkSession(source="delivery-1", at_version=3), starts=True)
    for pieces in (1, 5, 500):
        with closing(SqliteViews(tmp_path / f"{pieces}.db")) as views:
            Follower(stage.store, views, page=pieces).catch_up()
            with views.reading() as db:
                assert [item.id for item in overview.page(db, since=at).items] == ["delivery-2"]
                assert [item.created_at for item in overview.page(db).items] == [iso(at), iso(NOON)]
    assert view(stage.session("delivery-2")).created_at == iso(at)
    stage.store.close()


@pytest.mark.parametrize("status", ["running", "failed"])
def test_before_its_first_phase_a_delivery_is_in_planning(tmp_path: Path, status: str) -> None:
    """Its workspace is prepared first, which can fail; that is no phase of its own."""
    stage = Stage(tmp_path).delivers("delivery-1", baseline=True)
    if status == "failed":
        failure = Failure(code="validation_not_startable", detail="There is no such program.")
        stage.do("delivery-1", RecordBaseline(turn_id="delivery-1.t1", attempt=1, failure=failure))
    with closing(SqliteViews(tmp_path / "v.db")) as views:
        Follower(stage.store, views).catch_up()
        with views.reading() as db:
            item = overview.item(db, "delivery-1")
    assert item is not None
    assert (item.status, item.current_phase) == (status, "planning")
    assert view(stage.session("delivery-1")).wire()["currentPhase"] == "planning"
    stage.store.close()


@pytest.mark.parametrize("seed", sampled(range(20), 0, 4, 8, 12, 16))
def test_a_row_says_the_same_as_the_session_at_every_version(tmp_path: Path, seed: int) -> None:
    """P14, and two folds of one history that must not drift apart."""
    story, log = wander(seed), Twin()
    for recorded in story.events:
        log.add([recorded])
        if recorded.version % 3 != seed % 3 and recorded is not story.events[-1]:
            continue
        views = caught_up(tmp_path / "v.db", log)
        with views.reading() as db:
            item = overview.item(db, "delivery-1")
        views.close()
        whole = session_view(log.events)
        assert item is not None
        row = item.wire()
        shared = row.keys() & whole.keys() - {"owner", "repository"}  # a session's answer takes them from its row
        assert row == row | {key: whole[key] for key in shared}
        assert row["maxIterations"] == whole["budget"]["maxIterations"]


def session_view(events: list[Recorded]) -> dict[str, Any]:
    session = fold("delivery", ((recorded.event, recorded.metadata) for recorded in events))
    assert session is not None
    return view(session).wire()


def test_a_page_needs_no_walk_through_the_table(many: SqliteViews) -> None:
    """Costs do not grow with the log: each filter is an index."""
    with many.reading() as db:
        for where in ("created < 9", "created < 9 AND kind = 'a'", "created < 9 AND status = 'a'"):
            plan = db.execute(
                f"EXPLAIN QUERY PLAN SELECT title FROM overview WHERE {where} ORDER BY created DESC LIMIT 51"
            ).fetchall()
            assert [row[3].split(" (")[0] for row in plan] == [
                f"SEARCH overview USING INDEX overview_{'created' if 'AND' not in where else where.split()[4]}"
            ]


@pytest.mark.parametrize(
    ("started_in", "repository", "is_of"),
    [
        ("/work/app", None, True),
        ("/work/app", "/elsewhere", True),
        ("/work/other", "/work/app", True),
        (None, "/work/app", True),
        (None, "/work/app/inside", True),
        (None, "/work/application", False),
        (None, None, False),
        ("/work/app/nested", "/work/app/nested", False),
    ],
)
def test_a_session_is_of_the_repository_that_it_was_started_in_or_on(
    started_in: str | None, repository: str | None, is_of: bool
) -> None:
    """Sessions of older versions only know the folder that they work on. Nobody started what is part of another one."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE overview (started_in TEXT, repository TEXT, parent TEXT)")
        db.execute("INSERT INTO overview VALUES (?, ?, 'orchestration-1')", (started_in, repository))
        assert not db.execute(f"SELECT * FROM overview WHERE {HERE}", of_repository("/work/app")).fetchall()
        db.execute("UPDATE overview SET parent = NULL")
        rows = db.execute(f"SELECT * FROM overview WHERE {HERE}", of_repository("/work/app"))
        assert (rows.fetchone() is not None) == is_of
