"""A damaged or unwritable log is reported as such, never as empty and never as temporary."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.proof.glance import glance
from adapters.store.sqlite.views import ViewsUnavailable
from tests.adapters.audited import with_plain
from tests.api.server import Json, delivery, ended, events, inside, start, system, until

STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def finished(client: TestClient) -> str:
    """A finished delivery, followed by another one."""
    session_id = start(client, delivery())
    ended(client, session_id)
    ended(client, start(client, delivery()))
    return session_id


def harmed(client: TestClient, statement: str) -> None:
    """Change the database directly, bypassing the server."""
    with closing(sqlite3.connect(system(client).store.path, isolation_level=None)) as connection:
        with_plain(connection)
        connection.execute(statement)


def problem(answer: httpx.Response) -> Json:
    assert answer.headers["content-type"] == "application/problem+json"
    assert "Retry-After" not in answer.headers, "nothing is gained by waiting"
    body: Json = answer.json()
    assert (answer.status_code, body["status"], body["title"]) == (500, 500, "Internal error")
    return body


def streamed(answer: httpx.Response) -> tuple[list[int], list[str], Json]:
    """The received ids, the last message before the problem, and the problem itself."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    *messages, last = answer.text.strip().split("\n\n")
    assert "event: end" not in answer.text
    name, data = last.split("\n")
    assert name == "event: problem"
    return list(map(int, re.findall(r"^id: (\d+)$", answer.text, re.MULTILINE))), messages[-1:], json.loads(data[6:])


# -- the views -----------------------------------------------------------------------------------------------------


def test_damaged_views_are_replaced_at_start_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with inside(tmp_path) as client:
        session_id = start(client, delivery())
        ended(client, session_id)
        views = system(client).views.path
    size = views.stat().st_size
    with views.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xa5" * (size - 8_192))
    assert [words for words in glance(f"sqlite:///{tmp_path / 'hansard.db'}", views) if "are damaged" in words]
    for warnings in (1, 1):
        with inside(tmp_path) as client:
            [item] = client.get("/api/sessions", headers={"Read-After": "1"}).json()["items"]
            assert (item["id"], client.get("/").status_code) == (session_id, 200)
            assert client.get("/readyz").json()["status"] == "ready"
        assert len([record for record in caplog.records if "were damaged" in record.getMessage()]) == warnings
    assert views.with_name("views.db.damaged").stat().st_size == size


def test_a_server_with_damaged_views_is_not_ready_and_says_why(client: TestClient, finished: str) -> None:
    """The load balancer drops the server; its next start rebuilds the views."""

    @contextmanager
    def malformed() -> Iterator[None]:
        raise ViewsUnavailable("database disk image is malformed")
        yield

    views = system(client).views
    views.reading, kept = malformed, views.reading  # type: ignore[method-assign, assignment]
    answer = client.get("/readyz")
    views.reading = kept  # type: ignore[method-assign]
    assert (answer.status_code, answer.headers["Retry-After"], answer.json()["status"]) == (503, "1", "not ready")
    assert "malformed" in answer.json()["problems"][0]
    until(lambda: client.get("/readyz").status_code == 200, what="the views again")


def test_reading_goes_on_while_the_views_cannot_be_written(client: TestClient, finished: str) -> None:
    """With a full disk, requests without a position are answered from the existing views."""

    @contextmanager
    def full() -> Iterator[None]:
        raise ViewsUnavailable("disk is full")
        yield

    until(lambda: system(client).follower.lag() == 0, what="the views of all that happened")
    views = system(client).views
    views.transaction, kept = full, views.transaction  # type: ignore[method-assign, assignment]
    position = system(client).follower.position
    start(client, delivery())
    until(lambda: system(client).follower.failing, what="the failure")
    assert client.get("/api/reports/summary").json()["asOf"] == position
    for path in ("/", "/reports", "/decisions", f"/sessions/{finished}"):
        shown = client.get(path)
        assert (shown.status_code, f"as of position {position}" in shown.text) == (200, True), path
    assert client.get("/api/reports/summary", headers={"Read-After": str(position + 1)}).status_code == 503
    views.transaction = kept  # type: ignore[method-assign]
    until(lambda: system(client).follower.failing is None, what="the views again")
    assert "as of position" not in client.get("/").text


