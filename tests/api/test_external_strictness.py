"""Requests of external workers are read strictly: invalid ones change nothing and keep the lease."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from tests.api.pulling import beat, begin, claim, endpoint, lost, result, team
from tests.api.server import Json, ended, events, inside, only, session, until


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The developer is external, with answers of up to 2,000 bytes."""
    folder = tmp_path_factory.mktemp("strictness")
    with inside(folder, team=team(folder, "dev", limits="output_bytes = 2000")) as result:
        yield result


@pytest.fixture
def turn(client: TestClient) -> Iterator[Json]:
    """The developer's turn of a new delivery with one attempt; cancelled afterwards."""
    begin(client, retry={"attempts": 1, "repairs": 0})
    claimed_turn = claim(client)
    yield claimed_turn
    client.post(f"/api/sessions/{claimed_turn['sessionId']}/cancel", json={})


def unchanged(client: httpx.Client, turn: Json) -> None:
    """Check that the lease is valid and nothing was recorded."""
    assert beat(client, turn).status_code == 200
    settled = [event for event in events(client, turn["sessionId"]) if event["data"].get("turnId") == turn["turnId"]]
    assert [event["type"] for event in settled] == ["turn.requested"]


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, [""]),
        ({"text": None}, [""]),
        ({"text": 3}, ["/text"]),
        ({"text": "x", "answer": 42}, ["/answer"]),
        ({"text": "x", "usage": {"inputTokens": -1}}, ["/usage/inputTokens"]),
        ({"text": "x", "usage": {"inputTokens": 1.5, "costMicros": "3"}}, ["/usage/inputTokens", "/usage/costMicros"]),
        ({"text": "x", "usage": {"outputTokens": 2**53}}, ["/usage/outputTokens"]),
        ({"text": "x", "usage": {"outputTokens": True}}, ["/usage/outputTokens"]),
        ({"text": "x", "usage": []}, ["/usage"]),
        ({"text": "x", "agentSession": ""}, ["/agentSession"]),
        ({"text": "x", "agentSession": "x" * 1_001}, ["/agentSession"]),
        ({"text": "x", "model": ""}, ["/model"]),
        ({"text": "x", "usage": {"model": ""}}, ["/usage/model"]),
        ({"text": "x", "usage": {"model": "m-1"}, "model": "m-2"}, ["/usage/model"]),
        (
            {"text": "x", "usage": {"model": "m-1"}, "model": "m-2", "files": {"/a": "x"}},
            ["/usage/model", "/files/~1a"],
        ),
        ({"text": "x", "attempt": 0}, ["/attempt"]),
        ({"text": "x", "attempt": "1"}, ["/attempt"]),
        ({"text": "x", "files": ["a"]}, ["/files"]),
        ({"text": "x", "files": {"a.py": 3}}, ["/files/a.py"]),
        ({"text": "x", "files": {"": "x"}}, ["/files/"]),
        ({"text": "x", "files": {"../a.py": "x"}}, ["/files/..~1a.py"]),
        ({"text": "x", "files": {"/etc/passwd": "x", "ok.py": "x"}}, ["/files/~1etc~1passwd"]),
        ({"text": "x", "files": {".git/config": "x"}}, ["/files/.git~1config"]),
        ({"text": "x", "files": {"a/b": "x", "a": "x"}}, ["/files"]),
        ({"text": "x", "files": {"./a": "x", "a": "y"}}, ["/files"]),
        ({"failure": {"code": "deadline"}}, ["/failure/code"]),
        ({"failure": {"code": "crash", "detail": "x" * 2_001}}, ["/failure/detail"]),
        ({"failure": {"code": "crash"}, "files": {"a": "x"}}, [""]),
    ],
)
def test_invalid_result_is_refused_and_changes_nothing(
    client: TestClient, turn: Json, body: Json, pointers: list[str]
) -> None:
    answer = client.post(endpoint(turn, "result"), json={"attempt": turn["lease"]["attempt"]} | body)
    assert answer.status_code == 422, answer.text
    assert sorted(item["pointer"] for item in answer.json()["errors"]) == sorted(pointers)
    unchanged(client, turn)
    assert list(Path(turn["workspace"]).glob("[!.]*")) == []


