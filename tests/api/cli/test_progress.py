"""The output while a session runs."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from api.cli.figures import present
from api.cli.matrix import history
from api.cli.progress import Lines, LiveScreen, Phases, Steps, figures, screen, summary

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


def test_session_status_has_three_lines() -> None:
    assert summary(SESSION).plain.splitlines() == [
        "고쳐줘 ⟦U+001B⟧[2J  running",
        "✓planning ▶review ✗validation ·packaging ",
        "iteration 2/6  ·  4:07 of 45 min  ·  reviewer at work",
    ]


@pytest.mark.parametrize(
    ("more", "minutes"),
    [
        ({}, 5),
        ({"status": "failed"}, 4),
        ({"held": True}, 4),
        ({"outstandingTurns": []}, 4),
        ({"outstandingTurns": [{"work": "ask", "waitingFor": "permission"}]}, 4),
        ({"outstandingTurns": [{"work": "ask", "waitingFor": "rate_limit"}]}, 4),
        ({"outstandingTurns": [{"work": "ask", "waitingFor": "crash"}]}, 5),
        ({"outstandingTurns": [{"work": "ask", "waitingFor": "imported"}]}, 4),
    ],
)
def test_the_time_used_is_as_of_now_where_the_budget_s_clock_runs(more: dict[str, Any], minutes: int) -> None:
    ago = datetime.now(UTC) - timedelta(seconds=60)
    shown = present(SESSION | {"updatedAt": ago.isoformat()} | more)
    assert shown["budget"]["elapsedMs"] // 60_000 == minutes


NAMES = ("planning", "architecture", "design", "implementation", "validation", "review", "packaging")
LATE: dict[str, Any] = SESSION | {
    "title": "Round invoice totals half-even per line, not per total",
    "phaseStatuses": dict.fromkeys(NAMES[:5], "completed") | {"review": "running", "packaging": "pending"},
    "budget": BUDGET | {"tokens": 160_040, "costMicros": 1_800_000},
}


def test_nothing_but_the_title_is_cut_on_a_narrow_terminal() -> None:
    lines = summary(LATE, width=60).plain.splitlines()
    assert lines == [
        "Round invoice totals half-even per line, not per t…  running",
        "✓✓✓✓✓ ▶review ·",
        "iteration 2/6  ·  4:07 of 45 min  ·  160,040 tokens",
        "$1.80 spent  ·  reviewer at work",
    ]


def test_status_and_phases_are_named_in_korean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    lines = summary(LATE, width=60).plain.splitlines()
    assert lines[0].endswith("  실행 중")
    assert lines[1].rstrip() == "✓계획 ✓아키텍처 ✓설계 ✓구현 ✓검증 ▶리뷰 ·패키징"


def test_a_reason_is_never_cut_on_a_narrow_terminal() -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, color_system=None, width=60, legacy_windows=False)
    why = "tests/test_calc.py::test_half_even_per_line - AssertionError: assert Decimal('0.25') == Decimal('0.24')"
    with LiveScreen(console) as live:
        live.show_events([event(1, "delivery.validation_failed", classification="test", reasons=[why])])
    shown = " ".join(terminal.getvalue().split())
    assert "test_half_even_per_line" in shown and "Decimal('0.24')" in shown


def test_seven_phases_fit_on_eighty_columns() -> None:
    lines = summary(SESSION | {"phaseStatuses": dict.fromkeys(NAMES, "completed")}).plain.splitlines()
    assert len(lines[1].rstrip()) <= 80


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, ["iteration 2/6", "4:07 of 45 min"]),
        ({"tokens": 12_345}, ["iteration 2/6", "4:07 of 45 min", "12,345 tokens"]),
        ({"tokens": 5, "maxTokens": 2_000}, ["iteration 2/6", "4:07 of 45 min", "5 tokens of 2,000"]),
        (
            {"costMicros": 1_250_000, "maxCostMicros": 2_000_000},
            ["iteration 2/6", "4:07 of 45 min", "$1.25 spent of $2.00"],
        ),
        ({"reason": "minutes"}, ["iteration 2/6", "4:07 of 45 min", "exhausted by minutes"]),
    ],
)
def test_budget_shows_what_is_known(more: dict[str, Any], words: list[str]) -> None:
    assert figures(SESSION | {"budget": BUDGET | more}) == words


RUN: dict[str, Any] = {
    "id": "orchestration-1",
    "title": "API",
    "status": "active",
    "version": 20,
    "mode": "orchestrated",
    "round": 2,
    "lastRound": 3,
    "agents": [
        {
            "agent": "백엔드",
            "role": "backend",
            "phaseProfile": [3, 4, 5],
            "currentPhaseIdx": 1,
            "status": "active",
            "gate": "⏳ 진행 중",
            "history": [{"round": 1, "phase": 3, "pass": True, "feedback": "ok"}],
        },
        {
            "agent": "Docs",
            "role": "docs",
            "phaseProfile": [3],
            "currentPhaseIdx": 0,
            "status": "paused",
            "gate": "⏸ checkpoint",
            "history": [
                {"round": 1, "phase": 3, "pass": False, "feedback": "too short \x1b[2J"},
                {"round": 2, "phase": 3, "pass": True, "feedback": "fine"},
            ],
        },
    ],
    "outstandingTurns": [{"agent": "백엔드", "work": "ask"}],
}
TALK: dict[str, Any] = {
    "id": "review-1",
    "title": "",
    "status": "reviewing",
    "version": 7,
    "rounds": [{}, {}],
    "maxRounds": 3,
    "convergence": {"overallScore": 0.425},
    "outstandingTurns": [{"agent": "reviewer", "work": "ask"}, {"agent": "person", "work": "wait"}],
}


def test_orchestration_is_shown_as_a_matrix_of_agents_and_phases() -> None:
    assert summary(RUN).plain.splitlines() == [
        "API  active",
        "백엔드  backend  ✓3 ▶4 ·5  ⏳ active     PASS ok",
        "Docs    docs     ⏸3        ⏸ checkpoint  PASS fine",
        "round 2/3  ·  백엔드 at work",
    ]


def test_discussion_status_shows_round_and_convergence() -> None:
    assert summary(TALK).plain.splitlines() == [
        "review-1  reviewing",
        "round 2/3  ·  score 0.42  ·  reviewer at work",
    ]


def test_every_verdict_has_its_line_round_by_round() -> None:
    assert history(RUN).splitlines() == [
        "round 1  백엔드  phase 3  PASS  ok",
        "round 1  Docs    phase 3  FAIL  too short ⟦U+001B⟧[2J",
        "round 2  Docs    phase 3  PASS  fine",
    ]


def test_unknown_session_shows_nothing() -> None:
    assert figures({"id": "orchestration-1", "status": "active", "mode": "direct"}) == []


class _Turn:
    """A running turn with what is new of it."""

    agent = "Claude"

    def __init__(self, *news: str) -> None:
        self.news = [(self.agent, words) for words in news]


def test_lines_of_a_running_agent_are_to_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    pieces = ("```", "```json", '"}],"a', "}", "]}", '{"goals": ["x"]', '"score": 95', "{", "[{", "…")
    prose = ("I read a.py.", '"average" fails.', "고쳤습니다", "Run pytest → 1 failed", "[1] see below", "42")
    Lines().show_turns([_Turn(*pieces)])  # type: ignore[list-item]  # as much of a turn as lines need
    assert capsys.readouterr().err == ""
    for words in prose:
        Lines().show_turns([_Turn(*pieces, words)])  # type: ignore[list-item]  # the same
        assert capsys.readouterr().err == f"      Claude: {words}\n"


@pytest.mark.parametrize(("tools", "denied", "lines"), [(0, 0, 0), (2, 0, 1), (0, 1, 1)])
def test_an_attempt_without_tools_has_no_line_of_its_own(
    capsys: pytest.CaptureFixture[str], tools: int, denied: int, lines: int
) -> None:
    data = {"toolsTotal": tools, "denied": denied}
    event = {"version": 3, "timestamp": "2026-11-28T10:00:00.000Z", "type": "turn.activity_recorded", "data": data}
    Lines().show_events([event])
    Lines().show_child({}, [event])
    assert len(capsys.readouterr().err.splitlines()) == 2 * lines


def test_live_display_shows_open_discussions_below_the_session() -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, color_system=None, width=80, legacy_windows=False)
    with LiveScreen(console) as live:
        live.show_status(RUN)
        live.show_child(TALK, [event(1, "review.synthesized", message="Synthesis.")])
        open_ = terminal.getvalue()
        live.show_child(TALK | {"status": "decided"}, [])
        live.show_status(RUN | {"status": "done"})
    assert "10:00:00    > Synthesis written" in open_
    last_frame = terminal.getvalue().split("API  done")[-1]
    assert "review-1" not in last_frame


def test_live_display_shows_events_above_the_status() -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, color_system=None, width=80, legacy_windows=False)
    with LiveScreen(console) as live:
        live.show_events(
            [event(1, "turn.answered", agent="dev\x1b[2J"), event(2, "delivery.phase_skipped", message="hidden")]
        )
        live.show_status(SESSION)
    shown = terminal.getvalue()
    assert "dev⟦U+001B⟧[2J answered" in shown
    assert "hidden" not in shown
    assert "iteration 2/6  ·  4:07 of 45 min  ·  reviewer at work" in shown
    assert "\x1b[2J" not in shown


ROUTINE = (
    event(1, "delivery.phase_started", phase="planning"),
    event(2, "turn.requested", work="ask", phase="planning", agent="planner", role="planner"),
    event(3, "turn.answered", agent="planner", role="planner", prompt={"length": 9}, seconds=1.0),
    event(4, "delivery.artifact_created", phase="planning"),
    event(5, "delivery.phase_completed", phase="planning"),
    event(6, "delivery.phase_completed", phase="packaging", problem="No branch."),
    event(7, "session.agent_sessions_cleared"),
)


def test_steps_and_outcomes_are_shown_and_not_what_every_step_has(capsys: pytest.CaptureFixture[str]) -> None:
    Steps().show_events(ROUTINE)
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["1", "3", "6"]


def test_of_a_quiet_run_only_phases_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Phases()
    quiet.show_events(ROUTINE)
    quiet.show_turns([])
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["1"]
    assert type(screen("phases").__enter__()) is Phases
