"""Collections, HEAD, and the health of the service (contract §3)."""

import sqlite3
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from domain.kinds import TOPICS
from tests.api.manners.parts import START, key, pointers, problem
from tests.api.server import (
    Server,
    delivery,
    ended,
    events,
    inside,
    only,
    session,
    start,
    system,
    types,
    until,
)


def test_a_list_is_read_page_by_page_newest_first(client: TestClient) -> None:
    """Sessions started meanwhile cause no repeated or missing entries."""
    label, made = str(uuid.uuid4()), []
    for _ in range(7):
        made.append(client.post("/api/sessions", json=START | {"labels": [label]}).json())
    fresh = {"Read-After": str(made[-1]["position"])}
    result, cursor = [], None
    while True:
        page = client.get("/api/sessions", params=_query(label=label, limit="3", cursor=cursor), headers=fresh).json()
        assert set(page) == {"items", "nextCursor"}
        result += [item["id"] for item in page["items"]]
        start(client, START | {"labels": [label]})
        if (cursor := page["nextCursor"]) is None:
            break
    assert result == [answer["sessionId"] for answer in reversed(made)]


def test_a_sessions_events_are_read_page_by_page(client: TestClient) -> None:
    session_id = start(client, delivery())
    last = ended(client, session_id)["version"]
    result, after = [], "0"
    while after is not None:
        page = client.get(f"/api/sessions/{session_id}/events", params={"after": after, "limit": "7"}).json()
        assert len(page["items"]) <= 7
        result += page["items"]
        after = page["nextCursor"]
    assert [event["version"] for event in result] == list(range(1, last + 1))
    beyond = client.get(f"/api/sessions/{session_id}/events", params={"after": str(last)}).json()
    assert beyond == {"items": [], "nextCursor": None}


def test_the_whole_log_is_read_by_position_and_filtered(client: TestClient, waiting: str) -> None:
    result, after = [], "0"
    while after is not None:
        page = client.get("/api/events", params={"after": after, "limit": "200"}).json()
        result += page["items"]
        after = page["nextCursor"]
    positions = [event["position"] for event in result]
    assert positions == sorted(set(positions))
    assert [event["version"] for event in result if event["sessionId"] == waiting] == [1, 2, 3]
    starts = client.get("/api/events", params={"type": "delivery.session_started", "limit": "500"}).json()["items"]
    assert types(starts) == ["session_started"] * len(starts) != []
    assert only(starts, "delivery.session_started") == only(result, "delivery.session_started")[: len(starts)]
    assert client.get("/api/events", params={"kind": "delivery", "limit": "1"}).json()["items"][0] == result[0]


@pytest.mark.parametrize(("path", "key"), [("/api/sessions/{}/events", "version"), ("/api/events", "position")])
def test_a_client_may_send_its_start_with_every_page(client: TestClient, waiting: str, path: str, key: str) -> None:
    """`after` says where the reading starts, `cursor` how far it has come: the further one counts."""
    place = path.format(waiting)
    whole = client.get(place, params={"after": "1"}).json()["items"]
    result, cursor = [], None
    while len(result) <= len(whole):
        page = client.get(place, params=_query(after="1", limit="1", cursor=cursor)).json()
        result += [event[key] for event in page["items"]]
        if (cursor := page["nextCursor"]) is None:
            break
    assert result[: len(whole)] == [event[key] for event in whole] != []
    assert (
        client.get(place, params={"after": "3", "cursor": "1"}).json()
        == client.get(place, params={"after": "3"}).json()
    )


@pytest.mark.parametrize(
    ("path", "query", "pointer"),
    [
        ("/api/sessions", {"lmit": "3"}, "/lmit"),
        ("/api/sessions", {"limit": "0"}, "/limit"),
        ("/api/sessions", {"limit": "201"}, "/limit"),
        ("/api/sessions", {"limit": "ten"}, "/limit"),
        ("/api/sessions", {"cursor": "nonsense"}, "/cursor"),
        ("/api/sessions", {"cursor": "0"}, "/cursor"),
        ("/api/sessions", {"kind": "seance"}, "/kind"),
        ("/api/sessions", {"status": "foo"}, "/status"),
        ("/api/sessions", {"status": ""}, "/status"),
        ("/api/sessions", {"q": "x" * 1_001}, "/q"),
        ("/api/sessions/{}", {"versions": "1"}, "/versions"),
        ("/api/sessions/{}/events", {"version": "1"}, "/version"),
        ("/api/sessions/{}/events", {"after": "-1"}, "/after"),
        ("/api/sessions/{}/events", {"limit": "501"}, "/limit"),
        ("/api/sessions/{}/worklog", {"at": "1"}, "/at"),
        ("/api/sessions/{}/budget", {"limit": "1"}, "/limit"),
        ("/api/sessions/{}/artifacts", {"at": "1"}, "/at"),
        ("/api/events", {"type": "delivery.nothing"}, "/type"),
        ("/api/events", {"kind": "seance"}, "/kind"),
        ("/api/events", {"session": "1"}, "/session"),
        ("/api/sessions/{}", {"include": "event"}, "/include"),
    ],
    ids=str,
)
def test_unknown_query_is_422(client: TestClient, waiting: str, path: str, query: dict[str, str], pointer: str) -> None:
    """A misspelled filter must not be ignored."""
    assert pointers(client.get(path.format(waiting), params=query)) == [pointer]


