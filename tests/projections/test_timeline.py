"""What happened, event by event."""

from pathlib import Path
from typing import Any

import pytest

from domain.kinds import TOPICS
from domain.orchestration.events import RoundDone
from domain.session.turns import AgentSessionsCleared, Failure, TurnAnswered, TurnCancelled, TurnFailed, TurnRequested
from domain.values.base import Text
from projections.record import timeline
from projections.record.describe import HIGHLIGHTED, SENTENCES, message
from tests.projections.given import Story, Twin, caught_up, exhausted, merged, success
from tests.projections.stage import HOSTILE, wander


def items(path: Path, log: Twin, **query: int) -> list[dict[str, Any]]:
    views = caught_up(path / "timeline.db", log)
    with views.reading() as db:
        page = timeline.page(db, "delivery-1", **query)
    views.close()
    found: list[dict[str, Any]] = page["items"]
    return found


def test_an_event_is_told_with_who_and_where(tmp_path: Path) -> None:
    found = items(tmp_path, merged(Story().start().answers("A plan.")), after=2, limit=2)
    assert found == [
        {
            "version": 3,
            "position": 3,
            "at": "2026-11-21T12:00:00.000Z",
            "type": "turn.requested",
            "actor": "tester",
            "role": "planner",
            "phase": "planning",
            "iteration": None,
            "turnId": "delivery-1.t1",
            "message": "planner is asked (planner, planning).",
            "highlight": False,
        },
        {
            "version": 4,
            "position": 4,
            "at": "2026-11-21T12:00:01.000Z",
            "type": "turn.answered",
            "actor": "tester",
            "role": "planner",
            "phase": "planning",
            "iteration": None,
            "turnId": "delivery-1.t1",
            "message": "planner answered after 2.0 s.",
            "highlight": False,
        },
    ]


def test_the_events_that_matter_are_highlighted(tmp_path: Path) -> None:
    assert [item["type"] for item in items(tmp_path, merged(success())) if item["highlight"]] == [
        "delivery.review_blocking_detected",
        "delivery.review_approved",
        "delivery.session_finished",
    ]


def test_budget_and_failure_are_highlighted_too(tmp_path: Path) -> None:
    story = exhausted().extended(1).fails()
    assert [item["type"] for item in items(tmp_path, merged(story)) if item["highlight"]] == [
        "delivery.budget_exhausted",
        "delivery.session_finished",
        "delivery.budget_extended",
        "delivery.phase_failed",
        "delivery.session_finished",
    ]


def test_pages_follow_each_other(tmp_path: Path) -> None:
    story = success()
    views = caught_up(tmp_path / "v.db", merged(story))
    seen: list[int] = []
    cursor: str | None = "0"
    with views.reading() as db:
        while cursor is not None:
            page = timeline.page(db, "delivery-1", after=int(cursor), limit=10)
            seen += [item["version"] for item in page["items"]]
            cursor = page["nextCursor"]
    assert seen == list(range(1, len(story.events) + 1))


def test_every_event_there_is_has_a_sentence() -> None:
    """Whoever adds an event says here how it is told."""
    assert sorted(set(TOPICS) - set(SENTENCES)) == []
    assert sorted(HIGHLIGHTED - set(TOPICS)) == []


def test_every_sentence_of_every_kind_can_be_said_and_says_something(tmp_path: Path) -> None:
    for seed in range(6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        stage = wander(folder, seed)
        for recorded in stage.events():
            words = message(recorded.event)
            assert len(words) > 5 and "{" not in words.replace(HOSTILE, "")
        stage.store.close()


def test_an_event_of_an_older_log_without_words_is_told_by_its_name() -> None:
    event = RoundDone(action="next", agent_phases=())
    assert message(event) == "Round done."


SETTLED: dict[str, Any] = {"turn_id": "t", "attempt": 1, "agent": "Ada", "role": "dev", "seconds": 1.25}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (TurnRequested(turn_id="t", work="ask", agent="Ada", role="dev"), "Ada is asked (dev)."),
        (TurnRequested(turn_id="t", work="validate", agent="t", role="t"), "The validation commands are to be run."),
        (TurnRequested(turn_id="t", work="wait", agent="person", role="person"), "It waits for a person."),
        (TurnRequested(turn_id="t", work="package", agent="x", role="x"), "The work is to be handed over."),
        (TurnAnswered(**SETTLED, prompt=Text(head="?", length=1)), "Ada answered after 1.2 s."),
        (TurnAnswered(**SETTLED), "Ada finished after 1.2 s."),
        (TurnFailed(**SETTLED, failure=Failure(code="crash")), "Ada failed after 1.2 s (crash)."),
        (TurnFailed(**SETTLED, failure=Failure(code="idle", detail="hush")), "Ada failed after 1.2 s (idle): hush"),
        (TurnCancelled(**SETTLED, reason="deadline"), "The turn of Ada was called off (deadline)."),
        (AgentSessionsCleared(reason="reset"), "The agents' conversations are over (reset)."),
    ],
)  # fmt: skip
def test_turns_are_told_in_sentences(event: Any, expected: str) -> None:
    assert message(event) == expected


def test_long_and_unseen_words_are_cut(tmp_path: Path) -> None:
    found = items(tmp_path, merged(Story().start().fails(detail="\x1b[31m" + "x" * 3_000)))
    failed = next(item for item in found if item["type"] == "turn.failed")
    assert failed["message"].startswith("planner failed after 45.0 s (timeout): xxx")
    assert len(failed["message"]) == 2_001
