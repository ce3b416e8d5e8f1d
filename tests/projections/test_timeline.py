"""What happened, event by event."""

from pathlib import Path
from typing import Any

from projections.record import timeline
from tests.projections.given import Story, Twin, caught_up, exhausted, merged, success


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
            "message": "Asked planner: planning",
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
            "message": "planner answered in 2.0 s",
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


def test_long_and_unseen_words_are_cut(tmp_path: Path) -> None:
    found = items(tmp_path, merged(Story().start().fails(detail="\x1b[31m" + "x" * 3_000)))
    failed = next(item for item in found if item["type"] == "turn.failed")
    assert failed["message"].startswith("planner failed after 45.0 s: timed out: xxx")
    assert failed["message"].endswith("x…") and len(failed["message"]) < 400
