"""Versions: If-Match, ETag, and reading your own writes (contract §3)."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from starlette.testclient import TestClient

from tests.api.manners.parts import START, after, pointers, problem, together
from tests.api.server import (
    Json,
    delivery,
    ended,
    events,
    session,
    start,
    until,
)


def test_a_command_is_carried_out_only_at_the_version_it_names(client: TestClient, waiting: str) -> None:
    path = f"/api/sessions/{waiting}/budget"
    stale = client.post(path, json={"addMinutes": 1, "reason": "?"}, headers={"If-Match": '"2"'})
    body = problem(stale, 412)
    assert body["currentVersion"] == 3
    assert session(client, waiting)["version"] == 3
    current = client.post(path, json={"addMinutes": 1, "reason": "?"}, headers={"If-Match": '"3"'})
    assert (current.status_code, current.headers["etag"]) == (200, '"4"')
    anyway = client.post(path, json={"addMinutes": 1, "reason": "?"}, headers={"If-Match": "*"})
    assert anyway.json()["version"] == 5


@pytest.mark.parametrize("tag", ["3", '"03"', '"x"', 'W/"3"', '"-1"', '""', '"3", "4"'])
def test_a_version_that_cannot_be_one_is_400(client: TestClient, waiting: str, tag: str) -> None:
    problem(client.post(f"/api/sessions/{waiting}/cancel", json={}, headers={"If-Match": tag}), 400)
    assert session(client, waiting)["version"] == 3


def test_one_of_many_commands_on_the_same_version_wins(client: TestClient, waiting: str) -> None:
    """Promise P6."""
    path, ways = f"/api/sessions/{waiting}/budget", 16
    with ThreadPoolExecutor(ways) as pool:
        for version in range(3, 23):
            body, bound = {"addMinutes": 1, "reason": "?"}, {"If-Match": f'"{version}"'}
            barrier = threading.Barrier(ways)
            answers = together(pool, ways, partial(after, barrier, client, path, body, bound))
            assert sorted(answer.status_code for answer in answers) == [200] + [412] * (ways - 1)
            assert {a.json()["currentVersion"] for a in answers if a.status_code == 412} == {version + 1}


def test_every_command_answers_version_and_position(client: TestClient) -> None:
    answer = client.post("/api/sessions", json=START)
    body = answer.json()
    assert set(body) == {"sessionId", "kind", "version", "position"}
    assert (body["kind"], body["version"]) == ("delivery", 3)
    last = events(client, body["sessionId"])[-1]
    assert (last["version"], last["position"]) == (body["version"], body["position"])
    cancelled = client.post(f"/api/sessions/{body['sessionId']}/cancel", json={}).json()
    assert cancelled["version"] > 3 and cancelled["position"] > body["position"]


def test_an_unchanged_session_is_304(client: TestClient, waiting: str) -> None:
    path = f"/api/sessions/{waiting}"
    first = client.get(path)
    assert first.headers["etag"] == '"3"'
    for tag in ('"3"', 'W/"3"', '"1", "3"', "*"):
        same = client.get(path, headers={"If-None-Match": tag})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"3"'), tag
    assert client.get(path, headers={"If-None-Match": '"2"'}).status_code == 200
    client.post(f"{path}/budget", json={"addMinutes": 1, "reason": "?"})
    assert client.get(path, headers={"If-None-Match": '"3"'}).status_code == 200


def test_session_can_be_read_at_any_version(client: TestClient) -> None:
    """Also its worklog and its budget; a past version never changes."""
    review = json.dumps({"blockingIssues": [{"id": "1", "title": "Logging", "detail": "?"}], "fixPlan": ["Add it."]})
    session_id = start(client, delivery({"reviewer": [review]}, maxIterations=2))
    last = ended(client, session_id)["version"]
    position = events(client, session_id)[-1]["position"]
    seen = [session(client, session_id, version=version) for version in range(1, last + 1)]
    assert [item["version"] for item in seen] == list(range(1, last + 1))
    assert [item["status"] for item in seen] == ["running"] * (last - 3) + ["failed"] * 3
    assert sorted({item["iteration"] for item in seen}) == [0, 1, 2]
    assert seen == [session(client, session_id, version=version) for version in range(1, last + 1)]
    fresh = {"Read-After": str(position)}
    assert client.get(f"/api/sessions/{session_id}", params={"version": "5"}).headers["etag"] == '"5"'
    logs = [
        client.get(f"/api/sessions/{session_id}/worklog", params={"version": str(v)}, headers=fresh).text
        for v in (1, last)
    ]
    assert "Add a login page" in logs[0] and "Logging" not in logs[0]
    assert "Logging" in logs[1]
    spans = [
        len(client.get(f"/api/sessions/{session_id}/budget", params={"version": str(v)}, headers=fresh).json()["items"])
        for v in (1, last)
    ]
    assert spans[0] < spans[1]


@pytest.mark.parametrize("version", ["0", "-1", "x", "1.5", "01", "", "9" * 30])
def test_a_version_that_is_no_number_is_422(client: TestClient, waiting: str, version: str) -> None:
    assert pointers(client.get(f"/api/sessions/{waiting}", params={"version": version})) == ["/version"]


# -- reading after writing -----------------------------------------------------------------------------------------


def _seen_after(client: TestClient, label: str, fresh: dict[str, str]) -> Json | None:
    """Never older data: if the views do not catch up in time (a tenth of a second here), the answer says so."""
    answer = client.get("/api/sessions", params={"label": label}, headers=fresh)
    assert answer.status_code in (200, 503)
    body: Json = answer.json()
    return body if answer.status_code == 200 else None


def test_read_after_sees_earlier_writes(client: TestClient) -> None:
    """Promise P12: the list comes from the views, which follow the log."""
    for number in range(40):
        answer = client.post("/api/sessions", json=START | {"labels": [f"read-{number}"]}).json()
        fresh = {"Read-After": str(answer["position"])}
        [result] = until(partial(_seen_after, client, f"read-{number}", fresh), what="the views")["items"]
        assert result["id"] == answer["sessionId"]


def test_read_after_beyond_the_end_of_the_log_is_422_at_once(client: TestClient) -> None:
    head = client.get("/readyz").json()["head"]
    answer = client.get("/api/sessions", headers={"Read-After": str(head + 1_000_000)})
    assert pointers(answer) == ["/Read-After"]
    assert str(head + 1_000_000) in answer.json()["detail"]


@pytest.mark.parametrize("position", ["x", "-1", "", "1.0", "9" * 40])
def test_read_after_nonsense_is_400(client: TestClient, position: str) -> None:
    problem(client.get("/api/sessions", headers={"Read-After": position}), 400)
