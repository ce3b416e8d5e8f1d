"""Holding, losing and answering a claimed turn, despite failing workers, servers and sessions (§4)."""

import hashlib
import os
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.node.settings import Settings
from api.routes.turns import HeldTurn
from tests.api.pulling import beat, begin, claim, endpoint, lost, nothing, result, team
from tests.api.server import Json, ended, events, inside, only, serving, until


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The developer is external, with answers of up to 2,000 bytes and very long leases."""
    folder = tmp_path_factory.mktemp("leases")
    with inside(folder, team=team(folder, "dev", limits="output_bytes = 2000")) as result:
        yield result


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A lease lasts one second."""
    folder = tmp_path_factory.mktemp("hasty")
    with inside(folder, team=team(folder, "dev"), lease_seconds=1) as result:
        yield result


@pytest.fixture
def turn(client: TestClient) -> Iterator[Json]:
    """The developer's turn of a new delivery with one attempt; cancelled afterwards."""
    begin(client, retry={"attempts": 1, "repairs": 0})
    claimed_turn = claim(client)
    yield claimed_turn
    client.post(f"/api/sessions/{claimed_turn['sessionId']}/cancel", json={})


def answers(client: httpx.Client, session_id: str) -> list[tuple[int, str]]:
    """Attempt and text of the developer's answers in the log."""
    data = only(events(client, session_id), "turn.answered")
    return [(answer["attempt"], answer["reply"]["head"]) for answer in data if answer["role"] == "dev"]


def unchanged(client: httpx.Client, turn: Json) -> None:
    """Check that the lease is valid and the turn can be answered."""
    assert beat(client, turn).status_code == 200
    assert answers(client, turn["sessionId"]) == []


# -- holding -------------------------------------------------------------------------------------------------------


def test_a_heartbeat_extends_the_lease(client: TestClient, turn: Json) -> None:
    answer = beat(client, turn)
    assert answer.status_code == 200
    held = HeldTurn.model_validate(answer.json())
    assert (held.turn_id, held.session_id) == (turn["turnId"], turn["sessionId"])
    assert held.lease.until > turn["lease"]["until"]
    until_ = datetime.fromisoformat(held.lease.until)
    assert abs(until_ - datetime.now(UTC) - timedelta(seconds=60)) < timedelta(seconds=5)


def test_leased_turn_is_given_to_no_other_worker(hasty: TestClient) -> None:
    begin(hasty)
    turn = claim(hasty)
    started = datetime.now(UTC)

    def beaten() -> bool:
        assert beat(hasty, turn).status_code == 200
        nothing(hasty, wait=0.2)
        return datetime.now(UTC) - started > timedelta(seconds=2)

    until(beaten, what="two seconds")
    assert result(hasty, turn, "held").status_code == 200
    assert answers(hasty, turn["sessionId"]) == [(1, "held")]


def test_expired_lease_passes_to_the_next_worker(hasty: TestClient) -> None:
    begin(hasty)
    first = claim(hasty)
    second = claim(hasty)  # waits until the first lease has run out
    assert (second["turnId"], second["lease"]["attempt"]) == (first["turnId"], 2)
    assert second["workspace"] != first["workspace"]
    assert "another worker or attempt" in lost(beat(hasty, first), "elsewhere")
    assert "another worker or attempt" in lost(result(hasty, first, "zombie", files={"zombie.py": "x"}), "elsewhere")
    assert result(hasty, second, "alive").status_code == 200
    lost(result(hasty, first, "zombie"), "settled")
    assert ended(hasty, first["sessionId"])["status"] == "success"
    assert answers(hasty, first["sessionId"]) == [(2, "alive")]
    assert not Path(second["workspace"], "zombie.py").exists()


def test_expired_lease_can_still_be_answered(hasty: TestClient) -> None:
    """No other worker has started, so the work is not lost."""
    begin(hasty)
    turn = claim(hasty)
    until(lambda: datetime.now(UTC) > datetime.fromisoformat(turn["lease"]["until"]), what="the end of the lease")
    assert result(hasty, turn, "late, but alone").status_code == 200
    assert answers(hasty, turn["sessionId"]) == [(1, "late, but alone")]


