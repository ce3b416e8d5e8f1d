"""Forks, explanations and differences over HTTP; every history replays to the same decisions."""

import json
from datetime import datetime, timedelta
from functools import partial

import pytest
from starlette.testclient import TestClient

from api.actions.fork import whole
from domain.replay import first_difference
from domain.session.record import Recorded
from tests.api import talks
from tests.api.orchestrating import TEAM, orchestration
from tests.api.seen import BROWSER
from tests.api.server import Json, delivery, ended, events, only, session, start, system, until
from tests.kit.replies import plan, subtask, verdicts

BLOCKED = json.dumps({"blockingIssues": [{"id": "1", "title": "no test", "detail": "A test is missing."}]})
FINE = json.dumps({"blockingIssues": []})
USAGE = {"inputTokens": 100, "outputTokens": 10, "costMicros": 5}


def blocked_once(client: TestClient) -> tuple[str, list[Json]]:
    """The id and events of a delivery that is sent back once. Its script has a second reviewer."""
    replies = {
        "Grace": [FINE],
        "planner": [{"text": "a plan", "usage": USAGE}],
        "dev": [{"text": "written", "files": {"src/login.py": "x = 1\n"}, "usage": USAGE}],
        "reviewer": [{"text": BLOCKED, "usage": USAGE}, {"text": FINE, "usage": USAGE}],
    }
    session_id = start(client, delivery(replies, maxIterations=3))
    assert ended(client, session_id)["status"] == "success"
    return session_id, events(client, session_id)


def asked(history: list[Json], role: str) -> int:
    """The version of a role's first turn."""
    return next(
        event["version"] for event in history if event["type"] == "turn.requested" and event["data"]["role"] == role
    )


def fork(client: TestClient, source: str, at: int, **more: object) -> str:
    answer = client.post(f"/api/sessions/{source}/fork", json={"atVersion": at, **more})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["sessionId"])


def test_a_fork_without_a_difference_runs_to_the_same_end_for_free(client: TestClient) -> None:
    source, history = blocked_once(client)
    before = session(client, source)
    forked = fork(client, source, asked(history, "architect"))
    end = ended(client, forked)
    assert (end["status"], end["iteration"], end["forkedFrom"]) == ("success", 2, source)
    assert end["budget"]["tokens"] == 110, "only what was spent before the fork"
    assert only(events(client, forked), "session.diverged") == []
    assert session(client, source) == before, "the source is untouched"


