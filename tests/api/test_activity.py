"""The activity of agents, recorded and live (contract-2 §11)."""

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.seen import page
from tests.api.server import delivery, events, inside, only, serving, session, start, until
from tests.api.test_session_page import words_of

PYTEST = {"kind": "tool", "tool": "execute", "title": "pytest -q", "exitCode": 1, "status": "failed"}


def busy(**more: Any) -> dict[str, Any]:
    """A delivery whose planner runs the tests before it answers."""
    return delivery({"planner": [{"text": "A plan.", "activity": [PYTEST | {"afterMs": 5}], **more}]})


def test_activity_of_an_attempt_is_recorded_just_before_its_end(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, busy())
        until(lambda: session(client, name)["status"] == "success", what="success")
        history = events(client, name)
        [place] = [at for at, event in enumerate(history) if event["type"] == "turn.activity_recorded"]
        data, end = history[place]["data"], history[place + 1]
        assert data["tools"][0] | {"tool": "execute", "title": "pytest -q", "exitCode": 1} == data["tools"][0]
        assert (data["toolsTotal"], data["denied"], data["attempt"]) == (1, 0, 1)
        assert (end["type"], end["data"]["turnId"]) == ("turn.answered", data["turnId"])
        assert client.get(f"/api/sessions/{name}/replay").json()["difference"] is None
        assert client.get(f"/api/sessions/{name}/explain").status_code == 200
        assert client.get(f"/sessions/{name}?tab=turns").status_code == 200


def test_turns_are_listed_with_their_results(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, busy(usage={"inputTokens": 7, "cachedTokens": 3}))
        until(lambda: session(client, name)["status"] == "success", what="success")
        answer = client.get(f"/api/sessions/{name}/turns").json()
        first = answer["items"][0]
        assert (first["agent"], first["status"], first["attempt"]) == ("planner", "answered", 1)
        assert (first["tools"], first["usage"]["cachedTokens"]) == ({"total": 1, "denied": 0}, 3)
        assert [item["role"] for item in answer["items"]].count("validation") == 1
        pages = client.get(f"/api/sessions/{name}/turns", params={"limit": 1}).json()
        rest = client.get(f"/api/sessions/{name}/turns", params={"cursor": pages["nextCursor"]}).json()
        assert [*pages["items"], *rest["items"]] == answer["items"]
        early = client.get(f"/api/sessions/{name}/turns", params={"version": 3}).json()["items"]
        assert [item["status"] for item in early] == ["running"]


def test_a_turn_brings_its_texts_and_its_activity(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, busy())
        until(lambda: session(client, name)["status"] == "success", what="success")
        address = f"/api/sessions/{name}/turns/{name}.t1"
        turn = client.get(address).json()
        assert (turn["reply"], turn["failure"], turn["patch"]) == ("A plan.", None, None)
        assert "Add a login page" in turn["prompt"]
        assert [frame["title"] for frame in turn["activity"]] == ["pytest -q"]
        assert client.get(f"{address}/activity").json()["items"] == turn["activity"]
        printed = client.get(f"{address}/transcript")
        assert (printed.headers["content-type"], "pytest -q" in printed.text) == ("text/plain; charset=utf-8", True)
        stream = client.get(f"{address}/activity", headers={"Accept": "text/event-stream"}).text
        assert (stream.count('data: {"seq"'), stream.endswith("event: end\ndata: {}\n\n")) == (1, True)
        missing = client.get(f"/api/sessions/{name}/turns/{name}.t99")
        assert (missing.status_code, client.get(f"{address}x/transcript").status_code) == (404, 404)


def test_a_validation_has_no_transcript(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, delivery())
        until(lambda: session(client, name)["status"] == "success", what="success")
        turns = client.get(f"/api/sessions/{name}/turns").json()["items"]
        [ran] = [turn["turnId"] for turn in turns if turn["role"] == "validation"]
        assert client.get(f"/api/sessions/{name}/turns/{ran}/transcript").status_code == 404