def test_lease_held_beyond_the_turn_limit_fails_the_turn(tmp_path: Path) -> None:
    with inside(tmp_path, team=team(tmp_path, "dev", limits="turn_seconds = 0.3"), retry_attempts=1) as client:
        begin(client)
        turn = claim(client)
        answer = until(lambda: a if (a := beat(client, turn)).status_code != 200 else None, what="the end of patience")
        assert "longer than a turn may" in lost(answer, "timeout")
        lost(result(client, turn), "settled")
        assert ended(client, turn["sessionId"])["status"] == "failed"
        [failed] = only(events(client, turn["sessionId"]), "turn.failed")
        assert failed["failure"]["code"] == "timeout"


def test_a_cancelled_session_says_so_to_its_worker(client: TestClient, turn: Json) -> None:
    assert client.post(f"/api/sessions/{turn['sessionId']}/cancel", json={}).status_code == 200
    before = events(client, turn["sessionId"])
    assert "was cancelled" in lost(beat(client, turn), "cancelled")
    assert "was cancelled" in lost(result(client, turn, "too late", files={"late.py": "x"}), "cancelled")
    assert events(client, turn["sessionId"]) == before


@pytest.mark.parametrize("work", [True, False])
def test_the_deadline_stops_a_claimed_turn(tmp_path: Path, work: bool) -> None:
    """With a worker that enforces deadlines, and without one, when only the claim desk can notice."""
    settings = Settings(database=f"sqlite:///{tmp_path / 'log.db'}", team=team(tmp_path, "planner"), budget_minute=1)
    with TestClient(create_app(settings, work=work), base_url="http://127.0.0.1") as client:
        session_id = begin(client, maxMinutes=1)
        turn = claim(client)
        deadline = datetime.fromisoformat(turn["deadline"])
        until(lambda: datetime.now(UTC) - deadline > timedelta(seconds=0.01), what="the deadline")
        answer = result(client, turn, "too late")
        assert answer.status_code == 409
        last = ended(client, session_id)
        assert (last["finalSummary"], last["budget"]["reason"]) == ("failed_budget_exhausted", "minutes")
        lost(beat(client, turn), "cancelled")


# -- results -------------------------------------------------------------------------------------------------------


def test_one_of_ten_concurrent_results_is_recorded(client: TestClient, turn: Json) -> None:
    with ThreadPoolExecutor(10) as pool:
        values = list(pool.map(lambda n: result(client, turn, f"answer {n}", files={"n.txt": str(n)}), range(10)))
    [(place, first)] = [(n, answer) for n, answer in enumerate(values) if answer.status_code == 200]
    assert {answer.status_code for answer in values} == {200, 409}
    ended(client, turn["sessionId"])
    assert answers(client, turn["sessionId"]) == [(1, f"answer {place}")]
    assert first.json()["sessionId"] == turn["sessionId"]
    assert "settled" in lost(result(client, turn, "second"), "settled")
    assert "settled" in lost(beat(client, turn), "settled")


def test_the_same_key_gives_the_same_answer_again(client: TestClient, turn: Json) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"attempt": 1, "text": "once", "files": {"once.py": "x\n"}}
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda _: client.post(endpoint(turn, "result"), json=body, headers=key), range(4)))
    assert {answer.status_code for answer in values} == {200}
    assert len({answer.content for answer in values}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in values) == 3
    other = client.post(endpoint(turn, "result"), json={"text": "other", "attempt": 1}, headers=key)
    assert other.status_code == 422
    assert answers(client, turn["sessionId"]) == [(1, "once")]


def test_a_refused_result_is_refused_again_in_the_same_words(client: TestClient, turn: Json) -> None:
    assert result(client, turn, "first").status_code == 200
    key = {"Idempotency-Key": str(uuid.uuid4())}
    first, again = (
        client.post(endpoint(turn, "result"), json={"text": "second", "attempt": 1}, headers=key) for _ in range(2)
    )
    lost(first, "settled")
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")


