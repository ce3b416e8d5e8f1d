"""An ACP agent in a delivery: its activity is visible, and its questions wait over HTTP and on the page."""

import json
import sys
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.api.seen import page
from tests.api.server import delivery, ended, events, inside, only, start, until

PROGRAM = Path(__file__).parents[1] / "adapters" / "acp_program.py"
SECONDS = 120.0
CALL = {"toolCallId": "c1", "kind": "execute", "title": "Clean", "rawInput": {"command": "rm -rf build"}}


def team(folder: Path, role: str, *steps: dict[str, Any]) -> Path:
    """Zoe in one role, scripted agents in the others."""
    orders = folder / "orders.json"
    orders.write_text(json.dumps({"steps": list(steps)}))
    others = [one for one in ("planner", "architect", "designer", "dev", "reviewer") if one != role]
    path = folder / "team.toml"
    path.write_text(
        f'sandbox = "off"\n[[agents]]\nname = "Zoe"\nroles = "{role}"\nadapter = "acp"\n[agents.settings]\n'
        f"argv = {[sys.executable, str(PROGRAM), str(orders)]}\n"
        f'[[agents]]\nname = "Ada"\nroles = {others}\nadapter = "scripted"\n'
    )
    return path


def body() -> dict[str, Any]:
    result = delivery()
    del result["scenario"]
    return result


def question(client: httpx.Client, name: str) -> dict[str, Any]:
    result = until(
        lambda: only(events(client, name), "turn.permission_requested"), what="the question", seconds=SECONDS
    )
    return dict(result[0])


def of_zoe(history: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Her answer and her activity."""
    [answer] = [data for data in only(history, "turn.answered") if data["agent"] == "Zoe"]
    [did] = [data for data in only(history, "turn.activity_recorded") if data["turnId"] == answer["turnId"]]
    return answer, did


@pytest.mark.parametrize(("decision", "denied"), [("allow", 0), ("deny", 1)])
def test_a_question_waits_for_a_person_whose_answer_is_honoured(tmp_path: Path, decision: str, denied: int) -> None:
    begins = {"update": {"sessionUpdate": "tool_call", "status": "pending", **CALL}}
    ends = {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}}
    path = team(tmp_path, "planner", begins, {"ask": {"toolCallId": "c1"}}, ends, {"say": "A plan."})
    with inside(tmp_path, team=path) as client:
        name = start(client, body())
        asked = question(client, name)
        assert (asked["tool"], asked["title"]) == ("execute", "rm -rf build")
        assert "rm -rf build" in page(client, f"/sessions/{name}")
        assert "rm -rf build" in page(client, "/decisions")
        frames = frames_of(client, name, asked["turnId"])
        assert [(one["kind"], one["title"], one["status"]) for one in frames] == [
            ("tool", "rm -rf build", "running"),
            ("permission", "rm -rf build", "running"),
        ]
        answer = {"requestId": asked["requestId"], "decision": decision}
        assert client.post(f"/api/sessions/{name}/permission", json=answer).status_code == 200
        assert ended(client, name, seconds=SECONDS)["status"] == "success"
        answered, did = of_zoe(events(client, name))
        assert (answered["reply"]["head"], answered["fence"], answered["resumed"]) == ("A plan.", "none", False)
        [tool] = did["tools"]
        assert (tool["tool"], tool["title"], tool["denied"]) == ("execute", "rm -rf build", bool(denied))
        assert (did["toolsTotal"], did["denied"]) == (1, denied)
    seen = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    chosen = [one["outcome"]["optionId"] for one in seen if "outcome" in one]
    assert chosen == ["o-allow_once" if decision == "allow" else "o-reject_once"]


def test_reviewer_may_not_edit_and_no_question_is_asked(tmp_path: Path) -> None:
    approved = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 95, "fixPlan": []})
    edit = {"toolCallId": "c1", "kind": "edit", "title": "calc.py"}
    with inside(tmp_path, team=team(tmp_path, "reviewer", {"ask": edit}, {"say": approved})) as client:
        name = start(client, body())
        assert ended(client, name, seconds=SECONDS)["status"] == "success"
        history = events(client, name)
        assert only(history, "turn.permission_requested") == []
        assert of_zoe(history)[1]["denied"] == 1


def frames_of(client: httpx.Client, name: str, turn: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = client.get(f"/api/sessions/{name}/turns/{turn}/activity").json()["items"]
    return answer
