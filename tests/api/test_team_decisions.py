"""Team decisions over HTTP: votes, approvers, the version seen, and limits of forks and cancellations."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from adapters.agents.tables import BadTeam
from adapters.agents.team import load
from tests.api.server import Json, delivery, events, inside, only, until
from tests.api.talks import reached
from tests.kit.replies import review

AGENTS = (
    '[[agents]]\nname = "Solo"\nadapter = "scripted"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n'
)
PEOPLE = ("ada", "bob", "eve", "kim")


def of(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key of {name}"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("team")
    lines = [f"{name}:{hashlib.sha256(f'key of {name}'.encode()).hexdigest()}:decide" for name in PEOPLE]
    (folder / "keys").write_text("\n".join(lines))
    decisions = (
        "[decisions]\napprovers = 2\nnot_author = true\nexpires_hours = 48\nremind_hours = [1, 24]\n"
        'who = [{ label = "money", keys = ["bob", "eve"] }]\n'
    )
    (folder / "team.toml").write_text(AGENTS + decisions)
    with inside(folder, api_keys_file=folder / "keys", team=folder / "team.toml") as result:
        result.headers.update(of("ada"))
        yield result


def waits(client: TestClient, **fields: Any) -> Json:
    """A review started by Ada that waits for its decision."""
    body = {"kind": "review", "subject": "it reads lines", "scenario": {"replies": {}}, **fields}
    name = client.post("/api/sessions", json=body).json()["sessionId"]
    return reached(client, name, "waiting_for_decision")


def vote(client: TestClient, name: str, choice: str, who: str, **fields: Any) -> Any:
    return client.post(f"/api/sessions/{name}/decision", json={"decision": choice, **fields}, headers=of(who))


def item(client: TestClient, name: str) -> Json:
    answer = client.get("/api/decisions?limit=200").json()["items"]
    return next(each for each in answer if each["sessionId"] == name)


def test_two_people_decide_and_the_author_does_not(client: TestClient) -> None:
    session = waits(client)
    name, seen = session["id"], session["seen"]
    waiting = item(client, name)
    assert waiting["seen"] == seen and len(seen) == 64 and waiting["expiresAt"]
    approval = waiting["approval"]
    assert (approval["approvers"], approval["authors"], approval["who"]) == (2, ["person:ada"], [])
    assert approval["missing"] == {"apply_fix": 2, "skip": 2} and len(approval["remindAt"]) == 2
    refused = vote(client, name, "skip", "ada", seen=seen)
    assert refused.status_code == 403 and "Anyone else" in refused.json()["detail"]
    assert vote(client, name, "skip", "bob").json()["errors"][0]["pointer"] == "/seen"
    assert vote(client, name, "skip", "bob", seen="0" * 64).status_code == 409
    assert vote(client, name, "skip", "bob", seen=seen, rationale="fine").status_code == 200
    after = item(client, name)["approval"]
    assert [(each["actor"], each["choice"]) for each in after["votes"]] == [("person:bob", "skip")]
    assert after["missing"] == {"apply_fix": 2, "skip": 1}
    assert vote(client, name, "skip", "bob", seen=seen).status_code == 409
    assert vote(client, name, "skip", "eve", seen=seen).status_code == 200
    ended = reached(client, name, "decided")
    assert [each["actor"] for each in ended["decision"]["votes"]] == ["person:bob", "person:eve"]
    voted = only(events(client, name), "decision.voted")
    assert [(each["choice"], each["actor"], each["seen"]) for each in voted] == [
        ("skip", "person:bob", seen),
        ("skip", "person:eve", seen),
    ]
    explained = client.get(f"/api/sessions/{name}/explain").json()["text"]
    assert "Votes: skip by bob, skip by eve." in explained
    worklog = client.get(f"/api/sessions/{name}/worklog").text
    assert "### bob voted skip" in worklog and "- By: eve\n" in worklog
    for tab in ("overview", "discussion", "worklog"):
        html = client.get(f"/sessions/{name}?tab={tab}").text
        assert not re.search(r"person:\w", re.sub(r"<[^>]*>", "", html)), tab
    replayed = client.get(f"/api/sessions/{name}?version={ended['version']}").json()["session"]
    assert replayed["decision"] == ended["decision"]


def test_label_rule_names_the_approvers(client: TestClient) -> None:
    session = waits(client, labels=["money"])
    assert session["approval"]["who"] == ["bob", "eve"]
    refused = vote(client, session["id"], "skip", "kim", seen=session["seen"])
    assert (refused.status_code, refused.json()["detail"]) == (403, "Only bob, eve may decide this.")
    again = client.post(
        f"/api/sessions/{session['id']}/decision",
        json={"decision": "skip", "seen": session["seen"]},
        headers=of("kim") | {"Idempotency-Key": "once"},
    )
    twice = client.post(
        f"/api/sessions/{session['id']}/decision",
        json={"decision": "skip", "seen": session["seen"]},
        headers=of("kim") | {"Idempotency-Key": "once"},
    )
    assert (again.status_code, twice.status_code, twice.text) == (403, 403, again.text)


def test_vote_cannot_be_bypassed(client: TestClient) -> None:
    """Neither by cancelling the review, nor in a fork of the parent, nor by waiting for a default."""
    body = delivery({"reviewer": [review(), review()]}, review={"enabled": True, "maxRounds": 1}, maxIterations=1)
    name = client.post("/api/sessions", json=body).json()["sessionId"]
    child = reached(client, _child(client, name), "waiting_for_decision")
    parent = client.get(f"/api/sessions/{name}").json()["session"]
    assert child["approval"]["authors"] == ["person:ada"]
    for who in ("ada", "kim"):
        fork = client.post(
            f"/api/sessions/{name}/fork",
            json={"atVersion": parent["version"], "substitute": {"decision": "skip"}},
            headers=of(who),
        )
        assert fork.status_code in (403, 409), fork.text
    assert client.post(f"/api/sessions/{child['id']}/cancel", json={}).status_code == 200
    assert reached(client, name, "failed", "success")["status"] == "failed"
    default = {"kind": "review", "subject": "x", "decisionSeconds": 5, "decisionDefault": "skip"}
    refused = client.post("/api/sessions", json=default)
    assert refused.status_code == 422 and refused.json()["errors"][0]["pointer"] == "/decisionDefault"


def _child(client: TestClient, name: str) -> str:
    def there() -> str | None:
        children = client.get(f"/api/sessions/{name}").json()["session"]["children"]
        return str(children[0]) if children else None

    return until(there, what="a child")


def test_a_fork_has_two_authors(client: TestClient) -> None:
    session = waits(client)
    fork = client.post(f"/api/sessions/{session['id']}/fork", json={"atVersion": session["version"]}, headers=of("bob"))
    made = client.get(f"/api/sessions/{fork.json()['sessionId']}").json()["session"]
    assert made["approval"]["authors"] == ["person:ada", "person:bob"]
    assert item(client, made["id"])["approval"]["authors"] == ["person:ada", "person:bob"]
    for who in ("ada", "bob"):
        assert vote(client, made["id"], "skip", who, seen=made["seen"]).status_code == 403


def test_pages_show_voters_and_missing_votes(client: TestClient) -> None:
    session = waits(client, labels=["money"])
    vote(client, session["id"], "skip", "bob", seen=session["seen"], rationale="rounds well")
    for page in ("/decisions?lang=en", f"/sessions/{session['id']}?lang=en"):
        text = client.get(page, headers={"Accept": "text/html"} | of("eve")).text
        assert f'name="seen" value="{session["seen"]}"' in text
        assert "May decide: bob, eve" in text and "person:" not in text and "rounds well" in text and "1/2" in text
    assert "결정할 수 있는 사람" in client.get("/decisions?lang=ko", headers={"Accept": "text/html"}).text


def _choices(client: TestClient, path: str, who: str, name: str) -> tuple[list[str], str]:
    """The buttons that this person gets for the decision, and the card's text."""
    html = client.get(path, headers={"Accept": "text/html"} | of(who)).text
    form = re.search(rf'<form[^>]*data-command="/api/sessions/{name}/decision".*?</form>', html, re.DOTALL)
    buttons = re.findall(r'<button class="button(?: strong)?" name="decision" value="(\w+)"', form[0] if form else "")
    return buttons, " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.mark.parametrize("path", ["/decisions?lang=en", "/sessions/{}?lang=en"])