def test_frames_arrive_while_the_turn_runs(tmp_path: Path) -> None:
    steps = [PYTEST | {"afterMs": 0}, {"kind": "message", "text": "Hm.", "afterMs": 300}]
    body = delivery({"planner": [{"text": "A plan.", "activity": steps, "delayMs": 1_500}]})
    with serving(tmp_path) as server:
        name = start(server.client, body)
        address = f"/api/sessions/{name}/turns/{name}.t1"
        headers = {"Accept": "text/event-stream"}
        with server.client.stream("GET", f"{address}/activity", headers=headers) as answer:
            lines = (line for line in answer.iter_lines() if line.startswith(('data: {"seq"', "event:")))
            assert '"title":"pytest -q"' in next(lines)
            now = server.client.get(address).json()
            assert (now["status"], now["attempt"], now["endedAt"]) == ("running", 1, None)
            assert '"text":"Hm."' in next(lines)
            assert next(lines) == "event: end"
        assert session(server.client, name)["version"] > 3


def cancelled(client: Any, name: str) -> list[dict[str, Any]]:
    return [event for event in events(client, name) if event["type"] in ("turn.activity_recorded", "turn.cancelled")]


MANY = 10_000
CALLING = f"""
import json, sys
sys.stdin.read()
def say(kind, part):
    print(json.dumps({{"type": kind, "message": {{"content": [part]}}}}))
for number in range({MANY}):
    call = {{"type": "tool_use", "id": str(number), "name": "Bash", "input": {{"command": f"echo {{number}}"}}}}
    say("assistant", call)
    say("user", {{"type": "tool_result", "tool_use_id": str(number), "content": str(number)}})
print(json.dumps({{"type": "result", "result": "A plan."}}))
"""