def test_the_common_history_is_the_sources(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    copied = events(client, fork(client, source, at))[:at]
    assert [event["type"] for event in copied] == [event["type"] for event in history[:at]]
    assert [event["timestamp"] for event in copied] == [event["timestamp"] for event in history[:at]]


def test_another_answer_leads_another_way(client: TestClient) -> None:
    source, history = blocked_once(client)
    forked = fork(client, source, asked(history, "reviewer"), substitute={"answer": {"text": FINE}})
    end = ended(client, forked)
    assert (end["status"], end["iteration"]) == ("success", 1)


def test_what_a_person_answers_for_an_agent_is_the_persons_everywhere(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    forked = fork(client, source, at, substitute={"answer": {"text": FINE}})
    ended(client, forked)
    turn = events(client, forked)[at + 1]["data"]["turnId"]
    assert client.get(f"/api/sessions/{forked}/turns/{turn}").json()["by"] == "unauthenticated"
    worklog = client.get(f"/api/sessions/{forked}/worklog").text
    assert "### Iteration 1 — a person for reviewer (reviewer, review)" in worklog
    page = client.get(f"/sessions/{forked}/turns/{turn}").text
    assert "unauthenticated answered for reviewer." in page
    log = client.get(f"/sessions/{forked}/event", params={"at": at + 2}).text
    assert "unauthenticated answered for reviewer" in log and "reviewer answered" not in log
    listed = client.get(f"/sessions/{forked}", params={"tab": "turns"}).text
    assert "unauthenticated answered for reviewer." in listed[: listed.index("</nav></details>")]


def test_what_a_person_finds_in_place_of_an_agent_is_the_persons(client: TestClient) -> None:
    source, history = blocked_once(client)
    blocks = '{"blockingIssues": [{"id": "1", "title": "No", "detail": "Not yet."}]}'
    forked = fork(client, source, asked(history, "reviewer"), substitute={"answer": {"text": blocks}}, mode="stop")
    [found] = client.get(f"/api/sessions/{forked}/findings").json()["items"]
    assert (found["title"], found["by"]) == ("No", "unauthenticated")
    assert {step["by"] for step in found["life"] if step["act"] == "raised"} == {"unauthenticated"}


def test_what_a_person_answered_is_not_recalled_as_the_agents(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    forked = fork(client, source, at, substitute={"answer": {"text": FINE}})
    ended(client, forked)
    again = fork(client, forked, at)
    assert ended(client, again)["iteration"] == 2, "the reviewer itself is asked"


@pytest.mark.parametrize("words", ["not JSON", "{}", '{"blockingIssues": 7}'])
def test_an_unreadable_answer_in_an_agents_place_is_not_replaced_by_the_recorded_one(
    client: TestClient, words: str
) -> None:
    source, history = blocked_once(client)
    at = asked(history, "reviewer")
    forked = fork(client, source, at, substitute={"answer": {"text": words}}, mode="stop")
    until(lambda: only(events(client, forked), "session.diverged"), what="the divergence")
    later = [event["type"] for event in events(client, forked) if event["version"] > at]
    assert "turn.attempt_failed" in later and "turn.answered" not in later
    assert client.get(f"/api/sessions/{forked}").json()["session"]["held"] is True


def test_an_answer_where_nobody_is_asked_is_refused(client: TestClient) -> None:
    source, history = blocked_once(client)
    body = {"atVersion": len(history), "substitute": {"answer": {"text": FINE}}}
    answer = client.post(f"/api/sessions/{source}/fork", json=body)
    assert answer.status_code == 422 and "no agent is asked at this version" in answer.text


def test_fork_in_stop_mode_is_held_until_a_person_continues_it(client: TestClient) -> None:
    source, history = blocked_once(client)
    other = BLOCKED.replace("no test", "no docs")
    forked = fork(client, source, asked(history, "reviewer"), substitute={"answer": {"text": other}}, mode="stop")
    until(lambda: only(events(client, forked), "session.diverged"), what="the divergence")
    page = client.get(f"/api/sessions/{forked}").json()
    assert page["session"]["held"] is True
    assert page["availableCommands"] == ["continue", "cancel", "extend", "revise"]
    [item] = [each for each in client.get("/api/decisions").json()["items"] if each["sessionId"] == forked]
    assert (item["waitsFor"], item["cause"], item["choices"]) == ("checkpoint", "held", ["continue"])
    assert forked in client.get("/", headers=BROWSER).text and forked in client.get("/decisions", headers=BROWSER).text
    assert [each["id"] for each in client.get("/api/sessions?status=held").json()["items"]] == [forked]
    assert f'href="/sessions/{forked}"' in client.get("/?status=held", headers=BROWSER).text
    assert forked not in client.get("/?status=running", headers=BROWSER).text
    assert client.post(f"/api/sessions/{forked}/continue", json={}).status_code == 200
    assert forked not in {each["sessionId"] for each in client.get("/api/decisions").json()["items"]}
    assert ended(client, forked)["status"] == "success"


def test_the_opposite_decision_of_a_review_leaves_the_review_as_it_was(client: TestClient) -> None:
    waiting = talks.waits(client, talks.review(maxRounds=1))
    assert talks.decide(client, waiting["id"], "skip").status_code == 200
    forked = fork(client, waiting["id"], waiting["version"], substitute={"decision": "apply_fix"})
    assert talks.reached(client, forked, "decided")["decision"]["choice"] == "apply_fix"
    assert session(client, waiting["id"])["decision"]["choice"] == "skip"


@pytest.mark.parametrize("mode", ["live", "stop"])
def test_a_decision_that_expired_has_its_whole_time_again(client: TestClient, mode: str) -> None:
    source = start(client, talks.review(maxRounds=1, decisionSeconds=1))
    talks.reached(client, source, "decided")
    [request] = [event for event in events(client, source) if event["type"] == "review.decision_requested"]
    forked = fork(client, source, request["version"], snap=True, mode=mode)
    [begun] = [event for event in events(client, forked) if event["type"] == "session.forked"]
    expires_at = _instant(begun["timestamp"]) + timedelta(seconds=1)
    assert _instant(session(client, forked)["expiresAt"]) == expires_at
    assert talks.reached(client, forked, "decided")["decision"]["expired"] is True
    [expired] = [event for event in events(client, forked) if event["type"] == "review.expired"]
    assert _instant(expired["timestamp"]) > expires_at


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_opposite_decision_in_a_delivery_runs_to_its_own_end(client: TestClient) -> None:
    source = start(client, delivery({}, review={"maxRounds": 1}))
    first = talks.child(client, source)
    version = session(client, source)["version"]
    talks.decide(client, source, "skip")
    assert ended(client, source)["iteration"] == 1
    forked = fork(client, source, version, substitute={"decision": "apply_fix"})
    second = talks.child(client, forked, 2)
    assert second["id"] != first["id"]
    talks.decide(client, forked, "skip")
    assert ended(client, forked)["iteration"] == 2


def test_a_fork_may_be_given_more_budget(client: TestClient) -> None:
    source = start(client, delivery({"reviewer": [BLOCKED]}, maxIterations=1))
    end = ended(client, source)
    assert end["finalSummary"] == "failed_budget_exhausted"
    forked = fork(client, source, end["version"], substitute={"budget": {"addIterations": 1}})
    again = ended(client, forked)
    assert (again["iteration"], again["budget"]["reason"]) == (2, "iterations")
    assert session(client, source)["iteration"] == 1


def test_impossible_fork_is_refused_and_changes_nothing(client: TestClient) -> None:
    source, _ = blocked_once(client)
    impossible: list[tuple[Json, int, str | None]] = [
        ({}, 422, "/atVersion"),
        ({"atVersion": 0}, 422, "/atVersion"),
        ({"atVersion": 9_999}, 404, None),
        ({"atVersion": 3, "mode": "perhaps"}, 422, "/mode"),
        ({"atVersion": 3, "substitute": {"decision": "skip", "profile": "seed"}}, 422, "/substitute"),
        ({"atVersion": 3, "substitute": {"profile": "seed"}}, 422, "/substitute/profile"),
        ({"atVersion": 3, "substitute": {"decision": "skip"}}, 409, None),
        ({"atVersion": 3, "substitute": {"budget": {"addRounds": 1}}}, 422, "/substitute/budget"),
    ]
    for body, status, pointer in impossible:
        answer = client.post(f"/api/sessions/{source}/fork", json=body)
        assert answer.status_code == status, (body, answer.text)
        if pointer is not None:
            assert [error["pointer"] for error in answer.json()["errors"]] == [pointer], body
    assert len(client.get("/api/sessions").json()["items"]) == 1


def test_every_history_is_decided_the_same_way_again(client: TestClient) -> None:
    source, history = blocked_once(client)
    fork(client, source, asked(history, "architect"))
    review = talks.waits(client, talks.review())
    talks.decide(client, review["id"], "apply_fix")
    exhausted = start(client, delivery({"reviewer": [BLOCKED]}, maxIterations=1))
    ended(client, exhausted)
    client.post(f"/api/sessions/{exhausted}/budget", json={"addIterations": 1, "reason": "once more"})
    ended(client, exhausted)
    failing = start(client, delivery({"dev": [{"error": "crash"}]}))
    ended(client, failing)
    store = system(client).store
    ids = {recorded.session_id for recorded in store.log(limit=10_000)}
    assert len(ids) == 5
    for session_id in ids:
        assert first_difference(store.history(session_id), lambda text: text.head) is None, session_id


LONG = json.dumps({"blockingIssues": [{"id": "1", "title": "no test", "detail": "긴 " * 9_000}]})
SENT_BACK = {"reviewer": [LONG, FINE]}
PLANNED = {
    "planner": [plan(subtask("Backend", 3, 4))],
    "judge": [verdicts(Backend=False), verdicts(Backend=True)],
}


@pytest.mark.parametrize(
    "body",
    [
        delivery(SENT_BACK, maxIterations=2),
        orchestration(PLANNED, employees=TEAM[:2], triage="orchestrate"),
        talks.review({"reviewer": ["No. " * 100], "coder": ["Yes. " * 100]}, maxRounds=3, subject="Step. " * 100),
    ],
    ids=["delivery", "orchestration", "review"],
)
def test_forks_from_anywhere_are_the_same_and_decided_the_same_way_again(client: TestClient, body: Json) -> None:
    """Copied events and long texts name the source; that does not count as a difference."""
    source = start(client, body)
    until(lambda: rests(client, source), what="the source's end")
    last = session(client, source)["version"]
    for version in (*range(1, last, 3), last):
        forked = fork(client, source, version, snap=True)
        until(partial(rests, client, forked), what="the fork's end")
        forked = fork(client, forked, session(client, forked)["version"])
        assert only(events(client, forked), "session.diverged") == [], version
        assert client.get(f"/api/sessions/{forked}/replay").json()["difference"] is None, version
        assert client.get(f"/api/sessions/{source}/diff/{forked}").json()["firstDivergence"] is None, version


def rests(client: TestClient, session_id: str) -> bool:
    return session(client, session_id)["status"] in ("success", "done", talks.WAITS)


def test_a_fork_parts_where_another_answer_was_given(client: TestClient) -> None:
    source = start(client, orchestration(PLANNED, employees=TEAM[:2], triage="orchestrate"))
    until(lambda: rests(client, source), what="the source's end")
    judged = asked(events(client, source), "judge")
    forked = fork(client, source, judged, substitute={"answer": {"text": verdicts(Backend=True)}})
    until(lambda: rests(client, forked), what="the fork's end")
    parted = client.get(f"/api/sessions/{source}/diff/{forked}").json()["firstDivergence"]
    assert (parted["a"]["type"], parted["a"]["version"]) == ("turn.answered", judged + 1)
    assert client.get(f"/api/sessions/{forked}/replay").json()["difference"] is None


def test_a_rule_that_has_changed_is_found_at_the_first_place_it_matters(client: TestClient) -> None:
    source, log = blocked_once(client)
    history = system(client).store.history(source)
    place = next(index for index, event in enumerate(log) if event["type"] == "delivery.review_blocking_detected")
    history[place] = _with(history[place], fix_plan=("Another rule wrote this.",))
    difference = first_difference(history, lambda text: text.head)
    assert difference is not None
    assert (difference.version, difference.command) == (place + 1, "RecordReply")
    assert "Another rule wrote this." in difference.expected
    assert "Review blocked at iteration 1." in difference.actual


def _with(recorded: Recorded, **fields: object) -> Recorded:
    return recorded._replace(event=recorded.event.model_copy(update=fields))


def test_the_explanation_goes_back_to_the_command_that_began_it(client: TestClient) -> None:
    source, _ = blocked_once(client)
    answer = client.get(f"/api/sessions/{source}/explain", params={"wish": "implementation"}).json()
    assert [link["actor"] for link in answer["chain"][:2]] == ["unauthenticated", "agent:planner"]
    assert answer["chain"][-1]["events"][-1]["state"] == "success"
    wanted = "From success to implementation: revise to implementation.\nWaiting for a person: revise."
    assert answer["whyNot"]["text"] == wanted
    assert "Review approved" in json.dumps(answer["chain"][-1])


def test_explanation_of_a_version_ignores_later_events(client: TestClient) -> None:
    source, history = blocked_once(client)
    at = asked(history, "dev")
    page = client.get(f"/api/sessions/{source}/explain", params={"version": at, "wish": "review"}).json()
    assert page["state"] == "implementation"
    assert page["whyNot"]["steps"] == [
        {"event": "complete", "to": "validation"},
        {"event": "complete", "to": "review"},
    ]


def test_two_sessions_are_the_same_until_they_part(client: TestClient) -> None:
    source, history = blocked_once(client)
    same = fork(client, source, asked(history, "architect"))
    other = fork(client, source, asked(history, "reviewer"), substitute={"answer": {"text": FINE}})
    ended(client, same)
    ended(client, other)
    assert client.get(f"/api/sessions/{source}/diff/{same}").json()["firstDivergence"] is None
    history = client.get(f"/api/sessions/{source}/diff/{other}").json()
    assert history["firstDivergence"]["a"]["type"] == "turn.answered"
    assert history["state"]["iteration"] == {"a": 2, "b": 1}
    assert history["cost"]["tokensDelta"] == -330
    assert client.get(f"/api/sessions/{source}/diff/delivery-unknown").status_code == 404


@pytest.mark.parametrize("generations", [2, 3])
def test_a_fork_of_forks_that_never_worked_goes_on_from_the_work_of_the_first(
    client: TestClient, generations: int
) -> None:
    source, history = blocked_once(client)
    for _ in range(generations - 1):
        source = fork(client, source, history[-1]["version"])
    forked = fork(client, source, asked(history, "reviewer"), substitute={"answer": {"text": BLOCKED}})
    end = ended(client, forked)
    assert (end["status"], end["iteration"], end["lastError"]) == ("success", 2, None)


def test_a_fork_may_be_bound_to_the_version_that_was_seen(client: TestClient) -> None:
    """Contract §3: `If-Match` on every command. A repeated key still gets its first answer."""
    source, history = blocked_once(client)
    newest = history[-1]["version"]
    endpoint, body = f"/api/sessions/{source}/fork", {"atVersion": newest}
    stale = client.post(endpoint, json=body, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["currentVersion"]) == (412, newest)
    assert client.post(endpoint, json=body, headers={"If-Match": "abc"}).status_code == 400
    bound = {"If-Match": f'"{newest}"', "Idempotency-Key": "fork-1"}
    first = client.post(endpoint, json=body, headers=bound)
    again = client.post(endpoint, json=body, headers=bound | {"If-Match": '"1"'})
    assert (first.status_code, again.status_code, again.json()) == (202, 202, first.json())


def test_two_commands_under_one_id_are_two_decisions(client: TestClient) -> None:
    """Two people may use the same key for different commands."""
    source, _ = blocked_once(client)
    first, second = system(client).store.history(source)[:2]
    twins = [first, second._replace(causation=first.causation, at=first.at + 1)]
    assert (whole(twins, 1), whole(twins, 2)) == (1, 2)
    assert whole([first, second], 1) == 2


def test_fork_inside_a_decision_includes_the_whole_decision(client: TestClient) -> None:
    source, history = blocked_once(client)
    answered = next(event["version"] for event in history if event["type"] == "delivery.review_blocking_detected")
    forked = fork(client, source, answered - 1, snap=True)
    assert ended(client, forked)["status"] == "success"
    assert only(events(client, forked), "session.forked")[0]["sourceVersion"] > answered