def test_a_person_who_has_voted_sees_the_choice_and_may_change_it(client: TestClient, path: str) -> None:
    session = waits(client)
    name, seen = session["id"], session["seen"]
    page = path.format(name)
    assert _choices(client, page, "bob", name)[0] == ["apply_fix", "skip"]
    assert vote(client, name, "apply_fix", "bob", seen=seen).status_code == 200
    theirs, text = _choices(client, page, "bob", name)
    assert theirs == ["skip"] and "You chose: Apply fix" in text and "Change my choice" in text
    assert "✓ You chose: Apply fix" in _choices(client, "/?lang=en", "bob", name)[1]
    assert "You chose" not in _choices(client, "/?lang=en", "eve", name)[1]
    others, text = _choices(client, page, "eve", name)
    assert others == ["apply_fix", "skip"] and "You chose" not in text
    assert vote(client, name, "skip", "bob", seen=seen).status_code == 200
    theirs, text = _choices(client, page, "bob", name)
    assert theirs == ["apply_fix"] and "You chose: Skip" in text
    author, text = _choices(client, page, "ada", name)
    assert author == [] and "You cannot decide this" in text
    vote(client, name, "skip", "eve", seen=seen)
    reached(client, name, "decided")


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("approvers = 0", "approvers"),
        ("surprise = 1", "surprise"),
        ('approvers = 3\nwho = [{ label = "x", keys = ["a", "b"] }]', "fewer keys than approvers = 3"),
        ('who = [{ keys = ["a"] }]', "either a label or a repository"),
        ("remind_hours = [0]", "remind_hours"),
    ],
)
def test_a_team_file_that_cannot_be_meant_is_refused(tmp_path: Path, written: str, problem: str) -> None:
    (tmp_path / "team.toml").write_text(f"{AGENTS}[decisions]\n{written}\n")
    with pytest.raises(BadTeam, match=problem):
        load(tmp_path / "team.toml")


