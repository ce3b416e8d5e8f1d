"""Other ways: where a fork can begin, who is asked there, and another agent or model for what is asked anew."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from adapters.store.texts import whole
from domain.replay import first_difference
from domain.session.record import Recorded
from tests.api.server import Json, delivery, ended, events, inside, only, session, start, system, until
from tests.api.test_forks import asked, blocked_once, fork


def cuts(client: TestClient, source: str, **params: object) -> list[Json]:
    answer = client.get(f"/api/sessions/{source}/cuts", params={str(k): str(v) for k, v in params.items()})
    assert answer.status_code == 200, answer.text
    rows: list[Json] = answer.json()
    return rows


def test_cuts_say_who_is_asked_and_how_the_recorded_answer_begins(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    [row] = [cut for cut in cuts(client, source) if cut["version"] == at]
    assert (row["asks"], row["role"], row["needs"]) == ("reviewer", "reviewer", None)
    assert row["recorded"].startswith('{"blockingIssues"') and row["turnId"] == f"{source}.t{row['turnId'][-1]}"


def test_cuts_are_read_in_pages_and_as_of_a_version(client: TestClient) -> None:
    source, history = blocked_once(client)
    every = cuts(client, source)
    assert cuts(client, source, limit=3) == every[:3]
    assert cuts(client, source, after=every[2]["version"]) == every[3:]
    at = asked(history, "reviewer")
    assert cuts(client, source, version=at)[-1] == {**every[-1], **cuts(client, source, version=at)[-1]}
    assert cuts(client, source, version=at)[-1]["recorded"] is None, "it has not answered yet"
    assert client.get(f"/api/sessions/{source}/cuts", params={"limit": 0}).status_code == 422


def test_a_fork_between_two_cuts_is_refused_unless_it_may_snap(client: TestClient) -> None:
    source, history = blocked_once(client)
    ends = {cut["version"] for cut in cuts(client, source)}
    between = next(event["version"] for event in history if event["version"] not in ends)
    after = min(end for end in ends if end > between)
    count = len(client.get("/api/sessions").json()["items"])
    refused = client.post(f"/api/sessions/{source}/fork", json={"atVersion": between})
    assert refused.status_code == 422
    [error] = refused.json()["errors"]
    assert error["pointer"] == "/atVersion" and str(after) in error["detail"]
    assert len(client.get("/api/sessions").json()["items"]) == count, "nothing was started"
    forked = fork(client, source, between, snap=True)
    assert session(client, forked)["forkedAt"] == after


def test_each_cut_begins_where_it_says_and_asks_whom_it_says(client: TestClient) -> None:
    source, _ = blocked_once(client)
    for cut in cuts(client, source)[::3]:
        forked = fork(client, source, cut["version"], mode="stop")
        copied = events(client, forked)
        assert copied[cut["version"]]["type"] == "session.forked"
        if cut["asks"] is not None:
            open_turn = _open_at(copied[: cut["version"]])
            assert (open_turn["agent"], open_turn["role"]) == (cut["asks"], cut["role"])


def _open_at(history: list[Json]) -> Json:
    asked = {e["data"]["turnId"]: e["data"] for e in history if e["type"] == "turn.requested"}
    for event in history:
        if event["type"] in ("turn.answered", "turn.failed", "turn.cancelled"):
            asked.pop(event["data"]["turnId"], None)
    [turn] = [turn for turn in asked.values() if turn["work"] == "ask"]
    return dict(turn)


def test_another_agent_is_asked_in_the_role_and_nothing_is_reused_for_it(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    forked = fork(client, source, at, agents={"reviewer": "Grace"})
    assert ended(client, forked)["status"] == "success"
    after = events(client, forked)[at:]
    [begun] = only(after, "session.forked")
    assert begun["agents"] == {"reviewer": "Grace"} and "models" not in begun
    [cancelled] = only(after, "turn.cancelled")
    assert cancelled["reason"] == "recast"
    reviewers = {e["agent"] for e in only(after, "turn.answered") if e["role"] == "reviewer"}
    assert reviewers == {"Grace"}
    assert _replays(client, forked)


def test_another_model_is_asked_anew_although_the_question_is_the_same(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "dev")
    forked = fork(client, source, at, model={"dev": "large-2"})
    assert ended(client, forked)["status"] == "success"
    after = events(client, forked)[at:]
    [parted] = only(after, "session.diverged")
    assert parted["held"] is False
    models = {e["model"] for e in only(after, "turn.answered") if e["role"] == "dev"}
    assert models == {"large-2"}
    assert _replays(client, forked)


def test_a_fork_that_only_reuses_waits_where_another_agent_is_to_be_asked(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    forked = fork(client, source, at, agents={"reviewer": "Grace"}, mode="stop")
    until(lambda: only(events(client, forked), "session.diverged"), what="the divergence")
    assert session(client, forked)["held"] is True
    assert not [e for e in events(client, forked)[at:] if e["type"] == "turn.answered"], "nobody was asked"
    assert client.post(f"/api/sessions/{forked}/continue", json={}).status_code == 200
    assert ended(client, forked)["status"] == "success"
    assert {e["data"]["agent"] for e in events(client, forked)[at:] if e["type"] == "turn.answered"} >= {"Grace"}
    assert _replays(client, forked)


def test_a_fork_that_asks_reuses_nothing(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "architect")
    forked = fork(client, source, at, mode="ask")
    end = ended(client, forked)
    assert end["status"] == "success"
    assert end["budget"]["tokens"] > 110, "what was asked again is paid again"
    assert only(events(client, forked), "session.diverged") == []
    assert _replays(client, forked)


def test_an_answer_and_another_agent_go_together(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "dev")
    forked = fork(client, source, at, substitute={"answer": {"text": "written by hand"}}, agents={"reviewer": "Grace"})
    ended(client, forked)
    after = events(client, forked)[at:]
    assert {e["agent"] for e in only(after, "turn.answered") if e["role"] == "reviewer"} == {"Grace"}
    assert _replays(client, forked)


def _replays(client: TestClient, session_id: str) -> bool:
    history: list[Recorded] = list(system(client).store.history(session_id))
    return first_difference(history, partial(whole, system(client).store)) is None


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"agents": {"reviewr": "Grace"}}, "/agents/reviewr"),
        ({"agents": {"reviewer": "Nobody"}}, "/agents/reviewer"),
        ({"model": {"Nobody": "large"}}, "/model/Nobody"),
        ({"model": {"Grace": 'x" -c sandbox="off'}}, "/model/Grace"),
        ({"model": {"Grace": "--help"}}, "/model/Grace"),
        ({"snap": "yes"}, "/snap"),
        ({"mode": "wild"}, "/mode"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_name(
    client_of_a_team: TestClient, more: dict[str, object], pointer: str
) -> None:
    source = start(client_of_a_team, {"kind": "review", "subject": "a plan", "maxRounds": 1})
    refused = client_of_a_team.post(f"/api/sessions/{source}/fork", json={"atVersion": 1, "snap": True, **more})
    assert refused.status_code == 422, refused.text
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]


_TEAM = """
[[agents]]
name = "Grace"
roles = ["reviewer", "coder", "critic", "planner", "synthesizer", "dev", "architect", "designer"]
adapter = "command"
[agents.settings]
argv = ["/bin/true", "{model_args}"]
model_args = ["--model", "{model}"]
"""


@pytest.fixture
def client_of_a_team(tmp_path: Path) -> Iterator[TestClient]:
    file = tmp_path / "team.toml"
    file.write_text(_TEAM)
    with inside(tmp_path, work=False, team=file) as client:
        yield client


@pytest.mark.parametrize(
    ("more", "pointer", "allowed"),
    [
        ({"agents": {"reviewr": "Grace"}}, "/agents/reviewr", "reviewer"),
        ({"agents": {"reviewer": "Nobody"}}, "/agents/reviewer", "Grace"),
        ({"agents": {"backend": "Grace"}}, "/agents/backend", "reviewer"),
        ({"model": {"Nobody": "large"}}, "/model/Nobody", "Grace"),
    ],
)
def test_a_script_has_the_agents_that_it_names_and_those_of_the_roles(
    client: TestClient, more: dict[str, object], pointer: str, allowed: str
) -> None:
    source = start(client, delivery({"Grace": ["written"]}))
    ended(client, source)
    first = cuts(client, source)[0]["version"]
    count = len(client.get("/api/sessions").json()["items"])
    refused = client.post(f"/api/sessions/{source}/fork", json={"atVersion": first, **more})
    assert refused.status_code == 422, refused.text
    [error] = refused.json()["errors"]
    assert error["pointer"] == pointer and allowed in error["detail"]
    assert len(client.get("/api/sessions").json()["items"]) == count, "nothing was started"
    fits = {"agents": {"dev": "grace", "reviewer": "planner"}, "model": {"Dev": "large"}}
    forked = fork(client, source, first, mode="stop", **fits)
    [begun] = only(events(client, forked), "session.forked")
    assert (begun["agents"], begun["models"]) == ({"dev": "Grace", "reviewer": "planner"}, {"dev": "large"})
