"""Permission requests of agents over HTTP, from question to answer (contract-2 §11)."""

from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.api.seen import BROWSER, Seen, page
from tests.api.server import delivery, ended, events, inside, only, reached, serving, session, start, until

REMOVE = {"tool": "execute", "title": "rm -rf build", "paths": ["build"]}


def asks(*more: dict[str, Any], **entry: Any) -> dict[str, Any]:
    """A delivery whose planner asks whether it may remove a folder."""
    first = {"permission": REMOVE, "ifDenied": "A plan without it.", "text": "A plan."} | entry
    return delivery({"planner": [first, *more]})


def question(client: httpx.Client, name: str, number: int = 1) -> str:
    return str(reached(client, name, "turn.permission_requested", count=number)[-1]["requestId"])


def decide(client: httpx.Client, name: str, request: str, decision: str, **more: Any) -> httpx.Response:
    body = {"requestId": request, "decision": decision} | more
    return client.post(f"/api/sessions/{name}/permission", json=body)


def success(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    until(lambda: session(client, name)["status"] == "success", what="success")
    return events(client, name)


def planned(history: list[dict[str, Any]]) -> list[str]:
    return [data["reply"]["head"] for data in only(history, "turn.answered") if data["role"] == "planner"]


def test_a_person_allows_it(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks())
        request = question(client, name)
        answer = client.get(f"/api/sessions/{name}").json()
        assert answer["session"]["status"] == "running"
        assert "permission" in answer["availableCommands"]
        frames = client.get(f"/api/sessions/{name}/turns/{name}.t1/activity").json()["items"]
        assert [(frame["kind"], frame["status"]) for frame in frames] == [("permission", "running")]
        assert decide(client, name, request, "allow").status_code == 200
        history = success(client, name)
        assert planned(history) == ["A plan."]
        [asked] = only(history, "turn.permission_requested")
        assert (asked["turnId"], asked["tool"], asked["title"], asked["paths"]) == (
            f"{name}.t1", "execute", "rm -rf build", ["build"]
        )  # fmt: skip
        [decided] = only(history, "turn.permission_decided")
        assert (decided["decision"], decided["remember"], decided["by"]) == ("allow", False, "unauthenticated")
        [did] = only(history, "turn.activity_recorded")
        assert (did["toolsTotal"], did["denied"]) == (1, 0)
        assert client.get(f"/api/sessions/{name}/replay").json()["difference"] is None


def test_a_person_denies_it(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks())
        assert decide(client, name, question(client, name), "deny").status_code == 200
        history = success(client, name)
        assert planned(history) == ["A plan without it."]
        assert only(history, "turn.activity_recorded")[0]["denied"] == 1
        worklog = client.get(f"/api/sessions/{name}/worklog").text
        assert "- Permission requested by planner (execute): rm -rf build" in worklog
        assert "- Permission: deny by a person" in worklog and "unauthenticated" not in worklog


def test_empty_answer_after_a_denial_is_unreadable(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks({"text": "Another plan."}, ifDenied=""))
        decide(client, name, question(client, name), "deny")
        history = success(client, name)
        [failed] = only(history, "turn.attempt_failed")
        assert (failed["failure"]["code"], failed["next"]) == ("unreadable", "repair")
        assert planned(history) == ["Another plan."]


def test_a_remembered_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        body = delivery({"dev": [{"permission": REMOVE, "text": "Done."}]}, validationCommands=["false"])
        name = start(client, body | {"maxIterations": 3, "noProgressLimit": 0})
        decide(client, name, question(client, name), "allow", remember=True)
        assert ended(client, name)["status"] == "failed"
        history = events(client, name)
        assert len(only(history, "turn.permission_requested")) == 1
        assert [data["toolsTotal"] for data in only(history, "turn.activity_recorded")] == [1, 1, 1]


def test_a_wrong_answer_is_refused(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks())
        request = question(client, name)
        for body, pointer in (
            ({"requestId": request}, "/decision"),
            ({"requestId": request, "decision": "maybe"}, "/decision"),
            ({"decision": "allow"}, "/requestId"),
            ({"requestId": request, "decision": "allow", "remember": "yes"}, "/remember"),
        ):
            answer = client.post(f"/api/sessions/{name}/permission", json=body)
            assert (answer.status_code, [error["pointer"] for error in answer.json()["errors"]]) == (422, [pointer])
        refused = decide(client, name, f"{name}.t1.p99", "allow")
        assert (refused.status_code, refused.json()["code"]) == (409, "permission_not_waiting")
        assert decide(client, "delivery-none", request, "allow").status_code == 404
        assert decide(client, name, request, "allow").status_code == 200
        assert decide(client, name, request, "deny").status_code == 409


def test_the_team_decides_by_rule(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text(
        '[permissions]\nallow = ["read:*"]\ndeny = ["execute:rm *"]\n'
        '[[agents]]\nname = "Ada"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
        'adapter = "scripted"\n'
    )
    with inside(tmp_path, team=team) as client:
        name = start(client, asks())
        history = success(client, name)
        assert planned(history) == ["A plan without it."]
        assert only(history, "turn.permission_requested") == []
        frames = client.get(f"/api/sessions/{name}/turns/{name}.t1/activity").json()["items"]
        assert [frame["status"] for frame in frames] == ["denied"]


def test_a_cancelled_session_withdraws_the_question(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks())
        request = question(client, name)
        client.post(f"/api/sessions/{name}/cancel", json={})
        assert only(events(client, name), "turn.permission_withdrawn")[0]["requestId"] == request
        assert decide(client, name, request, "allow").status_code == 409


def test_waiting_for_a_person_holds_no_slot(tmp_path: Path) -> None:
    with inside(tmp_path, worker_slots=1) as client:
        waiting = [start(client, asks()) for _ in range(3)]
        requests = [question(client, name) for name in waiting]
        other = start(client, delivery())
        success(client, other)
        for name, request in zip(waiting, requests, strict=True):
            decide(client, name, request, "allow")
            success(client, name)


def test_after_a_kill_the_turn_is_asked_again_and_the_old_question_withdrawn(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        name = start(server.client, asks())
        first = question(server.client, name)
        server.kill()
        server.start()
        second = question(server.client, name, 2)
        assert [data["requestId"] for data in only(events(server.client, name), "turn.permission_withdrawn")] == [first]
        assert decide(server.client, name, first, "allow").status_code == 409
        assert decide(server.client, name, second, "allow").status_code == 200
        assert planned(success(server.client, name)) == ["A plan."]


def test_the_inbox_has_every_question(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        first, second = start(client, asks()), start(client, asks())
        requests = [question(client, name) for name in (first, second)]
        answer = client.get("/api/decisions", params={"needs": "permission"}).json()
        assert [item["requestId"] for item in answer["items"]] == requests
        item = answer["items"][0]
        assert (item["sessionId"], item["kind"], item["waitsFor"], item["choices"]) == (
            first, "permission", "permission", ["allow", "deny"]
        )  # fmt: skip
        assert (item["agent"], item["tool"], item["question"], item["paths"]) == (
            "planner", "execute", "rm -rf build", ["build"]
        )  # fmt: skip
        page = client.get("/api/decisions", params={"limit": 1}).json()
        rest = client.get("/api/decisions", params={"limit": 1, "cursor": page["nextCursor"]}).json()
        assert [*page["items"], *rest["items"]] == answer["items"] and rest["nextCursor"] is None
        listed = client.get("/api/sessions").json()["items"]
        assert {each["waiting"] for each in listed} == {"permission"}
        view = session(client, first)
        assert [asked["requestId"] for asked in view["permissionRequests"]] == requests[:1]
        assert view["outstandingTurns"][0]["waitingFor"] == "permission"
        assert client.get(f"/api/sessions/{first}/turns").json()["items"][0]["status"] == "waiting"
        for name, request in zip((first, second), requests, strict=True):
            decide(client, name, request, "allow")
            success(client, name)
        assert client.get("/api/decisions").json()["items"] == []


def test_a_fork_takes_over_no_question(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks())
        question(client, name)
        version = session(client, name)["version"]
        answer = client.post(f"/api/sessions/{name}/fork", json={"atVersion": version, "mode": "stop"})
        fork = answer.json()["sessionId"]
        waiting = client.get("/api/decisions", params={"needs": "permission"}).json()["items"]
        assert [item["sessionId"] for item in waiting] == [name]
        assert "permissionRequests" not in session(client, fork)
        client.post(f"/api/sessions/{name}/cancel", json={})
        assert client.get("/api/decisions", params={"needs": "permission"}).json()["items"] == []


def test_the_pages_ask_and_take_the_answer(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, asks())
        request = question(client, name)
        inbox = Seen(page(client, "/decisions"))
        [form] = (each for each in inbox.all("form") if "data-command" in each)
        assert form["data-command"] == f"/api/sessions/{name}/permission"
        assert "planner" in inbox.text and "rm -rf build" in inbox.text
        assert "이 세션에서 기억하기" in page(client, "/decisions?lang=ko")
        own = page(client, f"/sessions/{name}")
        assert f'value="{request}"' in own and "Remember for this session" in own
        assert "rm -rf build" in page(client, "/")
        hidden = [field for field in inbox.all("input") if field.get("type") == "hidden" and "name" in field]
        typed = {str(field["name"]): field["value"] for field in hidden}
        sent = typed | {"decision": "allow", "remember": "yes"}
        answer = client.post("/decisions", data=sent, headers=BROWSER, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        [decided] = only(success(client, name), "turn.permission_decided")
        assert (decided["decision"], decided["remember"]) == ("allow", True)
        again = client.post("/decisions", data=sent | {"key": "0" * 32}, headers=BROWSER, follow_redirects=False)
        assert again.status_code == 409 and "Nothing waits for permission" in again.text