@pytest.mark.parametrize(
    "path",
    ["sessions", "sessions/{}/cancel", "sessions/{}/decision", "message", "trust", "policies/triage", "turns/claim"],
)
def test_a_command_takes_no_query(client: TestClient, waiting: str, path: str) -> None:
    """What a command takes is in its body: a parameter in the wrong place must not be ignored."""
    head = client.get("/readyz").json()["head"]
    answer = client.post(f"/api/{path.format(waiting)}?reason=late", json={}, headers=key())
    assert pointers(answer) == ["/reason"]
    assert problem(answer, 422)["detail"] == "reason: unknown parameter; known: none"
    assert client.get("/readyz").json()["head"] == head


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("sessions?kind=delivery&kind=review", "kind: should be given once"),
        ("sessions/{}?version=1&version=2", "version: should be given once"),
        ("sessions?q=%00", "q: holds U+0000"),
        ("sessions?label=a%00b", "label: holds U+0000"),
        ("events?kind=x", "kind: should be one of delivery, orchestration, review, debate"),
    ],
)
def test_partly_readable_query_is_422(client: TestClient, waiting: str, query: str, detail: str) -> None:
    answer = client.get(f"/api/{query.format(waiting)}")
    name, _, text = detail.partition(": ")
    assert problem(answer, 422)["detail"] == detail
    [fault] = answer.json()["errors"]
    assert fault.items() >= {"pointer": f"/{name}", "detail": text}.items()


def test_allowed_types_are_listed(client: TestClient) -> None:
    body = problem(client.get("/api/events", params={"type": "foo"}), 422)
    assert body["detail"] == f"type: should be one of {', '.join(TOPICS)}"


def test_sessions_are_found_by_words_status_and_label(client: TestClient) -> None:
    mark = uuid.uuid4().hex
    answer = client.post("/api/sessions", json=START | {"task": f"50%_off {mark}", "labels": ["a", "b", "a"]}).json()
    fresh = {"Read-After": str(answer["position"])}
    for query in ({"q": f"50%_OFF {mark.upper()}"}, {"q": mark, "status": "running"}, {"q": mark, "label": "b"}):
        [response] = client.get("/api/sessions", params=query, headers=fresh).json()["items"]
        assert (response["id"], response["labels"]) == (answer["sessionId"], ["a", "b"])
    for query in ({"q": f"50x_off {mark}"}, {"q": mark, "status": "failed"}, {"q": mark, "label": "c"}):
        assert client.get("/api/sessions", params=query, headers=fresh).json()["items"] == []


# -- HEAD, and the health of the service ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/api/sessions", "/api/sessions/{}", "/api/sessions/{}/events", "/healthz", "/readyz"]
)
def test_head_is_get_without_a_body(plain: Server, path: str) -> None:
    session_id = start(plain.client, START)
    place = path.format(session_id)
    whole, head = plain.client.get(place), plain.client.head(place)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers.get("etag") == whole.headers.get("etag")


def test_head_of_a_stream_ends(plain: Server) -> None:
    session_id = start(plain.client, START)
    head = plain.client.head(f"/api/sessions/{session_id}/events", headers={"Accept": "text/event-stream"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


def test_ready_says_how_far_the_views_are(client: TestClient, waiting: str) -> None:
    position = events(client, waiting)[-1]["position"]
    client.get("/api/sessions", headers={"Read-After": str(position)})
    answer = client.get("/readyz").json()
    assert (answer["status"], answer["problems"]) == ("ready", [])
    assert answer["head"] >= answer["position"] >= position
    assert client.get("/healthz").json() == {"status": "ok"}
    figures = client.get("/metrics").text
    assert "hansard_log_head_position" in figures and 'hansard_turns{state="running"}' in figures


def _query(**query: str | None) -> dict[str, str]:
    return {name: value for name, value in query.items() if value is not None}


def test_a_server_that_takes_no_more_is_503_with_retry_after(tmp_path: Path) -> None:
    """While another process locks the log, one command runs and one waits; a third is refused."""
    with inside(tmp_path, max_waiting=1) as client, ThreadPoolExecutor(2) as pool:
        ids = [start(client, START) for _ in range(3)]
        other = sqlite3.connect(tmp_path / "hansard.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        taken = []
        for count, session_id in enumerate(ids[:2], start=1):
            taken.append(pool.submit(client.post, f"/api/sessions/{session_id}/cancel", json={}))
            until(partial(_at_hand, client, count), what="a command at hand")
        refused = client.post(f"/api/sessions/{ids[2]}/cancel", json={})
        other.execute("ROLLBACK")
        other.close()
        assert [future.result().status_code for future in taken] == [200, 200]
        problem(refused, 503)
        assert int(refused.headers["retry-after"]) >= 1
        assert session(client, ids[2])["version"] == 3


def test_every_answer_carries_the_headers_of_a_careful_server(client: TestClient, waiting: str) -> None:
    for answer in (
        client.get(f"/api/sessions/{waiting}"),
        client.get("/nothing"),
        client.post("/api/sessions", json={}),
        client.get("/api/sessions", headers={"Host": "evil.example"}),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers


def _at_hand(client: TestClient, count: int) -> bool:
    """Whether this many commands are accepted and not answered yet, and one of them is at work."""
    writer = system(client).writer
    idle = writer._deciding.acquire(blocking=False)
    if idle:
        writer._deciding.release()
    return not idle and bool(writer.waiting() == count - 1)
