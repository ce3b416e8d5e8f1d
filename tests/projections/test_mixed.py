"""Sessions of every kind side by side: each view says at every version what the session itself says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.store.sqlite.views import SqliteViews
from domain.kinds import KINDS, TOPICS, fold
from domain.orchestration.state import Orchestration
from domain.session.landing import LANDABLE
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.summary import summary_of
from projections.catalogue import dump
from projections.follow import Follower
from projections.record import worklog
from projections.record.budget import Point
from projections.record.records import Record
from projections.record.session import view
from projections.sessions import inbox, overview
from projections.views.inbox import WaitingItem
from tests.projections.given import Twin
from tests.projections.walks import wander

SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 8))]
SECTIONS = {
    "delivery": ["Plan", "Verification Criteria", "Phase Status Matrix", "Execution Log", "Final Summary"],
    "orchestration": ["Plan", "Verification Criteria", "Agent Status Matrix", "Execution Log", "Final Summary"],
    "review": ["Subject", "Execution Log", "Synthesis", "Decision"],
    "debate": ["Plan", "Execution Log", "Synthesis", "Decision"],
}


@dataclass
class Step:
    """One event, the session after it, and what the views said then."""

    recorded: Recorded
    session: Session
    row: dict[str, Any]
    worklog: str
    point: Point
    waiting: dict[str, WaitingItem]


@dataclass
class Walk:
    views: SqliteViews
    live: bytes
    rebuilt: bytes
    steps: list[Step] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)


@pytest.fixture(scope="module", params=SEEDS)
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A history of some hundred events, folded one by one."""
    folder: Path = tmp_path_factory.mktemp("walk")
    stage = wander(folder, request.param)
    log, views = Twin(), SqliteViews(folder / "views.db")
    follower = Follower(log, views)
    result = Walk(views, b"", b"")
    for recorded in stage.events():
        log.add([recorded])
        follower.catch_up()
        if recorded.kind in KINDS:
            result.steps.append(
                _step(views, result.sessions, result.records.setdefault(recorded.session_id, Record()), recorded)
            )
    assert follower.problems() == []
    result.live = dump(views)
    follower.rebuild()
    result.rebuilt = dump(views)
    yield result
    views.close()
    stage.store.close()


def _step(views: SqliteViews, sessions: dict[str, Session], record: Record, recorded: Recorded) -> Step:
    session_id = recorded.session_id
    session = fold(recorded.kind, [(recorded.event, recorded.metadata)], sessions.get(session_id))
    assert session is not None
    sessions[session_id] = session
    with views.reading() as db:
        row = overview.item(db, session_id)
        items = inbox.page(db).items
    assert row is not None
    record.add(recorded)
    text = worklog.render(record.worklog, session)
    return Step(
        recorded, session, row.wire(), text, record.budget.points[-1], {item.session_id: item for item in items}
    )


def test_live_views_are_rebuilt_byte_for_byte(walk: Walk) -> None:
    assert walk.live == walk.rebuilt


def test_a_row_says_the_same_as_its_session(walk: Walk) -> None:
    for step in walk.steps:
        whole = view(step.session).wire() | {"children": step.row["children"]}
        same = (step.row.keys() & whole.keys()) - {"round", "maxIterations", "owner", "repository"}
        assert {key: step.row[key] for key in same} == {key: whole[key] for key in same}
        if isinstance(step.session, Orchestration):
            assert (step.row["round"], step.row["lastRound"]) == (step.session.round, step.session.last_round)
        elif "rounds" in whole:
            score = whole["convergence"]["overallScore"] if whole["convergence"] else None
            assert (step.row["round"], step.row["convergenceScore"]) == (len(whole["rounds"]), score)


def test_parents_and_children_know_each_other(walk: Walk) -> None:
    for session in walk.sessions.values():
        with walk.views.reading() as db:
            row = overview.item(db, session.id)
        assert row is not None
        assert sorted(row.children) == sorted(session.children)
        assert all(walk.sessions[child].parent == session.id for child in row.children)


def test_later_events_never_change_the_worklog_of_a_version(walk: Walk) -> None:
    for step in walk.steps:
        assert worklog.render(walk.records[step.session.id].worklog, step.session) == step.worklog


def _answers(session: Session) -> bool:
    """Whether it answers without a plan."""
    return (
        isinstance(session, Orchestration)
        and not session.agents
        and (session.mode == "direct" or session.status == "done")
    )


