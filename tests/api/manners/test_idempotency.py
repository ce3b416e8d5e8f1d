"""Idempotency keys: the same key gives the same answer (contract §3)."""

import hashlib
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.manners.parts import START, after, key, pointers, posted, problem, together
from tests.api.server import (
    Server,
    events,
    inside,
    serving,
    session,
    start,
)


def test_the_same_key_gives_the_first_answer_byte_for_byte(client: TestClient) -> None:
    ours = key()
    first = client.post("/api/sessions", json=START, headers=ours)
    again = client.post("/api/sessions", json=START, headers=ours)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.content == again.content
    assert first.headers["location"] == again.headers["location"] == f"/api/sessions/{first.json()['sessionId']}"
    assert first.headers["etag"] == again.headers["etag"] == '"3"'
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


def test_first_answer_is_repeated_after_later_changes(client: TestClient, waiting: str) -> None:
    ours, path = key(), f"/api/sessions/{waiting}/budget"
    first = client.post(path, json={"addMinutes": 1, "reason": "a"}, headers=ours)
    client.post(path, json={"addMinutes": 2, "reason": "b"})
    again = client.post(path, json={"addMinutes": 1, "reason": "a"}, headers=ours)
    assert (again.status_code, again.content) == (200, first.content)
    assert session(client, waiting)["budget"]["maxMinutes"] == 48
    client.post(f"/api/sessions/{waiting}/cancel", json={})
    late = client.post(path, json={"addMinutes": 1, "reason": "a"}, headers=ours)
    assert (late.status_code, late.content, late.headers["idempotency-replayed"]) == (200, first.content, "true")


@pytest.mark.parametrize("other", [b'{"addMinutes": 2, "reason": "a"}', b'{"addMinutes":1,"reason":"a"}'])
def test_the_same_key_with_another_body_is_422(client: TestClient, waiting: str, other: bytes) -> None:
    ours, path = key(), f"/api/sessions/{waiting}/budget"
    assert posted(client, b'{"addMinutes": 1, "reason": "a"}', path, **ours).status_code == 200
    assert pointers(posted(client, other, path, **ours)) == [""]
    assert session(client, waiting)["version"] == 4


def test_another_sessions_endpoint_is_another_request(client: TestClient, waiting: str) -> None:
    ours, other = key(), start(client, START)
    assert client.post(f"/api/sessions/{waiting}/cancel", json={}, headers=ours).status_code == 200
    assert pointers(client.post(f"/api/sessions/{other}/cancel", json={}, headers=ours)) == [""]
    assert session(client, other)["status"] == "running"


def test_a_refused_answer_is_an_answer_too(client: TestClient, waiting: str) -> None:
    """409, 412 and 404 are repeated unchanged, even when the command would be allowed now."""
    finished = start(client, START)
    client.post(f"/api/sessions/{finished}/cancel", json={})
    refused = key() | {"If-Match": '"1"'}
    cases: list[tuple[int, str, dict[str, str]]] = [
        (409, f"/api/sessions/{finished}/cancel", key()),
        (412, f"/api/sessions/{waiting}/cancel", refused),
        (404, "/api/sessions/delivery-none/cancel", key()),
    ]
    for status, path, ours in cases:
        first = client.post(path, json={}, headers=ours)
        problem(first, status)
        assert "idempotency-replayed" not in first.headers
        for _ in range(3):
            again = client.post(path, json={}, headers=ours)
            problem(again, status)
            assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    assert session(client, waiting)["version"] == 3


@pytest.mark.parametrize("words", ["", "x" * 256, "a b", "ключ", "a\tb"])
def test_invalid_key_is_400(client: TestClient, words: str) -> None:
    problem(client.post("/api/sessions", json=START, headers=[(b"Idempotency-Key", words.encode())]), 400)


@pytest.mark.parametrize(("name", "values"), [("Idempotency-Key", ("a", "b")), ("If-Match", ('"3"', '"4"'))])
def test_a_header_that_is_sent_twice_is_400(client: TestClient, waiting: str, name: str, values: tuple[str]) -> None:
    answer = client.post(f"/api/sessions/{waiting}/cancel", json={}, headers=[(name, value) for value in values])
    assert answer.status_code == 400
    assert session(client, waiting)["status"] == "running"


def test_key_of_255_characters_is_valid(client: TestClient) -> None:
    ours = {"Idempotency-Key": (str(uuid.uuid4()) + "~" * 255)[:255]}
    bodies = {client.post("/api/sessions", json=START, headers=ours).content for _ in range(2)}
    assert len(bodies) == 1


