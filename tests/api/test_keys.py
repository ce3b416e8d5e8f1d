"""Idempotency keys without a command: policies, turns, and invalid requests (§3)."""

import gc
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.app import COMMANDS, create_app
from api.http import idempotency as keys
from api.node.settings import Settings
from tests.api.pulling import beat, begin, claim, endpoint, lost, result, team
from tests.api.server import delivery, inside, serving, start, system, until

POSTS = [path for path, *_ in COMMANDS]


@contextmanager
def idle(folder: Path) -> Iterator[TestClient]:
    """The application on the log in that folder, without a worker."""
    app = create_app(Settings(database=f"sqlite:///{folder / 'log.db'}"), work=False)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with idle(folder) as result:
        yield result


@pytest.fixture(scope="module")
def open_session(client: TestClient) -> str:
    """A session that waits for a worker."""
    return start(client, delivery())


def post(client: httpx.Client, path: str, content: bytes, key: str | None) -> httpx.Response:
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    return client.post(path, content=content, headers=headers)


def content_of(answer: httpx.Response) -> tuple[int, bytes, str]:
    return answer.status_code, answer.content, answer.headers["Content-Type"]


def replayed(answer: httpx.Response) -> bool:
    return answer.headers.get("Idempotency-Replayed") == "true"


# -- invalid bodies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(("content", "status"), [(b"{", 400), (b"[]", 422), (b'{"nothing": 1}', 422)])
def test_a_body_that_is_not_taken_is_answered_once(
    client: TestClient, open_session: str, path: str, content: bytes, status: int
) -> None:
    """On every endpoint the answer is repeated byte for byte; another body under the key is 422."""
    path = path.replace("{id}", open_session).replace("{turn}", f"{open_session}.t1")
    ours = f"{path}{content!r}".replace(" ", "")
    first = post(client, path, content, ours)
    again = post(client, path, content, ours)
    assert (first.status_code, replayed(first), replayed(again)) == (status, False, True)
    assert content_of(again) == content_of(first)
    other = post(client, path, b"{}", ours)
    assert (other.status_code, replayed(other)) == (422, False)
    assert other.json()["detail"] == "This Idempotency-Key was already used for a different request."


@pytest.mark.parametrize("endpoint", ["cancel", "continue", "reset", "decision", "budget", "fork"])
def test_a_session_that_is_not_there_is_answered_once(client: TestClient, endpoint: str) -> None:
    bodies = {"decision": b'{"decision": "skip"}', "budget": b'{"addMinutes": 1, "reason": "x"}'}
    content = (bodies | {"fork": b'{"atVersion": 1}'}).get(endpoint, b"{}")
    for session_id in ("delivery-none", "nothing"):
        path = f"/api/sessions/{session_id}/{endpoint}"
        first, again = (post(client, path, content, f"{session_id}{endpoint}") for _ in range(2))
        assert (first.status_code, content_of(again)) == (404, content_of(first))
        assert (replayed(first), replayed(again)) == (False, True)


def test_an_empty_message_is_answered_once(client: TestClient) -> None:
    first, again = (post(client, "/api/message", b'{"prompt": " "}', "empty") for _ in range(2))
    assert (first.status_code, first.json()["reason"], content_of(again)) == (400, "empty", content_of(first))
    assert replayed(again)


def test_answer_under_a_key_survives_a_restart(tmp_path: Path) -> None:
    """The workspace exists now, but under the same key the answer still says it is missing."""
    body = delivery(workspace=str(tmp_path / "work"))
    with idle(tmp_path) as client:
        first = client.post("/api/sessions", json=body, headers={"Idempotency-Key": "k"})
    (tmp_path / "work").mkdir()
    with idle(tmp_path) as client:
        again = client.post("/api/sessions", json=body, headers={"Idempotency-Key": "k"})
        assert (first.status_code, content_of(again), replayed(again)) == (422, content_of(first), True)
        assert client.get("/api/sessions").json()["items"] == []
        assert client.post("/api/sessions", json=body, headers={"Idempotency-Key": "l"}).status_code == 202


def test_a_good_answer_stays_when_it_is_no_longer_possible(tmp_path: Path) -> None:
    """The workspace no longer exists."""
    (tmp_path / "work").mkdir()
    body = delivery(workspace=str(tmp_path / "work"))
    with idle(tmp_path) as client:
        first = client.post("/api/sessions", json=body, headers={"Idempotency-Key": "k"})
        shutil.rmtree(tmp_path / "work")
        again = client.post("/api/sessions", json=body, headers={"Idempotency-Key": "k"})
        assert (first.status_code, content_of(again), replayed(again)) == (202, content_of(first), True)
        assert again.headers["Location"] == first.headers["Location"]
        assert client.post("/api/sessions", json=body).status_code == 422


