"""What a session's page says while a turn waits, and how it draws waits and verdicts afterwards."""

import json
import re
import time
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.web.model import ICONS, Paused, paused
from api.web.session.gantt import GanttBar, split
from domain.values.words import words
from projections.views.session import TurnView
from tests.api.scenes import at_checkpoint, begun, failed, held_fork, reached, two_iterations, under_review
from tests.api.seen import page
from tests.api.server import delivery, session, start, until
from tests.api.server import reached as happened
from tests.api.test_permissions import asks, decide, question
from tests.api.test_session_page import panel, words_of

LIMITED = {"planner": [{"error": "rate_limit", "retryAfter": 3_600}]}


def bars(html: str) -> dict[str, list[str]]:
    """The kinds of bars in each lane, from top to bottom."""
    names = [words_of(name) for name in re.findall(r'<li class="lane-name"[^>]*>(.*?)</li>', html)]
    lanes: dict[str, list[str]] = {name.split(" ")[0]: [] for name in names}
    for kind, y in re.findall(r'class="gantt-bar is-(\w+)"[^>]* y="(\d+)"', html):
        lanes[list(lanes)[(int(y) - 26) // 26]].append(kind)
    return lanes


def waiting(client: TestClient, **body: Any) -> str:
    """A delivery whose planner waits for its provider."""
    session_id = begun(client, delivery(LIMITED, **body))
    happened(client, session_id, "turn.attempt_failed")
    return session_id


def test_a_wait_for_a_provider_says_why_until_when_and_whether_it_counts(client: TestClient) -> None:
    session_id = waiting(client)
    [turn] = session(client, session_id)["outstandingTurns"]
    for html in (panel(client, session_id, "overview"), panel(client, session_id, "turns")):
        words = words_of(html)
        assert "waits: rate limit. Next attempt:" in words and "does not count as time used" in words
        assert f'<time datetime="{turn["waitingUntil"]}"' in html
        assert "At work" not in words and "at work" not in words
    assert '<span class="turn-state is-waiting">‖ waiting</span>' in panel(client, session_id, "turns")


def test_what_a_fork_shares_is_drawn_beside_it_however_long_ago_it_was(client: TestClient) -> None:
    source = two_iterations(client)
    shared = moment(session(client, source)["createdAt"])
    time.sleep(1.5)  # the server has the time of this machine, and the fork has to be later than what it shares
    html = panel(client, held_fork(client, source), "gantt")
    [(begin, own)] = re.findall(r'data-begin="(\d+)" data-end="\d+" data-own="(\d+)"', html)
    assert 0 <= int(own) - int(begin) < 500 and int(begin) > shared + 1_400
    assert html.count('class="gantt-fork"') == 1 and "forked here" in words_of(html)
    assert all(moment(wall) >= int(own) for wall in re.findall(r'data-wall="([^"]+)"', html))


def moment(iso: str) -> float:
    """Milliseconds."""
    return datetime.fromisoformat(iso).timestamp() * 1000


def test_a_session_that_waits_for_its_provider_says_so_in_its_head(client: TestClient) -> None:
    """As home does, until the hour comes; as of its event it still waits."""
    session_id = waiting(client)
    [turn] = session(client, session_id)["outstandingTurns"]
    html = page(client, f"/sessions/{session_id}")
    title = html[html.index("data-badge") : html.index("<h1>")]
    assert f'<span data-until="{turn["waitingUntil"]}"><span class="badge is-paused">' in title
    assert f'<span data-after="{turn["waitingUntil"]}" hidden><span class="badge is-running">' in title
    assert "planner waits: rate limit, continues at" in words_of(panel(client, session_id, "head"))
    past = page(client, f"/sessions/{session_id}?at=4")
    assert '<span data-badge><span class="badge is-paused">' in past


def test_the_hour_of_the_next_attempt_is_the_readers_in_the_list_of_events_too(client: TestClient) -> None:
    session_id = waiting(client)
    [turn] = session(client, session_id)["outstandingTurns"]
    html = page(client, f"/sessions/{session_id}")
    until_ = turn["waitingUntil"]
    assert f'<time datetime="{until_}" data-local="clock">{until_[11:19]} UTC</time>' in html
    assert f'<time datetime="{until_}" data-left="(in {{time}})"></time>' in html


def test_the_clock_goes_on_when_the_wait_for_a_provider_is_over(client: TestClient) -> None:
    """The script adds nothing to the time used before `as-of`."""
    html = panel(client, waiting(client), "overview")
    [as_of], [until_] = re.findall(r'data-as-of="(\d+)"', html), re.findall(r'data-until="([^"]+)"', html)
    assert int(as_of) == round(datetime.fromisoformat(until_).timestamp() * 1000)


def test_no_clock_runs_in_a_delivery_that_has_failed(client: TestClient) -> None:
    """Its budget stands still until it is retried, so its time used does, too."""
    html = page(client, f"/sessions/{failed(client)}")
    assert "Retry" in html and "data-elapsed" not in html


def test_a_retry_before_its_time_is_offered_and_not_asked_for(client: TestClient) -> None:
    html = page(client, f"/sessions/{waiting(client)}")
    assert '<button class="button">Retry now</button>' in html
    assert 'class="retrying' not in html, "no frame says that a person is waited for"


def test_an_agent_that_asks_for_permission_waits_for_a_person(client: TestClient) -> None:
    session_id = start(client, asks())
    request = question(client, session_id)
    for name in ("overview", "turns"):
        words = words_of(panel(client, session_id, name))
        assert "waits for you to allow or deny a request" in words and "at work" not in words.lower()
    assert bars(panel(client, session_id, "gantt"))["planner"][-1] == "you"
    decide(client, session_id, request, "allow")
    reached(client, session_id, "success")
    assert "you" in bars(panel(client, session_id, "gantt"))["planner"]


@pytest.mark.parametrize(
    ("questions", "pieces"),
    [
        ((), [(0, 100, "work", "T1")]),
        ([(10, 90)], [(0, 10, "work", ""), (10, 90, "you", "T1"), (90, 100, "work", "")]),
        ([(-50, 20), (95, 200)], [(0, 20, "you", ""), (20, 95, "work", "T1"), (95, 100, "you", "")]),
        ([(100, 100)], [(0, 100, "work", "T1"), (100, 100, "you", "")]),
        ([(120, 130)], [(0, 100, "work", "T1")]),
    ],
)
def test_a_bar_is_split_where_people_were_asked(questions: Any, pieces: Any) -> None:
    drawn = split(GanttBar(0, 100, "work", "t1", "T1", "T1"), questions)
    assert [(bar.begin, bar.end, bar.kind, bar.label) for bar in drawn] == pieces


def test_people_are_waited_for_while_work_or_a_plan_is_discussed_and_while_a_fork_is_held(client: TestClient) -> None:
    task = {"agent": "Backend", "role": "backend", "task": "the API", "start_phase": 3, "end_phase": 3}
    run: dict[str, Any] = {"kind": "orchestration", "prompt": "src/ API", "triage": "orchestrate", "planReview": {}}
    run |= {"employees": [{"name": "Backend", "role": "backend"}]}
    run |= {"scenario": {"replies": {"planner": [json.dumps({"subtasks": [task]})]}}}
    planned = begun(client, run)
    until(lambda: session(client, planned)["children"], what="a debate of the plan")
    for session_id in (planned, under_review(client), held_fork(client, two_iterations(client))):
        assert bars(panel(client, session_id, "gantt"))["people"] == ["you"]


def test_verdicts_colour_the_turns_of_a_run(client: TestClient) -> None:
    session_id = at_checkpoint(client)
    assert bars(panel(client, session_id, "gantt"))["Backend"][:2] == ["bad", "good"]
    html = panel(client, session_id, "turns")
    assert re.findall(r'<a class="is-(\w+)"[^>]*>.*?<b>T\d+ Backend</b>', html)[:2] == ["rejected", "answered"]


def test_a_cancelled_turn_has_not_failed(client: TestClient) -> None:
    session_id = begun(client, delivery({"planner": [{"text": "late", "delayMs": 60_000}]}))
    client.post(f"/api/sessions/{session_id}/cancel", json={})
    until(lambda: session(client, session_id)["status"] == "cancelled", what="the end")
    assert bars(panel(client, session_id, "gantt"))["planner"] == ["stop"]
    forked = held_fork(client, two_iterations(client))
    assert "bad" not in bars(panel(client, forked, "gantt"))["architect"]


@pytest.mark.parametrize(
    ("causes", "badge"),
    [
        (["branch"], "waits_for_you"),
        (["setup"], "waits_for_setup"),
        (["rate_limit"], "paused"),
        (["rate_limit", "setup"], "waits_for_setup"),
        (["setup", "branch"], "waits_for_you"),
    ],
)
def test_the_badge_of_a_pause_says_for_whom_it_is(causes: list[str], badge: str) -> None:
    place: dict[str, Any] = {"work": "ask", "agent": "a", "role": "dev", "phase": None, "round": None}
    turns = [
        TurnView(
            turn_id=f"t{n}",
            requested_at=f"2026-01-01T00:00:0{n}Z",
            waiting_until=f"2026-01-01T00:01:0{n}Z",
            waiting_for=cause,
            **place,
        )
        for n, cause in enumerate(causes)
    ]
    assert paused(turns) == Paused("2026-01-01T00:01:00Z", badge)
    assert paused([*turns, TurnView(turn_id="at work", requested_at="2026-01-01T00:00:09Z", **place)]) is None
    assert badge in ICONS
    for language in ("en", "ko"):
        assert words(language, "api.web").of("status", badge) not in ("", badge)