@pytest.mark.parametrize(("name", "body"), [("result", {"text": "x"}), ("heartbeat", {})])
def test_a_worker_names_the_attempt_that_it_holds(client: TestClient, turn: Json, name: str, body: Json) -> None:
    answer = client.post(endpoint(turn, name), json=body)
    assert answer.status_code == 422
    assert [item["pointer"] for item in answer.json()["errors"]] == ["/attempt"]
    unchanged(client, turn)


def test_files_do_not_follow_links_out_of_the_workspace(client: TestClient, turn: Json, tmp_path: Path) -> None:
    Path(turn["workspace"], "out").symlink_to(tmp_path)
    answer = result(client, turn, files={"out/owned.py": "x"})
    assert answer.status_code == 422
    assert list(tmp_path.iterdir()) == []
    unchanged(client, turn)


@pytest.mark.parametrize("size", [2_001, 2_000_000])
def test_a_huge_answer_is_too_large(client: TestClient, turn: Json, size: int) -> None:
    """Above the agent's limit in the team file, and above the limit of any request."""
    assert result(client, turn, "x" * size).status_code == 413
    unchanged(client, turn)


def test_a_turn_that_may_only_read_takes_no_files(tmp_path: Path) -> None:
    with inside(tmp_path, team=team(tmp_path, "planner")) as client:
        begin(client)
        turn = claim(client)
        answer = result(client, turn, files={"a.py": "x"})
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/files"]
        unchanged(client, turn)


def test_words_of_an_answer_that_would_leave_the_workspace_are_a_failure_of_the_agent(
    client: TestClient, turn: Json
) -> None:
    """As for any agent, the developer's JSON may also name files."""
    words = json.dumps({"changes": [{"path": "../owned.py", "content": "x"}]})
    assert result(client, turn, words).status_code == 200
    ended(client, turn["sessionId"])
    data = only(events(client, turn["sessionId"]), "turn.failed") + only(
        events(client, turn["sessionId"]), "turn.answered"
    )
    assert not Path(turn["workspace"], "../owned.py").exists()
    [failed] = [message for message in data if message["turnId"] == turn["turnId"]]
    assert failed["failure"]["code"] == "unreadable"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"roles": []}, "/roles"),
        ({"agents": "Remote"}, "/agents"),
        ({"waitSeconds": -1}, "/waitSeconds"),
        ({"waitSeconds": "3"}, "/waitSeconds"),
        ({"waitSeconds": True}, "/waitSeconds"),
        ({"wait": 3}, "/wait"),
        ({"worker": "me"}, "/worker"),
    ],
)
def test_a_claim_is_read_strictly(client: TestClient, body: Json, pointer: str) -> None:
    answer = client.post("/api/turns/claim", json=body)
    assert answer.status_code == 422, answer.text
    assert [item["pointer"] for item in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize("name", ["heartbeat", "result"])
@pytest.mark.parametrize("turn_id", ["delivery-none.t1", "x", "%00", "..%2f..", "a" * 300])
def test_an_unknown_turn_is_404(client: TestClient, name: str, turn_id: str) -> None:
    answer = client.post(
        f"/api/turns/{turn_id}/{name}", json={"attempt": 1} | ({"text": "x"} if name == "result" else {})
    )
    assert answer.status_code == 404, answer.text
    without_attempt = client.post(f"/api/turns/{turn_id}/{name}", json={"no": "field"})
    assert without_attempt.status_code == 404, without_attempt.text


def test_a_turn_that_waits_and_one_of_this_service_itself_cannot_be_answered(client: TestClient) -> None:
    session_id = begin(client)
    [waiting] = until(
        lambda: [t for t in session(client, session_id)["outstandingTurns"] if t["role"] == "dev"], what="the dev"
    )
    forged = {"turnId": waiting["turnId"], "lease": {"attempt": 1}}
    assert "waits to be claimed" in lost(beat(client, forged), "waiting")
    lost(result(client, forged), "waiting")
    planning = {"turnId": f"{session_id}.t1", "lease": {"attempt": 1}}
    lost(result(client, planning), "settled")
    assert result(client, claim(client)).status_code == 200