def test_repository_rule_names_the_approvers(tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text(
        f'{AGENTS}[decisions]\nremind_hours = 2\nwho = [{{ repository = "/srv/pay", keys = ["bob"] }}]\n'
    )
    decisions = load(tmp_path / "team.toml").decisions
    assert decisions is not None
    results = [decisions.policy("", (), place).who for place in ("/srv/pay", "/srv/pay/api", "/srv/payments", None)]
    assert results == [("bob",), ("bob",), (), ()]
    assert decisions.policy("", (), None).remind_ms == (7_200_000,)


def test_page_names_voters_and_excluded_people(client: TestClient) -> None:
    session = waits(client)
    name = session["id"]
    assert vote(client, name, "apply_fix", "bob", seen=session["seen"], rationale="memory grows").status_code == 200
    html = client.get(f"/sessions/{name}").text
    assert "bob: Apply fix · memory grows" in html and "Started it and may not decide: ada" in html
    html = client.get(f"/sessions/{name}?highlights=0").text
    assert "Apply fix 1/2" in html and "bob voted Apply fix: memory grows" in html
    assert "person:" not in re.sub(r"<[^>]*>", "", html)
    assert re.search(r"Waiting for a decision until <time [^>]*>\d{4}-\d\d-\d\d \d\d:\d\d UTC<", html)