def test_transport_errors_do_not_use_up_the_key(client: TestClient) -> None:
    """After 413 or 415, the corrected request may use the same key."""
    wrong = client.post("/api/policies/intent", content=b"a", headers={"Idempotency-Key": "mended"})
    large = post(client, "/api/policies/intent", b'{"text": "' + b"a" * 2**20 + b'"}', "mended")
    assert (wrong.status_code, large.status_code) == (415, 413)
    assert post(client, "/api/policies/intent", b'{"text": "reset"}', "mended").status_code == 200


def test_without_a_key_nothing_is_kept(client: TestClient) -> None:
    before = receipts(client)
    assert post(client, "/api/sessions", b"{", None).status_code == 400
    assert post(client, "/api/policies/intent", b'{"text": ""}', None).status_code == 200
    assert receipts(client) == before


def receipts(client: TestClient) -> int:
    store = system(client).store
    with store._reading() as connection:
        return int(connection.execute("SELECT count(*) FROM receipts").fetchone()[0])


# -- policies ------------------------------------------------------------------------------------------------------


def test_a_policy_answers_once_under_a_key(client: TestClient) -> None:
    first, again = (post(client, "/api/policies/intent", b'{"text": "reset"}', "intent") for _ in range(2))
    assert (first.status_code, first.json(), content_of(again)) == (200, {"intent": "reset"}, content_of(first))
    assert (replayed(first), replayed(again)) == (False, True)
    assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "no-store"
    other = post(client, "/api/policies/intent", b'{"text": "continue"}', "intent")
    assert (other.status_code, replayed(other)) == (422, False)
    elsewhere = post(client, "/api/policies/triage", b'{"text": "reset"}', "intent")
    assert elsewhere.status_code == 422


def test_a_key_of_a_policy_is_used_up_for_commands_and_the_other_way_round(client: TestClient) -> None:
    assert post(client, "/api/policies/intent", b'{"text": "reset"}', "both").status_code == 200
    assert client.post("/api/sessions", json=delivery(), headers={"Idempotency-Key": "both"}).status_code == 422
    assert client.post("/api/sessions", json=delivery(), headers={"Idempotency-Key": "both2"}).status_code == 202
    assert post(client, "/api/policies/intent", b'{"text": "reset"}', "both2").status_code == 422


def test_repeated_lab_request_answers_from_the_earlier_log(tmp_path: Path) -> None:
    with idle(tmp_path) as client:
        body = b'{"profiles": ["seed"]}'
        first = post(client, "/api/policies/lab", body, "lab")
        start(client)
    with idle(tmp_path) as client:
        again = post(client, "/api/policies/lab", body, "lab")
        assert (first.status_code, content_of(again), replayed(again)) == (200, content_of(first), True)
        assert post(client, "/api/policies/lab", body, None).json()["asOf"] > first.json()["asOf"]


