"""Panels: remaining budget, suggested decisions, validation results, and stopped agents."""

import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.web.session.validation_report import OUTPUT, RUNS, in_lines, report
from tests.api.scenes import at_checkpoint, begun, exhausted, reached, two_iterations, waiting_review
from tests.api.seen import Seen, page, review
from tests.api.server import delivery, events, session
from tests.kit.replies import challenge, critique


def panel(client: TestClient, session_id: str, name: str, **query: Any) -> str:
    tab = {"artifacts": "changes", "worklog": "worklog"}.get(name, "overview")
    answer = client.get(f"/sessions/{session_id}/at", params={"tab": tab} | query)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["panels"][name][1])


def words_of(html: str) -> str:
    return " ".join(Seen(re.sub(r"(</(?:dt|dd|td|th|h3|li|p)>)", r" \1", html)).text.split())


# -- remaining budget --------------------------------------------------------------------------------------------------


def test_the_iterations_left_are_those_besides_the_one_that_runs_as_of_any_event(client: TestClient) -> None:
    session_id = two_iterations(client)
    begun_at = [e["version"] for e in events(client, session_id) if e["type"] == "delivery.attempt_started"]
    messages = []
    for version in (
        1,
        begun_at[0] - 1,
        begun_at[0],
        begun_at[1] - 1,
        begun_at[1],
        session(client, session_id)["version"],
    ):
        words = words_of(panel(client, session_id, "overview", at=version))
        now = re.search(r"Iteration (\d)/6 ", words)
        left = re.search(r"Remaining (\d)", words_of(panel(client, session_id, "budget", at=version)))
        assert now is not None and left is not None, words
        messages.append((now[1], left[1]))
    assert messages == [("0", "6"), ("0", "6"), ("1", "5"), ("1", "5"), ("2", "4"), ("2", "4")]
    assert session(client, session_id)["budget"]["remainingIterations"] == 5


def test_nothing_is_left_where_the_next_iteration_could_not_begin(client: TestClient) -> None:
    session_id = exhausted(client)
    assert "Iteration 1/1 " in words_of(panel(client, session_id, "overview"))
    assert "Remaining 0" in words_of(panel(client, session_id, "budget"))


def test_burn_down_ends_at_the_remaining_budget(client: TestClient) -> None:
    """The line goes from all six iterations to the remaining four."""
    drawn = panel(client, two_iterations(client), "budget")
    line = re.search(r'd="M([^"]+)" class="line is-iterations"', drawn)
    assert line is not None
    heights = [float(point.split()[1]) for point in line[1].split("L")]
    whole, bottom = 14.0, 128.0
    left = [round(6 * (bottom - height) / (bottom - whole), 1) for height in heights]
    assert sorted(set(left), reverse=True) == [6.0, 5.0, 4.0]
    assert left[-1] == 4.0


# -- decisions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "agent", "said", "strong"),
    [
        ("review", "reviewer", critique("PASS"), ["skip"]),
        ("review", "reviewer", critique("NEEDS_FIX"), ["apply_fix"]),
        ("debate", "critic", challenge("APPROVE"), ["accept"]),
        ("debate", "critic", challenge("CHALLENGE"), ["revise"]),
        ("review", "reviewer", {"error": "crash"}, []),
    ],
)
def test_primary_choice_follows_the_verdict(
    client: TestClient, kind: str, agent: str, said: Any, strong: list[str]
) -> None:
    body = {"kind": kind, "subject" if kind == "review" else "plan": "It rounds.", "maxRounds": 2}
    replies = {agent: [said], "synthesizer": ["All is said."]}
    session_id = reached(client, begun(client, body | {"scenario": {"replies": replies}}), "waiting_for_decision")
    for path in (f"/sessions/{session_id}", "/decisions"):
        buttons = [item for item in Seen(page(client, path)).all("button") if item.get("name") == "decision"]
        assert len(buttons) == 2
        assert [item["value"] for item in buttons if "strong" in str(item["class"]).split()] == strong


def test_decision_and_reason_are_separate(client: TestClient) -> None:
    session_id = waiting_review(client)
    body = {"decision": "skip", "rationale": "known, and planned"}
    version = client.post(f"/api/sessions/{session_id}/decision", json=body).json()["version"]
    decided = next(e["version"] for e in events(client, session_id) if e["type"] == "review.decided")
    assert decided <= version
    text = words_of(panel(client, session_id, "discussion"))
    assert f"Decision: Skip & continue (unauthenticated) event {decided} – known, and planned" in text


