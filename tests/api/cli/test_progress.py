"""What a person sees while a session goes on."""

import asyncio
import io
from typing import Any, cast

import pytest
from rich.console import Console

from api.cli.client import Api
from api.cli.progress import Live, describe, follow, standing, summary

BUDGET = {"maxIterations": 6, "maxMinutes": 45, "elapsedMs": 247_000, "remainingIterations": 5, "reason": None}
SESSION: dict[str, Any] = {
    "id": "delivery-1",
    "title": "고쳐줘 \x1b[2J",
    "status": "running",
    "version": 9,
    "phaseStatuses": {"planning": "completed", "review": "running", "validation": "failed", "packaging": "pending"},
    "iteration": 2,
    "budget": BUDGET,
    "outstandingTurns": [{"agent": "reviewer"}],
}


def event(version: int, topic: str, **data: Any) -> dict[str, Any]:
    return {"version": version, "type": topic, "timestamp": "2026-01-02T10:00:00.000Z", "data": data}


@pytest.mark.parametrize(
    ("topic", "data", "words"),
    [
        ("delivery.phase_started", {"message": "Phase review started."}, "Phase review started."),
        ("turn.requested", {"work": "ask", "agent": "dev"}, "dev is asked"),
        ("turn.requested", {"work": "validate", "agent": "test"}, "the validation commands run"),
        ("turn.requested", {"work": "package", "agent": "supervisor"}, "the work is handed over"),
        ("turn.answered", {"agent": "dev", "seconds": 12.34}, "dev answered after 12.3 s"),
        ("turn.answered", {"agent": "dev", "seconds": 0.0}, "dev answered"),
        ("turn.failed", {"agent": "dev", "failure": {"code": "timeout", "detail": "No."}}, "dev failed: timeout. No."),
        ("turn.cancelled", {"agent": "dev", "reason": "deadline"}, "dev is no longer asked: deadline"),
        ("some.later_event", {}, "some.later_event"),
    ],
)
def test_every_event_has_words(topic: str, data: dict[str, Any], words: str) -> None:
    assert describe(event(1, topic, **data)) == words


def test_how_a_session_stands_is_three_lines() -> None:
    assert summary(SESSION).plain.splitlines() == [
        "고쳐줘 ⟦U+001B⟧[2J  running",
        "✓planning ▶review ✗validation ·packaging ",
        "iteration 2/6  ·  4:07 of 45 min  ·  reviewer at work",
    ]


def test_seven_phases_fit_on_eighty_columns() -> None:
    names = ("planning", "architecture", "design", "implementation", "validation", "review", "packaging")
    lines = summary(SESSION | {"phaseStatuses": dict.fromkeys(names, "completed")}).plain.splitlines()
    assert len(lines[1].rstrip()) <= 80


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, ["iteration 2/6", "4:07 of 45 min"]),
        ({"tokens": 12_345}, ["iteration 2/6", "4:07 of 45 min", "12,345 tokens"]),
        ({"tokens": 5, "maxTokens": 2_000}, ["iteration 2/6", "4:07 of 45 min", "5 tokens of 2,000"]),
        (
            {"costMicros": 1_250_000, "maxCostMicros": 2_000_000},
            ["iteration 2/6", "4:07 of 45 min", "1.25 spent of 2.00"],
        ),
        ({"reason": "minutes"}, ["iteration 2/6", "4:07 of 45 min", "exhausted by minutes"]),
    ],
)
def test_a_budget_is_told_as_far_as_it_is_known(more: dict[str, Any], words: list[str]) -> None:
    assert standing(SESSION | {"budget": BUDGET | more}) == words


def test_a_session_without_such_a_budget_tells_none() -> None:
    assert standing({"id": "review-1", "status": "reviewing"}) == []


def test_the_live_display_shows_events_above_how_the_session_stands() -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, color_system=None, width=80, legacy_windows=False)
    with Live(console) as live:
        live.happened(
            [event(1, "turn.answered", agent="dev\x1b[2J"), event(2, "delivery.phase_skipped", message="hidden")]
        )
        live.stands(SESSION)
    shown = terminal.getvalue()
    assert "dev⟦U+001B⟧[2J answered" in shown
    assert "hidden" not in shown
    assert "iteration 2/6  ·  4:07 of 45 min  ·  reviewer at work" in shown
    assert "\x1b[2J" not in shown


class _Recorded:
    """An API whose session goes on by one page with every look at its events."""

    poll = 0.0

    def __init__(self, *pages: tuple[list[int], str]) -> None:
        self._pages, self._status, self._version = list(pages), "running", 0
        self.asked: list[int] = []

    async def events(self, _: str, *, after: int) -> list[dict[str, Any]]:
        self.asked.append(after)
        versions, self._status = self._pages.pop(0)
        self._version = max([self._version, *versions])
        return [event(version, "delivery.phase_started") for version in versions]

    async def session(self, _: str) -> dict[str, Any]:
        return {"session": {"id": "delivery-1", "version": self._version, "status": self._status}}


class _Seen:
    def __init__(self) -> None:
        self.versions: list[int] = []
        self.statuses: list[str] = []

    def happened(self, events: Any) -> None:
        self.versions += [found["version"] for found in events]

    def stands(self, session: Any) -> None:
        self.statuses.append(session["status"])


def test_following_shows_every_event_once_and_ends_when_the_session_rests() -> None:
    api, seen = _Recorded(([1, 2], "running"), ([], "running"), ([3], "failed")), _Seen()
    session = asyncio.run(follow(cast(Api, api), "delivery-1", seen))
    assert session["status"] == "failed"
    assert seen.versions == [1, 2, 3]
    assert seen.statuses == ["running", "failed"]
    assert api.asked == [0, 2, 2]


def test_following_does_not_end_before_the_last_event_is_shown() -> None:
    class Ahead(_Recorded):
        async def session(self, _: str) -> dict[str, Any]:
            return {"session": {"id": "delivery-1", "version": 3, "status": "success"}}

    api, seen = Ahead(([1, 2], "running"), ([3], "success")), _Seen()
    asyncio.run(follow(cast(Api, api), "delivery-1", seen))
    assert seen.versions == [1, 2, 3]


def test_following_a_session_that_rests_already_ends_at_once() -> None:
    api, seen = _Recorded(([], "cancelled")), _Seen()
    assert asyncio.run(follow(cast(Api, api), "delivery-1", seen, after=7))["status"] == "cancelled"
    assert api.asked == [7]
