"""Try it differently: the form says where, who and what it costs, and makes what it says; no JSON, no ids typed."""

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.web.session.answer_forms import composed, prefilled
from tests.api.scenes import two_iterations, waiting_review
from tests.api.seen import BROWSER, Seen, page
from tests.api.server import Json, delivery, ended, events, inside, only, session, start
from tests.api.talks import reached
from tests.api.test_cuts import cuts
from tests.api.test_forks import BLOCKED, asked
from tests.api.test_session_page import words_of


def fields_of(client: TestClient, address: str) -> dict[str, str]:
    """What the form would send as it is shown."""
    seen = Seen(page(client, address))
    hidden = {
        each["name"]: each["value"] for each in seen.all("input") if each.get("type") == "hidden" and "name" in each
    }
    return {name: hidden[name] for name in ("key", "at", "turn") if name in hidden}


def sent(client: TestClient, source: str, fields: dict[str, str]) -> str:
    answer = client.post(f"/sessions/{source}/fork", data=fields, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith(f"/compare?a={source}&b=")
    return answer.headers["location"].rpartition("=")[2]


def test_an_event_inside_a_decision_leads_to_the_question_before_it(client: TestClient) -> None:
    source = two_iterations(client)
    blocked = next(e["version"] for e in events(client, source) if e["type"] == "delivery.review_blocking_detected")
    at = asked(events(client, source), "reviewer")
    text = words_of(page(client, f"/sessions/{source}/fork?at={blocked}"))
    assert f"It begins at {at}, before what led to event {blocked}." in text
    assert "Answer of reviewer" in text and "✕ blocked" in text and "No rate limit" in text
    assert "$0" in text and " turns" in text
    assert fields_of(client, f"/sessions/{source}/fork?at={blocked}")["at"] == str(at)


def test_every_cut_begins_where_the_form_says_and_asks_whom_it_says(client: TestClient) -> None:
    source = two_iterations(client)
    for cut in [row for row in cuts(client, source) if row["asks"]]:
        address = f"/sessions/{source}/fork?at={cut['version']}"
        assert f"Answer of {cut['asks']}" in words_of(page(client, address))
        fork = sent(client, source, fields_of(client, address))
        assert session(client, fork)["forkedAt"] == cut["version"]
        asked_there = events(client, fork)[: cut["version"]]
        assert any(e["agent"] == cut["asks"] for e in only(asked_there, "turn.requested"))


def test_a_fork_at_the_end_promises_no_turns(client: TestClient) -> None:
    source = two_iterations(client)
    last, before = len(events(client, source)), asked(events(client, source), "reviewer")
    assert "turns" not in words_of(page(client, f"/sessions/{source}/fork?at={last}")).partition("Then")[2]
    assert "up to about" in words_of(page(client, f"/sessions/{source}/fork?at={before}"))


def test_the_reviewer_approves_by_one_choice_and_compare_says_what_is_different(client: TestClient) -> None:
    source = two_iterations(client)
    at = asked(events(client, source), "reviewer")
    fields = fields_of(client, f"/sessions/{source}/fork?at={at}") | {"change": "approve", "mode": "live"}
    fork = sent(client, source, fields)
    assert (ended(client, fork)["status"], ended(client, fork)["iteration"]) == ("success", 1)
    text = words_of(page(client, f"/compare?a={source}&b={fork}"))
    assert f"at {at}" in text and "answer of reviewer changed" in text
    assert f"Both share {at} events, then they part." in page(client, f"/compare?a={source}&b={fork}")


def test_findings_are_edited_in_fields(client: TestClient) -> None:
    source = two_iterations(client)
    at = asked(events(client, source), "reviewer")
    fields = fields_of(client, f"/sessions/{source}/fork?at={at}")
    fields |= {"change": "findings", "row.0.title": "Names lie", "row.0.detail": "x is a date", "row.1.title": ""}
    fork = sent(client, source, fields)
    reached(client, fork, session(client, fork)["status"])
    found = only(events(client, fork)[at:], "delivery.review_blocking_detected")[0]
    assert [issue["title"] for issue in found["blockingIssues"]] == ["Names lie"]


def test_by_default_nobody_is_asked_before_a_person_says_so(client: TestClient) -> None:
    source = two_iterations(client)
    at = asked(events(client, source), "reviewer")
    fields = fields_of(client, f"/sessions/{source}/fork?at={at}") | {"change": "findings", "row.0.title": "Other"}
    fork = sent(client, source, fields)
    [begun] = only(events(client, fork), "session.forked")
    assert begun["mode"] == "stop"


def test_a_form_that_is_sent_twice_forks_once(client: TestClient) -> None:
    source = two_iterations(client)
    fields = fields_of(client, f"/sessions/{source}/fork?at=9")
    fork = sent(client, source, fields)
    assert sent(client, source, fields) == fork
    [begun] = only(events(client, fork), "session.forked")
    assert (begun["source"], begun["sourceVersion"]) == (source, int(fields["at"]))


def test_a_position_that_is_not_there_cannot_be_forked(client: TestClient) -> None:
    source = two_iterations(client)
    fields = fields_of(client, f"/sessions/{source}/fork") | {"at": "9999"}
    answer = client.post(f"/sessions/{source}/fork", data=fields, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 404
    assert f"There is no version 9999 of {source}." in words_of(answer.text)
    last = session(client, source)["version"]
    beyond = client.get(f"/sessions/{source}/fork?at={last + 1}", headers=BROWSER)
    assert beyond.status_code == 404 and str(last) in words_of(beyond.text)


def test_a_refused_fork_keeps_what_was_typed(client: TestClient) -> None:
    source = two_iterations(client)
    at = asked(events(client, source), "dev")
    fields = fields_of(client, f"/sessions/{source}/fork?at={at}")
    fields |= {"change": "text", "text": "mine", "model.dev": "--help"}
    answer = client.post(f"/sessions/{source}/fork", data=fields, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 422
    assert ">mine</textarea>" in answer.text and 'value="--help"' in answer.text


def test_what_no_form_sends_is_refused(client: TestClient) -> None:
    source = two_iterations(client)
    fields = fields_of(client, f"/sessions/{source}/fork")
    for wrong in ({"at": "0"}, {"key": "x"}, {"surprise": "1"}):
        answer = client.post(f"/sessions/{source}/fork", data=fields | wrong, headers=BROWSER)
        assert answer.status_code == 400


def test_a_review_can_be_decided_otherwise_where_it_waits(client: TestClient) -> None:
    review = waiting_review(client)
    at = session(client, review)["version"]
    client.post(f"/api/sessions/{review}/decision", json={"decision": "skip"})
    address = f"/sessions/{review}/fork?at={at}"
    assert "Another decision" in words_of(page(client, address))
    fork = sent(client, review, fields_of(client, address) | {"change": "decision", "decision": "apply_fix"})
    assert reached(client, fork, "decided")["decision"]["choice"] == "apply_fix"
    assert "Another decision" not in words_of(page(client, f"/sessions/{review}/fork?at=2"))


def test_run_again_is_the_same_form_from_the_start(client: TestClient) -> None:
    source = two_iterations(client)
    ended(client, source)
    html = page(client, f"/sessions/{source}")
    assert re.search(rf'href="/sessions/{source}/fork\?at=1" data-sheet[^>]*>Run again</a>', html)
    first = next(row for row in cuts(client, source) if row["asks"])
    assert fields_of(client, f"/sessions/{source}/fork?at=1")["at"] == str(first["version"])


ONE_FOR_ALL = """
[[agents]]
name = "Ada"
roles = ["planner", "architect", "designer", "dev", "reviewer"]
adapter = "command"
[agents.settings]
argv = ["cat"]
"""


def test_an_agent_with_several_roles_gets_its_model_once(tmp_path: Path) -> None:
    """No field of the form is there twice: else nothing could be started again with such a team."""
    team = tmp_path / "team.toml"
    team.write_text(ONE_FOR_ALL)
    with inside(tmp_path, team=team) as client:
        source = start(client, delivery() | {"scenario": None})
        ended(client, source)
        seen = Seen(page(client, f"/sessions/{source}/fork?at=1"))
        names = [each["name"] for each in seen.all("input") if each.get("type") != "radio" and "name" in each]
        assert len(names) == len(set(names)) and names.count("model.Ada") == 1
        assert "Model: as chosen for Ada above" in words_of(page(client, f"/sessions/{source}/fork?at=1"))


def test_the_form_speaks_korean(client: TestClient) -> None:
    source = two_iterations(client)
    text = words_of(page(client, f"/sessions/{source}/fork?lang=ko"))
    assert "다르게 해 보기" in text and "분기 시작" in text


@pytest.mark.parametrize(
    ("reads", "text", "what", "fields", "expected"),
    [
        ("review_artifact", BLOCKED, "approve", {}, {"blockingIssues": []}),
        (
            "verdicts",
            json.dumps({"verdicts": [{"agent": "Ada", "pass": False, "feedback": "no"}]}),
            "verdicts",
            {"row.0.agent": "Ada", "row.0.pass": "pass", "row.0.feedback": "fine"},
            {"verdicts": [{"agent": "Ada", "pass": True, "feedback": "fine"}], "allDone": False},
        ),
        (
            "review",
            json.dumps({"verdict": "PASS", "issues": []}),
            "review",
            {"verdict": "NEEDS_FIX", "summary": "s", "row.0.severity": "minor", "row.0.description": "d"},
            {"verdict": "NEEDS_FIX", "summary": "s", "issues": [{"severity": "minor", "description": "d"}]},
        ),
        (
            "debate",
            json.dumps({"verdict": "CHALLENGE", "concerns": ["slow"]}),
            "debate",
            {"verdict": "APPROVE", "summary": "slow\n\nlarge"},
            {"verdict": "APPROVE", "concerns": ["slow", "large"], "suggestions": []},
        ),
    ],
)
def test_each_role_has_a_form(reads: str, text: str, what: str, fields: dict[str, str], expected: Json) -> None:
    assert prefilled(reads, text).form != "text"
    assert json.loads(composed(what, fields)) == expected


def test_an_answer_that_cannot_be_read_is_a_text() -> None:
    assert prefilled("verdicts", "no json").form == "text"
    assert composed("text", {"text": "as typed"}) == "as typed"