# -- agents x phases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "told"), [("en", "– stopped"), ("ko", "– 중단됨")])
def test_an_agent_of_a_run_that_was_reset_does_not_run(client: TestClient, language: str, told: str) -> None:
    body = {
        "kind": "orchestration",
        "prompt": "Write it",
        "maxRounds": 1,
        "triage": "orchestrate",
        "employees": [{"name": "Backend", "role": "backend"}],
    }
    task = {"agent": "Backend", "role": "backend", "task": "Write", "start_phase": 1, "end_phase": 3}
    replies = {"planner": [json.dumps({"subtasks": [task]})], "judge": ["I cannot say."]}
    session_id = reached(client, begun(client, body | {"scenario": {"replies": replies}}), "partial")
    assert "stopped" in words_of(panel(client, session_id, "matrix", lang="en"))
    assert client.post(f"/api/sessions/{session_id}/reset", json={}).status_code == 200
    html = panel(client, session_id, "matrix", lang=language)
    assert f'<td class="gate is-stopped">{told}</td>' in html
    assert "standing-here" not in html and "▸ active" not in html and "aria-current" not in html


def test_long_rows_of_verdicts_show_first_last_and_a_count(client: TestClient) -> None:
    assert "+" not in words_of(panel(client, at_checkpoint(client), "matrix"))
    failing = json.dumps({"verdicts": [{"agent": "Backend", "pass": False, "feedback": "no"}], "allDone": False})
    task = {"agent": "Backend", "role": "backend", "task": "Write", "start_phase": 1, "end_phase": 1}
    body = {
        "kind": "orchestration",
        "prompt": "Write it",
        "maxRounds": 10,
        "triage": "orchestrate",
        "employees": [{"name": "Backend", "role": "backend"}],
        "scenario": {"replies": {"planner": [json.dumps({"subtasks": [task]})], "judge": [failing]}},
    }
    html = panel(client, reached(client, begun(client, body), "partial"), "matrix")
    assert '<span class="small">+8</span>' in html and html.count('class="mark bad"') == 2
    assert "– stopped" in words_of(html)


# -- artifacts ---------------------------------------------------------------------------------------------------------


def run(**fields: Any) -> dict[str, Any]:
    result = {
        "stage": "test",
        "command": "pytest",
        "argv": ["pytest"],
        "exitCode": 0,
        "seconds": 0.25,
        "ended": "exited",
    }
    return result | {"truncated": False, "leftOut": 0, "detail": "", "stdout": "", "stderr": ""} | fields


def written(*runs: dict[str, Any], **fields: Any) -> str:
    whole = {"passed": False, "classification": "test", "summary": "Validation failed.", "runs": runs}
    return json.dumps(whole | fields)


def test_a_validation_is_shown_command_by_command(client: TestClient) -> None:
    loud = "import sys; print('<b>one</b>\\ntwo'); print('three', file=sys.stderr); sys.exit(3)"
    body = delivery({"reviewer": [review()]}, validationCommands=[["python3", "-c", loud]], maxIterations=1)
    html = panel(client, reached(client, begun(client, body), "failed"), "artifacts")
    text = words_of(html)
    assert re.search(r"✕ FAIL custom python3 -c .* exit code 3 · \d+\.\d s", text)
    assert re.findall(r'aria-label="(std\w+)"><code>(.*?)</code>', html, re.DOTALL) == [
        ("stdout", "&lt;b&gt;one&lt;/b&gt;\ntwo\n"),
        ("stderr", "three\n"),
    ]
    assert '"runs"' not in Seen(html).text and html.count("field=content") == 5


def test_output_longer_than_an_event_is_shown_in_full(client: TestClient) -> None:
    loud = "import sys; print('x' * 60_000); print('the end'); sys.exit(1)"
    body = delivery(validationCommands=[["python3", "-c", loud]], maxIterations=1)
    html = panel(client, reached(client, begun(client, body), "failed"), "artifacts")
    assert "x\nthe end\n</code></pre>" in html and "Shortened." in html
    assert len(html) < 2 * OUTPUT


def test_a_command_that_did_not_end_by_itself_says_how_and_has_no_exit_code() -> None:
    stopped = run(exitCode=-1, ended="timeout", detail="It was stopped after 300 s.", seconds=300.0)
    result = report(written(run(), stopped))
    assert result is not None
    assert [(one.passed, one.exit_code, one.detail) for one in result.runs] == [
        (True, 0, ""),
        (False, None, "It was stopped after 300 s."),
    ]


def test_what_ran_several_times_says_which_run_it_is() -> None:
    result = report(written(run(), run(command="other"), run()))
    assert result is not None
    assert [(one.nth, one.times) for one in result.runs] == [(1, 2), (1, 1), (2, 2)]