def test_a_turn_of_10_000_tool_calls_costs_the_log_one_event_and_one_text(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(CALLING)
    team = tmp_path / "team.toml"
    team.write_text(
        '[[agents]]\nname = "Claude"\nroles = ["planner"]\nadapter = "command"\n[agents.settings]\n'
        f'argv = {json.dumps([sys.executable, str(tmp_path / "agent.py")])}\noutput = "json"\nstream = "claude"\n'
        'text_path = { path = "result", where = { type = "result" } }\n'
    )
    body = delivery()
    del body["scenario"]
    with inside(tmp_path, team=team) as client:
        name = start(client, body)
        until(lambda: only(events(client, name), "turn.answered"), what="the plan", seconds=60)
        history = events(client, name)
        [did] = only(history, "turn.activity_recorded")
        assert (did["toolsTotal"], len(did["tools"])) == (MANY, 200)
        around = [event["type"] for event in history[2:5]]
        assert around == ["turn.requested", "turn.activity_recorded", "turn.answered"]
        assert client.post(f"/api/sessions/{name}/cancel", json={}).status_code == 200
    with closing(sqlite3.connect(tmp_path / "hansard.db")) as log:
        assert log.execute("SELECT digest FROM texts").fetchall() == [(did["transcript"]["digest"],)]


def test_cancelled_attempt_keeps_activity_and_usage(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, busy(delayMs=60_000, usage={"inputTokens": 7, "outputTokens": 2}))
        address = f"/api/sessions/{name}/turns/{name}.t1"
        until(lambda: client.get(address).json()["tools"]["total"], what="a tool")
        assert client.post(f"/api/sessions/{name}/cancel", json={}).status_code == 200
        did, end = cancelled(client, name)
        assert (did["type"], did["data"]["toolsTotal"], did["data"]["attempt"]) == ("turn.activity_recorded", 1, 1)
        assert (end["data"]["attempt"], end["data"]["usage"]["inputTokens"]) == (1, 7)
        assert session(client, name)["budget"]["tokens"] == 9
        assert client.get(f"/api/sessions/{name}/replay").json()["difference"] is None
        turn = client.get(address).json()
        assert (turn["status"], turn["usage"]["inputTokens"], len(turn["activity"])) == ("cancelled", 7, 1)
        costs = client.get("/api/reports/costs", headers={"Read-After": str(end["position"])}).json()
        assert [row["tokens"] for row in costs["rows"]] == [9]


def test_cancelled_program_keeps_the_usage_that_it_has_reported(tmp_path: Path) -> None:
    said = json.dumps({"usage": {"in": 700, "out": 30}})
    script = (
        f"import sys, time; sys.stdin.read(); print('{said}', flush=True); sys.stderr.write('.\\n'); time.sleep(600)"
    )
    team = tmp_path / "team.toml"
    team.write_text(
        '[[agents]]\nname = "Una"\nroles = ["planner"]\nadapter = "command"\n[agents.settings]\n'
        f'argv = {json.dumps([sys.executable, "-c", script])}\noutput = "json"\ntext_path = "text"\n'
        '[agents.settings.usage_paths]\ninput_tokens = { path = "usage.in", every = true }\n'
        'output_tokens = "usage.out"\n'
    )
    body = delivery()
    del body["scenario"]
    with inside(tmp_path, team=team) as client:
        name = start(client, body)
        until(lambda: client.get(f"/api/sessions/{name}/turns/{name}.t1").json()["activity"], what="the report")
        assert client.post(f"/api/sessions/{name}/cancel", json={}).status_code == 200
        _, end = cancelled(client, name)
        assert (end["data"]["usage"]["inputTokens"], end["data"]["usage"]["outputTokens"]) == (700, 30)
        assert session(client, name)["budget"]["tokens"] == 730


def test_expired_attempt_keeps_its_activity(tmp_path: Path) -> None:
    with inside(tmp_path, budget_minute=0.4) as client:
        name = start(client, busy(delayMs=60_000) | {"maxMinutes": 1})
        until(lambda: session(client, name)["status"] == "failed", what="the deadline")
        did, end = cancelled(client, name)
        assert (did["data"]["toolsTotal"], end["data"]["reason"], end["data"]["attempt"]) == (1, "deadline", 1)
        assert client.get(f"/api/sessions/{name}/replay").json()["difference"] is None


def test_a_turn_that_is_tried_again_waits_and_then_counts_all_its_attempts(tmp_path: Path) -> None:
    used = {"usage": {"inputTokens": 5}, "activity": [PYTEST]}
    replies = [{"error": "rate_limit", "retryAfter": 1_500, **used}, {"text": "A plan.", **used}]
    with inside(tmp_path) as client:
        name = start(client, delivery({"planner": replies}))
        address = f"/api/sessions/{name}/turns/{name}.t1"
        until(lambda: client.get(address).json()["status"] == "waiting", what="a wait")
        assert client.get(address).json()["endedAt"] is None
        assert client.get(f"/sessions/{name}?tab=turns").status_code == 200
        until(lambda: client.get(address).json()["status"] == "answered", what="an answer")
        turn = client.get(address).json()
        assert (turn["attempt"], turn["tools"]["total"], turn["usage"]["inputTokens"]) == (2, 2, 10)
        assert [frame["seq"] for frame in turn["activity"]] == [1, 2]
        html = page(client, f"/sessions/{name}/turns/{name}.t1")
        assert re.search(r"Attempt 1 .*rate limit.* Attempt 2", words_of(html))
        assert f'href="{address}/transcript"' in html


def test_turn_page_follows_activity_and_keeps_it(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, busy(delayMs=60_000))
        path = f"/sessions/{name}/turns/{name}.t1"
        until(lambda: client.get(f"/api{path}").json()["status"] == "running", what="the turn")
        assert f'data-activity="/api{path}/activity"' in client.get(path).text
        client.post(f"/api/sessions/{name}/cancel", json={})
        shown = client.get(path).text
        assert "data-activity=" not in shown
        assert "Run pytest -q ✕ exit code 1" in words_of(shown)