def test_a_result_may_be_bound_to_a_version(client: TestClient, turn: Json) -> None:
    answer = client.post(endpoint(turn, "result"), json={"text": "ok", "attempt": 1}, headers={"If-Match": '"1"'})
    assert answer.status_code == 412
    unchanged(client, turn)


@pytest.mark.parametrize("code", ["crash", "refused", "timeout", "provider"])
def test_a_worker_may_report_that_it_failed(client: TestClient, turn: Json, code: str) -> None:
    body = {
        "attempt": 1,
        "failure": {"code": code, "detail": "no luck"},
        "text": "half of it",
        "usage": {"inputTokens": 3},
    }
    answer = client.post(endpoint(turn, "result"), json=body)
    assert answer.status_code == 200, answer.text
    assert ended(client, turn["sessionId"])["status"] == "failed"
    [failed] = only(events(client, turn["sessionId"]), "turn.failed")
    assert failed["failure"].items() >= {"code": code, "detail": "no luck"}.items()
    assert (failed["reply"]["head"], failed["usage"]["inputTokens"]) == ("half of it", 3)


# -- whose turn it is ----------------------------------------------------------------------------------------------


def test_one_key_cannot_answer_for_another(tmp_path: Path) -> None:
    keys = {name: f"secret-of-{name}" for name in ("alice", "bob")}
    file = tmp_path / "keys"
    file.write_text("".join(f"{name}:{hashlib.sha256(key.encode()).hexdigest()}\n" for name, key in keys.items()))
    with inside(tmp_path, team=team(tmp_path, "dev"), api_keys_file=file) as client:

        def comes(name: str) -> None:
            client.headers["Authorization"] = f"Bearer {keys[name]}"

        comes("alice")
        session_id = begin(client)
        turn = claim(client)
        comes("bob")
        lost(beat(client, turn), "elsewhere")
        lost(result(client, turn, "bob's"), "elsewhere")
        comes("alice")
        assert result(client, turn, "alice's").status_code == 200
        ended(client, session_id)
        messages = [event for event in events(client, session_id) if event["type"] == "turn.answered"]
        assert [e["actor"] for e in messages if e["data"]["role"] == "dev"] == ["agent:Remote via person:alice"]


# -- crashes -------------------------------------------------------------------------------------------------------


def test_a_killed_server_finds_the_lease_as_it_was(tmp_path: Path) -> None:
    """After kill -9 between claim and result, the lease is kept and the answer counts."""
    with serving(tmp_path, team=team(tmp_path, "dev")) as server:
        session_id = begin(server.client)
        turn = claim(server.client)
        Path(turn["workspace"], "mine.txt").write_text("kept\n")
        server.kill()
        server.start()
        nothing(server.client, wait=1.5)
        assert beat(server.client, turn).status_code == 200
        key = {"Idempotency-Key": "the-result"}
        body = {"text": "after the crash", "attempt": 1}
        first = server.client.post(endpoint(turn, "result"), json=body, headers=key)
        assert first.status_code == 200, first.text
        server.kill()
        server.start()
        again = server.client.post(endpoint(turn, "result"), json=body, headers=key)
        assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
        assert ended(server.client, session_id)["status"] == "success"
        assert answers(server.client, session_id) == [(1, "after the crash")]
        [history] = [t for t in only(events(server.client, session_id), "turn.answered") if t["role"] == "dev"]
        assert history["files"] == ["mine.txt"]


def test_a_worker_may_hold_on_through_any_server_of_the_log(tmp_path: Path) -> None:
    file = team(tmp_path, "dev")
    with serving(tmp_path, team=file) as first, serving(tmp_path, team=file) as second:
        session_id = begin(first.client)
        turn = claim(second.client)
        assert beat(first.client, turn).status_code == 200
        os.kill(second.pid, signal.SIGSTOP)
        try:
            assert result(first.client, turn, "through the other").status_code == 200
            assert answers(first.client, session_id) == [(1, "through the other")]
        finally:
            os.kill(second.pid, signal.SIGCONT)
