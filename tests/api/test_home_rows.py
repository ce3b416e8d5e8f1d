"""Rows of the first page: agents' text in one line, and why a session waits."""

import re
from pathlib import Path

from starlette.testclient import TestClient

from adapters.proof.transfer import export, take_in
from api.web.presets import PRESETS
from tests.api.orchestrating import orchestration
from tests.api.scenes import at_checkpoint, begun, exhausted, reached, waiting_review
from tests.api.seen import BROWSER, Seen, page
from tests.api.server import delivery, events, inside, session, start, system, until
from tests.api.server import reached as happened
from tests.api.test_home_page import row, sections, settled
from tests.kit.replies import plan, subtask, verdicts


def test_markdown_of_agents_is_one_line_of_words_and_a_counted_run_says_its_reason(client: TestClient) -> None:
    text = start(
        client, orchestration({"assistant": ["## Done\n\n- A **shop** with `limits.py` & <b>"]}, triage="direct")
    )
    assert "Done A shop with limits.py & <b>" in row(settled(client, "/", "limits.py"), text)
    failing = {"planner": [plan(subtask("Docs"))], "judge": [verdicts(Docs=False)]}
    stopped = start(client, orchestration(failing, maxRounds=1))
    waits = row(settled(client, "/", f'data-waits="{stopped}"'), stopped)
    assert waits.startswith("! Budget Build it") and "The rounds are used up" in waits and "##" not in waits


def test_a_checkpoint_is_worded_in_the_readers_language(client: TestClient) -> None:
    """The recorded words are a phrase of Hansard's own."""
    waits = reached(client, begun(client, PRESETS["continue"].body), "checkpoint")
    for path in ("/", "/decisions", f"/sessions/{waits}"):
        text = " ".join(Seen(settled(client, path, waits, "equested ")).text.split())
        assert ("equested scope is done" in text or "equested phases are done" in text) and "요청된 scope" not in text
    assert '<b title="요청한 범위를 마쳤습니다.">' in page(client, "/?lang=ko")


def test_next_steps_offer_budget_fork_and_partial_work(client: TestClient) -> None:
    """And no next steps when nothing stopped the session."""
    wrote = {"text": "Wrote it.", "files": {"src/login.py": "x = 1\n"}}
    body = delivery({"dev": [wrote]}, maxIterations=1, validationCommands=["false"])
    session_id = start(client, body)
    until(lambda: session(client, session_id)["status"] == "failed", what="its end")
    text = Seen(page(client, f"/sessions/{session_id}"))
    links = [
        link["href"] for link in text.all("a") if link.get("href", "").startswith(f"/sessions/{session_id}/fork?at=")
    ]
    assert links
    assert "Fork before the last answer" in text.text and "1 file into your checkout, uncommitted" in text.text
    assert f"hansard apply {session_id}" in text.text
    done = start(client, delivery({"dev": [wrote]}))
    until(lambda: session(client, done)["status"] == "success", what="its success")
    assert "Fork before the last answer" not in page(client, f"/sessions/{done}")
    assert exhausted(client)


def test_head_shows_current_and_awaited_work(client: TestClient) -> None:
    failing = {"planner": [plan(subtask("Docs"))], "judge": [verdicts(Docs=False)]}
    stopped = start(client, orchestration(failing, maxRounds=2))
    until(lambda: session(client, stopped)["status"] == "partial", what="its end")
    text = " ".join(Seen(page(client, f"/sessions/{stopped}")).text.split())
    assert "0 of 1 agents are done after round 2. Docs: Docs: False" in text
    assert "Docs, development, Round 2:" in text
    asks = {"permission": {"title": "rm -rf build"}, "ifDenied": "Without it.", "text": "With it."}
    held = start(client, delivery({"planner": [asks]}))
    until(lambda: session(client, held).get("permissionRequests"), what="the question")
    assert "planner wants to run: rm -rf build" in " ".join(Seen(page(client, f"/sessions/{held}")).text.split())


def test_only_exhausted_sessions_have_a_red_gauge(client: TestClient) -> None:
    """A session that succeeded in its last iteration needs no warning."""
    spent, done = exhausted(client), start(client, delivery(maxIterations=1))
    until(lambda: session(client, done)["status"] == "success", what="its success")

    def gauge(name: str) -> tuple[float, float]:
        meters = Seen(page(client, f"/sessions/{name}")).all("meter")
        [gauge_meter] = [meter for meter in meters if meter["aria-label"] == "Iteration"]
        return float(gauge_meter["value"]), float(gauge_meter["high"])

    assert gauge(spent) == (1.0, 0.99) and gauge(done) == (1.0, 1.0)


def test_a_wait_for_a_provider_says_until_when_in_the_readers_time(client: TestClient) -> None:
    waits = start(client, delivery({"planner": [{"error": "rate_limit", "retryAfter": 3_000}]}))
    html = settled(client, "/", "continues at")
    assert re.search(r'continues at <time datetime="[^"]+" data-local="clock">\d\d:\d\d UTC</time>', html)
    [event] = [one for one in events(client, waits) if one["type"] == "turn.attempt_failed"]
    text = " ".join(Seen(page(client, f"/sessions/{waits}?highlights=0")).text.split())
    assert f"(scripted); next attempt at {event['data']['retryAt'][11:19]} UTC" in text
    assert "is writing the plan" not in text


def test_an_imported_session_that_was_at_work_does_not_run(client: TestClient, tmp_path: Path) -> None:
    """Home, its own page, reports and the API agree: no clock runs and no bar grows."""
    name = start(client, delivery({"planner": [{"text": "late", "delayMs": 600_000}]}))
    happened(client, name, "turn.requested")
    assert 'data-elapsed="' in page(client, f"/sessions/{name}")
    lines = list(export(system(client).store, name))
    with inside(tmp_path / "other") as other:
        take_in(system(other).store, lines)
        html = settled(other, "/", name)
        assert name in sections(html)["Recent"] and "Running" not in sections(html)
        assert row(html, name).startswith("‖ Imported") and "nothing here runs it" in row(html, name)
        assert [turn["waitingFor"] for turn in session(other, name)["outstandingTurns"]] == ["imported"]
        html = page(other, f"/sessions/{name}")
        assert "You can read, replay, fork and cancel this session." in html and "At work" not in html
        assert all(going not in html for going in ('data-elapsed="', " data-open", "data-activity"))
        assert 'class="state-key is-stop"' in page(other, "/reports")
        assert 'class="state-key is-run"' not in page(other, "/reports")


def test_home_lists_what_needs_the_same(client: TestClient) -> None:
    review, run = waiting_review(client), at_checkpoint(client)
    settled(client, "/", f'data-waits="{review}"', f'data-waits="{run}"')
    html = page(client, "/?needs=checkpoint")
    assert sections(html)["Needs you"] == [run] and review not in sections(html).get("Recent", [])
    assert "<title>(2) Sessions" in html, "the title counts everything"
    assert '<a href="/?needs=checkpoint" aria-current="true">Checkpoints 1</a>' in html
    assert "Nothing is waiting for you." in page(client, "/?needs=failed")
    assert client.get("/?needs=nothing", headers=BROWSER).status_code == 422