def test_concurrent_duplicates_are_carried_out_once(client: TestClient) -> None:
    """30 keys, 8 at once each: one effect, one answer, the other seven replayed (P7)."""
    rounds, ways = 30, 8
    with ThreadPoolExecutor(ways) as pool:
        for _ in range(rounds):
            ours, barrier = key(), threading.Barrier(ways)
            answers = together(pool, ways, partial(after, barrier, client, "/api/sessions", START, ours))
            assert {answer.status_code for answer in answers} == {202}
            assert len({answer.content for answer in answers}) == 1
            assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
            started = events(client, answers[0].json()["sessionId"])
            assert started[0]["commandId"] == ours["Idempotency-Key"]


def test_concurrent_refused_duplicates_have_one_answer(client: TestClient, waiting: str) -> None:
    client.post(f"/api/sessions/{waiting}/cancel", json={})
    path, ways = f"/api/sessions/{waiting}/cancel", 8
    with ThreadPoolExecutor(ways) as pool:
        for _ in range(20):
            ours, barrier = key(), threading.Barrier(ways)
            answers = together(pool, ways, partial(after, barrier, client, path, {}, ours))
            assert {answer.status_code for answer in answers} == {409}
            assert len({answer.content for answer in answers}) == 1
            assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1


def test_a_key_is_remembered_over_a_restart(plain: Server) -> None:
    """Accepted and refused commands, after kill -9 and after a graceful stop."""
    ours, theirs, label = key(), key(), str(uuid.uuid4())
    body = START | {"labels": [label]}
    first = plain.client.post("/api/sessions", json=body, headers=ours)
    missing = plain.client.post("/api/sessions/delivery-none/cancel", json={}, headers=theirs)
    problem(missing, 404)
    for end in (plain.kill, plain.stop):
        end()
        plain.start()
        again = plain.client.post("/api/sessions", json=body, headers=ours)
        assert (again.status_code, again.content) == (202, first.content)
        assert again.headers["idempotency-replayed"] == "true"
        gone = plain.client.post("/api/sessions/delivery-none/cancel", json={}, headers=theirs)
        assert (gone.content, gone.headers["idempotency-replayed"]) == (missing.content, "true")
        other = plain.client.post("/api/sessions", json=body | {"title": "x"}, headers=ours)
        assert pointers(other) == [""]
    assert len(plain.client.get("/api/sessions", params={"label": label}).json()["items"]) == 1


def test_a_key_is_its_owners_own(tmp_path: Path) -> None:
    """Two principals may choose the same key; neither sees the other's answer (P7)."""
    keys = tmp_path / "keys"
    keys.write_text("".join(f"{name}:{hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("ci", "ops")))
    with inside(tmp_path, api_keys_file=keys) as client:
        ours = key()
        answers = [
            client.post("/api/sessions", json=START, headers=ours | {"Authorization": f"Bearer {name}"})
            for name in ("ci", "ops", "ci", "ops")
        ]
        assert [answer.status_code for answer in answers] == [202] * 4
        assert ["idempotency-replayed" in answer.headers for answer in answers] == [False, False, True, True]
        assert answers[0].content == answers[2].content != answers[1].content == answers[3].content


@pytest.fixture(scope="module")
def replica(plain: Server) -> Iterator[Server]:
    """A second server on the same log."""
    with serving(plain.folder, worker_slots=64) as result:
        yield result


def test_another_replica_gives_the_same_answer(plain: Server, replica: Server) -> None:
    """Also when both get the request at the same moment: one effect, one answer, accepted or refused."""
    with ThreadPoolExecutor(8) as pool:
        clients = [plain.client, replica.client] * 4
        for _ in range(10):
            ours, barrier = key(), threading.Barrier(8)
            asked = [pool.submit(after, barrier, client, "/api/sessions", START, ours) for client in clients]
            answers = [future.result() for future in asked]
            assert {(answer.status_code, answer.content) for answer in answers} == {(202, answers[0].content)}
            assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
            path = f"/api/sessions/{answers[0].json()['sessionId']}/cancel"
            assert plain.client.post(path, json={}).status_code == 200
            theirs, barrier = key(), threading.Barrier(8)
            asked = [pool.submit(after, barrier, client, path, {}, theirs) for client in clients]
            refused = [future.result() for future in asked]
            assert {(answer.status_code, answer.content) for answer in refused} == {(409, refused[0].content)}
            assert sum("idempotency-replayed" not in answer.headers for answer in refused) == 1


def test_one_of_two_replicas_wins_each_version(plain: Server, replica: Server) -> None:
    session_id = start(plain.client, START)
    path, body = f"/api/sessions/{session_id}/budget", {"addMinutes": 1, "reason": "?"}
    with ThreadPoolExecutor(8) as pool:
        for version in range(3, 13):
            barrier, bound = threading.Barrier(8), {"If-Match": f'"{version}"'}
            clients = [plain.client, replica.client] * 4
            asked = [pool.submit(after, barrier, client, path, body, bound) for client in clients]
            assert sorted(future.result().status_code for future in asked) == [200] + [412] * 7