# -- the log -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["topic = 'foo.bar'", "state = substr(plain(state), 1, 60)"])
def test_a_session_with_an_event_that_cannot_be_read_is_damaged_and_not_unknown(tmp_path: Path, change: str) -> None:
    with inside(tmp_path) as client:
        session_id = start(client, delivery())
        ended(client, session_id)
        history = events(client, session_id)[-3]
        harmed(client, f"UPDATE events SET {change} WHERE position = {history['position']}")
    sentence = (
        f"The event at position {history['position']} (version {history['version']} of {session_id}) cannot be read: "
    )
    with inside(tmp_path) as client:  # nothing of it is cached
        for endpoint in ("", "/events", "/worklog", "/budget", "/explain", "/replay"):
            body = problem(client.get(f"/api/sessions/{session_id}{endpoint}"))
            assert body["detail"].startswith(sentence)
            assert "`hansard verify`" in body["detail"]
        ids, _, body = streamed(client.get(f"/api/sessions/{session_id}/events", headers=STREAM))
        assert ids == list(range(1, history["position"]))
        assert body["detail"].startswith(sentence)
        keyed = {"Idempotency-Key": "once"}
        for _ in range(2):
            body = problem(client.post(f"/api/sessions/{session_id}/cancel", json={}, headers=keyed))
            assert body["detail"].startswith(sentence), "and no receipt says otherwise for ever"
        assert client.get("/api/sessions/delivery-none").status_code == 404
        [item] = client.get("/api/sessions").json()["items"]
        assert item["id"] == session_id


def test_stream_sends_readable_events_and_ends_with_the_problem(client: TestClient, finished: str) -> None:
    """Streams of a cached session and of the whole log stop at the damage and can resume after it."""
    mine = [event["position"] for event in events(client, finished)]
    damaged = mine[-3]
    harmed(client, f"UPDATE events SET topic = 'foo.bar' WHERE position = {damaged}")
    for endpoint, expected in (
        (f"/api/sessions/{finished}/events", mine[:-3]),
        ("/api/events", list(range(1, damaged))),
    ):
        ids, before, text = streamed(client.get(endpoint, headers=STREAM))
        assert ids == expected
        assert before == ["retry: 30000"], "it is found again as often as somebody asks"
        assert text["detail"].startswith(f"The event at position {damaged} (version {mine.index(damaged) + 1} of")
        assert text["status"] == 500
    behind = client.get(f"/api/sessions/{finished}/events", headers=STREAM | {"Last-Event-ID": str(damaged)})
    assert re.findall(r"^id: (\d+)$", behind.text, re.MULTILINE) == list(map(str, mine[-2:]))
    assert behind.text.endswith("event: end\ndata: {}\n\n")


def test_it_is_not_ready_while_an_event_cannot_be_read(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        ended(client, start(client, delivery()))
        harmed(client, "UPDATE events SET topic = 'foo.bar' WHERE position = 5")
        system(client).follower.rebuild()
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    [body] = answer.json()["problems"]
    assert body.startswith("log at position 5: DamagedEvent: The event at position 5 (version 5 of delivery-")


def test_it_is_not_ready_while_the_log_takes_no_writes(tmp_path: Path) -> None:
    """Reads keep working. The failure is reported without `Retry-After` and ends when a command is stored."""
    with inside(tmp_path, work=False) as client:
        session_id = start(client, delivery())
        store = system(client).store
        [page] = store._writer.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'texts'").fetchone()
        store._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = store.path.read_bytes()
        size = int.from_bytes(whole[16:18], "big")
        with store.path.open("r+b") as file:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
        store._writer.execute("PRAGMA shrink_memory")
        long = delivery() | {"task": "x" * 20_000}
        assert client.get("/readyz").status_code == 200
        body = problem(client.post("/api/sessions", json=long))
        assert "does not take writes: database disk image is malformed. `hansard verify`" in body["detail"]
        for _ in range(2):
            ready = client.get("/readyz")
            assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
            assert ready.json()["problems"] == [f"the last write failed: {body['detail']}"]
        assert client.get(f"/api/sessions/{session_id}").status_code == 200
        start(client, delivery())
        assert client.get("/readyz").status_code == 200


def test_a_full_disk_may_be_over_and_is_asked_about(tmp_path: Path) -> None:
    with inside(tmp_path, work=False) as client:
        start(client, delivery())
        store = system(client).store
        store._writer.execute("PRAGMA max_page_count = 1")
        refused = client.post("/api/sessions", json=delivery() | {"task": "x" * 60_000})
        assert (refused.status_code, refused.headers.get("Retry-After")) == (503, "1"), refused.text
        assert "does not take writes now: database or disk is full." in refused.json()["detail"]
        assert store.failing
        store._writer.execute("PRAGMA max_page_count = 1000000")
        assert client.get("/readyz").json()["problems"] == []


def test_metrics_that_only_grow_are_counters(client: TestClient, finished: str) -> None:
    figures = client.get("/metrics").text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", figures, re.MULTILINE))
    assert kinds == {
        "hansard_log_head_position": "gauge",
        "hansard_views_position": "gauge",
        "hansard_views_lag_events": "gauge",
        "hansard_commands_waiting": "gauge",
        "hansard_claims_waiting": "gauge",
        "hansard_stream_clients": "gauge",
        "hansard_turns": "gauge",
        "hansard_log_wal_bytes": "gauge",
        "hansard_commands_total": "counter",
        "hansard_batches_total": "counter",
        "hansard_conflicts_total": "counter",
    }
    [commands] = re.findall(r"^hansard_commands_total (\S+)$", figures, re.MULTILINE)
    assert float(commands) >= 2
    assert "_created" not in figures