def _sections(step: Step) -> list[str]:
    if _answers(step.session):
        return [name for name in ("Execution Log", "Final Summary") if f"\n## {name}\n" in step.worklog]
    return SECTIONS[step.recorded.kind]


def test_text_of_others_adds_no_sections_or_rows_to_a_worklog(walk: Walk) -> None:
    for step in walk.steps:
        lines = step.worklog.splitlines()
        assert [line[3:] for line in lines if line.startswith("## ")] == _sections(step)
        assert len([line for line in lines if line.startswith("# ")]) == 1
        rows = {"delivery": 9}.get(step.recorded.kind, 0)
        if isinstance(step.session, Orchestration) and not _answers(step.session):
            rows = 2 + len(step.session.agents)
        assert len([line for line in lines if line.startswith("|")]) == rows
        assert not re.search(r"^[\s>*+-]*(```[^`\n]*$|~~~|<)", step.worklog, re.MULTILINE)
        assert not re.search(r"[\x00-\x08\x0e-\x1f\u202e]", step.worklog)


def test_the_matrix_shows_every_agent_with_the_gate_that_the_session_shows(walk: Walk) -> None:
    for step in walk.steps:
        if isinstance(step.session, Orchestration):
            shown = re.findall(
                r"^\| .* \| Phase (\d): .* \| (✅ 완료|⏸ checkpoint|⏳ 진행 중|⏹ 중단) \|$", step.worklog, re.M
            )
            agents = view(step.session).wire()["agents"]
            assert shown == [(str(agent["currentPhase"]), agent["gate"]) for agent in agents]


def test_the_head_of_an_orchestrations_worklog_says_where_it_is(walk: Walk) -> None:
    for step in walk.steps:
        if isinstance(step.session, Orchestration):
            session = step.session
            at_work = session.round > 0 and session.state in ("working", "judging", "reviewing")
            active = f"round_{session.round}" if at_work else "planning"
            status = active if session.status == "active" else session.status
            assert f"\n- Status: {status}\n" in step.worklog
            rounds = f"\n- Rounds: {session.round}/{session.last_round}\n"
            assert (rounds in step.worklog) == (not _answers(session))


def test_the_inbox_lists_exactly_what_is_waiting(walk: Walk) -> None:
    sessions: dict[str, Session] = {}
    for step in walk.steps:
        sessions[step.session.id] = step.session
        assert {name: item.version for name, item in step.waiting.items()} == {
            session.id: session.version
            for session in sessions.values()
            if session.questions
            or getattr(session, "scope_request", None) is not None
            or (session.unlanded is not None and session.status in LANDABLE)
            or ((session.state in WAITING or session.state == "failed") and not _asked_next(step, session))
        }


def test_the_inbox_says_of_a_session_what_its_summary_says(walk: Walk) -> None:
    """The rows are folded from fewer events, but choices come from one place."""
    for step in walk.steps:
        item, wait = step.waiting.get(step.session.id), summary_of(step.session).wait
        shown = None if item is None else (item.waits_for, item.cause, item.choices)
        assert shown == (None if wait is None else tuple(wait))
        assert step.row["status"] == step.session.status


ELSEWHERE = {"session.forked", "session.diverged", "session.released", "session.text_redacted"}
"""What no command of a walk leads to: see `test_forks` and `test_redaction`."""
WAITING = ("waiting_for_decision", "checkpoint", "partial", "exhausted")


def _asked_next(step: Step, session: Session) -> bool:
    """Between the event that leads there and the one that asks, of the same command."""
    return step.session is session and not getattr(session, "choices", True)


def test_tokens_and_money_are_summed_as_the_session_does(walk: Walk) -> None:
    for step in walk.steps:
        if step.point.version == step.recorded.version:
            spent = step.session.spent
            assert (step.point.tokens, step.point.cost_micros) == (spent.tokens, spent.cost_micros)
            assert step.point.unknown_turns == spent.unknown


@pytest.mark.nightly
def test_the_walks_meet_nearly_everything_that_can_happen(tmp_path: Path) -> None:
    """A random history that never gets anywhere proves nothing."""
    met: set[str] = set()
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        stage = wander(folder, seed, 100)
        met |= {recorded.event.TOPIC for recorded in stage.events()}
        stage.store.close()
    at_forges = {topic for topic in TOPICS if topic.startswith("forge.")} | {"session.commits_taken"}
    of_comments = {"session.comment_answered", "delivery.comments_unchanged"}
    unmet = TOPICS.keys() - met - ELSEWHERE - at_forges - of_comments
    assert len(unmet) <= 6, sorted(unmet)
