"""Deliveries that go in circles: what is recorded, when they rest, and how they go on (contract-2 §10).

A part of each story may make progress: only what is the same in iterations in a row counts.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import Json, Server, delivery, ended, events, only, serving, start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("circles")) as result:
        yield result


def blocks(title: str) -> str:
    issue = {"id": title, "title": title, "detail": "It is missing."}
    return json.dumps({"blockingIssues": [issue], "nonBlockingIssues": [], "score": 20})


def no_progress(server: Server, session_id: str) -> list[tuple[int, str, int]]:
    data = only(events(server.client, session_id), "delivery.no_progress")
    return [(event["iteration"], event["same"], event["iterations"]) for event in data]


CIRCLES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "issues": ({"reviewer": [blocks("Logging")]}, ["true"]),
    "failures": ({}, ["sh -c 'echo FAILED test_login in $$ ms; exit 1'"]),
}


@pytest.mark.parametrize("same", CIRCLES)
def test_the_same_result_again_and_again_rests_and_can_be_extended(server: Server, same: str) -> None:
    replies, commands = CIRCLES[same]
    session_id = start(server.client, delivery(replies, validationCommands=commands, noProgressLimit=2))
    session = ended(server.client, session_id)
    assert (session["status"], session["reason"], session["iteration"]) == ("failed", "no_progress", 3)
    assert no_progress(server, session_id) == [(2, same, 1), (3, same, 2)]
    answer = server.client.get(f"/api/sessions/{session_id}").json()
    assert answer["availableCommands"] == ["extend", "revise"]
    [item] = [item for item in server.client.get("/api/decisions").json()["items"] if item["sessionId"] == session_id]
    assert (item["waitsFor"], item["cause"], item["choices"]) == ("budget", "no_progress", ["extend"])
    for path in (f"/sessions/{session_id}", "/"):  # not a budget that is used up
        page = server.client.get(path, headers={"accept": "text/html"}).text
        assert 'badge is-no_progress"' in page and 'badge is-exhausted"' not in page
    more = server.client.post(f"/api/sessions/{session_id}/budget", json={"addIterations": 1, "reason": "again"})
    assert more.status_code == 200, more.text
    assert ended(server.client, session_id)["iteration"] > 3


def test_an_iteration_that_changes_no_file_of_the_workspace_is_no_progress(server: Server, tmp_path: Path) -> None:
    replies: Json = {"dev": ["I looked at it."], "reviewer": [blocks("One"), blocks("Two"), blocks("Three")]}
    session_id = start(server.client, delivery(replies, workspace=str(tmp_path), noProgressLimit=2))
    session = ended(server.client, session_id)
    assert (session["status"], session["reason"], session["iteration"]) == ("failed", "no_progress", 2)
    assert no_progress(server, session_id) == [(1, "files", 1), (2, "files", 2)]


def test_progress_in_between_begins_the_count_again(server: Server) -> None:
    answers = [blocks(title) for title in ("One", "One", "Two", "Two", "Three")]
    session_id = start(server.client, delivery({"reviewer": answers}, maxIterations=5, noProgressLimit=2))
    session = ended(server.client, session_id)
    assert (session["reason"], session["iteration"]) == ("budget_exhausted", 5)
    assert no_progress(server, session_id) == [(2, "issues", 1), (4, "issues", 1)]


def test_a_limit_of_zero_never_stops(server: Server) -> None:
    session_id = start(server.client, delivery({"reviewer": [blocks("One")]}, maxIterations=4, noProgressLimit=0))
    session = ended(server.client, session_id)
    assert (session["reason"], session["iteration"]) == ("budget_exhausted", 4)