def test_a_report_is_bounded() -> None:
    result = report(written(*[run(command="x" * 9_000, stdout="o" * 9_000, stderr="e" * 9_000)] * 100))
    assert result is not None
    assert (len(result.runs), result.more, result.cut) == (RUNS, 80, True)
    assert len(str(result)) < 2 * OUTPUT


@pytest.mark.parametrize(
    "other", ["", "no JSON", "[]", "{}", written(runs="none"), written({"command": "true"}), written(passed="yes")]
)
def test_other_output_gives_no_report(other: str) -> None:
    assert report(other) is None


def test_other_json_is_shown_in_lines_and_anything_else_as_it_is() -> None:
    assert in_lines('{"a":[1],"b":"x\\ny"}') == '{\n  "a": [\n    1\n  ],\n  "b": "x\\ny"\n}'
    assert in_lines('{"a":') == '{"a":'


# -- forks -------------------------------------------------------------------------------------------------------------


def test_a_review_among_the_artifacts_is_text(client: TestClient) -> None:
    html = panel(client, two_iterations(client), "artifacts")
    text = words_of(html)
    assert "blockingIssues" not in text and "Blocking issues 1" in text and "No rate limit" in text


def test_the_worklog_has_its_times_in_the_reader_s_time(client: TestClient) -> None:
    html = panel(client, two_iterations(client), "worklog")
    assert re.search(r'Created: <time datetime="([^"]+Z)" data-local>[0-9-]+ [0-9:]+ UTC</time>', html)


WRITTEN = """# Plan

```python
def f() -> list[int]:
    return a<b
```
<script>alert(1)</script>

| file | why |
|---|---|
| a.py | x |

## Final Summary
```
never closed
[Decided]: https://evil.example"""


def test_agents_markdown_stays_complete_and_quoted_in_the_worklog(client: TestClient) -> None:
    session_id = reached(client, begun(client, delivery({"planner": [WRITTEN]})), "success")
    html = panel(client, session_id, "worklog")
    quotes = re.findall(r"<blockquote>(.*?)</blockquote>", html, re.DOTALL)
    assert len(quotes) == html.count("<blockquote>") > 0
    for quote in quotes:
        assert "<pre" in quote and "return a&lt;b" in quote
        assert re.search(r"<td>a.py</td>", quote) and "```" not in quote
        assert "never closed" in quote and "&lt;script&gt;" in quote
    outside = re.sub(r"<blockquote>.*?</blockquote>", "", html, flags=re.DOTALL)
    assert outside.count("Final Summary") == 2 and "evil" not in outside
    assert "success" in words_of(outside).lower()


def test_overlapping_decisions_share_one_mark(client: TestClient) -> None:
    session_id = begun(client, delivery({"planner": [{"text": "late", "delayMs": 60_000}]}))
    for _ in range(60):
        more = {"addMinutes": 1, "reason": "more"}
        assert client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
    html = panel(client, session_id, "gantt")
    places = [round(float(x), 1) for x in re.findall(r'<svg x="([0-9.]+)%"[^>]*><path class="gantt-mark"', html)]
    assert places and len(places) == len(set(places))
    assert len(re.findall(r"<title>decision, event \d+</title><svg", html)) == len(places)


def test_work_before_the_first_round_is_shown_first(client: TestClient) -> None:
    session_id = at_checkpoint(client)
    words = words_of(page(client, f"/sessions/{session_id}?tab=turns"))
    assert "Before the first round" in words and "Before the first iteration" not in words


def test_a_version_that_is_not_there_leads_back_to_the_session(client: TestClient) -> None:
    session_id = two_iterations(client)
    answer = client.get(f"/sessions/{session_id}?at=999", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert f'href="/sessions/{session_id}">Back to the session</a>' in answer.text


def test_the_worklog_has_its_contents_and_facts_beside_the_text(client: TestClient) -> None:
    """Each line of the contents leads to a heading of ours, and what agents quote is none."""
    session_id = reached(client, begun(client, delivery({"planner": [WRITTEN]})), "success")
    html = panel(client, session_id, "worklog")
    contents, text, facts = (part for part in re.split(r'<div class="prose(?: noted)?">', html))
    places = re.findall(r'<a href="#([^"]+)">', contents)
    assert places == re.findall(r'<h[34] id="([^"]+)">', text) and len(places) > 8
    assert "Final Summary" in words_of(contents) and words_of(contents).count("Final Summary") == 1
    assert "Phase Status Matrix" in facts and "Phase Status Matrix" not in text
    assert "Status: success" in words_of(facts) and "Work Log:" not in words_of(html)