def test_an_answer_that_is_too_long_to_keep_is_made_again(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEPT_BYTES", 10)
    first, again = (post(client, "/api/policies/intent", b'{"text": "reset"}', "long") for _ in range(2))
    assert (content_of(again), replayed(first), replayed(again)) == (content_of(first), False, True)
    assert post(client, "/api/policies/intent", b'{"text": "x"}', "long").status_code == 422
    wrong, still = (post(client, "/api/policies/intent", b"{", "long wrong".replace(" ", "")) for _ in range(2))
    assert (wrong.status_code, content_of(still), replayed(still)) == (400, content_of(wrong), True)


def test_no_lock_outlives_the_requests_that_bring_its_key(client: TestClient) -> None:
    """Whether the request is answered, repeated, or refused for another body under the key."""
    for number in range(20):
        for content in (b'{"text": "reset"}', b'{"text": "reset"}', b'{"text": "x"}', b"{"):
            post(client, "/api/policies/intent", content, f"lock{number}")
    gc.collect()
    assert dict(keys._ANSWERING) == {}


# -- turns ---------------------------------------------------------------------------------------------------------

CLAIM = "/api/turns/claim"


@pytest.fixture(scope="module")
def pulled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The developer is external, with very long leases."""
    folder = tmp_path_factory.mktemp("pulled")
    with inside(folder, team=team(folder, "dev")) as result:
        yield result


def test_a_claim_under_a_key_is_given_once(pulled: TestClient) -> None:
    begin(pulled)
    first, again = (post(pulled, CLAIM, b'{"waitSeconds": 10}', "claim") for _ in range(2))
    assert (first.status_code, content_of(again)) == (200, content_of(first))
    assert (replayed(first), replayed(again)) == (False, True)
    assert post(pulled, CLAIM, b'{"waitSeconds": 9}', "claim").status_code == 422
    assert beat(pulled, first.json()).status_code == 200
    beats = [post(pulled, endpoint(first.json(), "heartbeat"), b'{"attempt": 1}', "beat") for _ in range(2)]
    assert (beats[0].status_code, content_of(beats[1])) == (200, content_of(beats[0]))
    assert [replayed(answer) for answer in beats] == [False, True]
    assert result(pulled, first.json()).status_code == 200


def test_claims_at_once_under_one_key_take_one_turn(pulled: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a very long answer is stored, as computing it again would claim another turn."""
    monkeypatch.setattr(keys, "KEPT_BYTES", 10)
    begun = {begin(pulled), begin(pulled)}
    with ThreadPoolExecutor(4) as crowd:
        asked = [crowd.submit(post, pulled, CLAIM, b'{"waitSeconds": 10}', "crowd") for _ in range(4)]
        answers = [answer.result() for answer in asked]
    assert {content_of(answer) for answer in answers} == {content_of(answers[0])}
    assert sorted(replayed(answer) for answer in answers) == [False, True, True, True]
    turns = [answers[0].json(), claim(pulled)]
    assert {turn["sessionId"] for turn in turns} == begun
    assert [result(pulled, turn).status_code for turn in turns] == [200, 200]


def test_empty_claim_does_not_use_up_the_key(pulled: TestClient) -> None:
    empty = post(pulled, CLAIM, b"{}", "empty-handed")
    assert (empty.status_code, replayed(empty)) == (204, False)
    begin(pulled)

    def claimed() -> httpx.Response | None:
        answer = post(pulled, CLAIM, b"{}", "empty-handed")
        return answer if answer.status_code != 204 else None

    value = until(claimed, what="the developer's turn")
    assert (value.status_code, replayed(value)) == (200, False)
    assert result(pulled, value.json()).status_code == 200


def test_lost_turn_is_answered_identically_under_its_key(pulled: TestClient) -> None:
    begin(pulled)
    turn = claim(pulled)
    assert result(pulled, turn).status_code == 200
    first, again = (post(pulled, endpoint(turn, "heartbeat"), b'{"attempt": 1}', "lost") for _ in range(2))
    lost(first, "settled")
    assert (content_of(again), replayed(first), replayed(again)) == (content_of(first), False, True)


# -- at once -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/api/policies/phases", b'{"subtasks": [{"agent": "A", "role": "backend"}]}', 200),
        ("/api/sessions", b'{"task": ""}', 422),
        ("/api/sessions/delivery-none/cancel", b"{}", 404),
    ],
)
def test_concurrent_requests_under_one_key_get_one_answer(
    tmp_path: Path, path: str, content: bytes, status: int
) -> None:
    with serving(tmp_path) as server, ThreadPoolExecutor(8) as crowd:
        for number in range(5):
            one = [crowd.submit(post, server.client, path, content, f"race{number}") for _ in range(8)]
            answers = [item.result() for item in one]
            assert {content_of(answer) for answer in answers} == {content_of(answers[0])}
            assert answers[0].status_code == status
            assert sum(not replayed(answer) for answer in answers) == 1


def test_a_command_that_goes_well_looks_nothing_up_itself(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Any) -> None:
        raise AssertionError("the writer looks keys up, a batch at a time")

    session_id = start(client, **{"Idempotency-Key": "before"})
    monkeypatch.setattr(system(client).store, "receipt", never)
    start(client, **{"Idempotency-Key": "well"})
    ours = {"Idempotency-Key": "cancel"}
    assert client.post(f"/api/sessions/{session_id}/cancel", json={}, headers=ours).status_code == 200
    assert client.post(f"/api/sessions/{session_id}/cancel", json={}, headers=ours).status_code == 200
    refused = client.post(f"/api/sessions/{session_id}/cancel", json={}, headers={"Idempotency-Key": "refused"})
    assert refused.status_code == 409
