"""No team, no approval: where nobody could do the work, nothing starts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.scenes import reached, two_iterations
from tests.api.server import inside, system, until
from tests.api.talks import child, decided
from tests.kit.replies import plan, subtask, verdicts

Json = dict[str, Any]
STARTS: list[tuple[str, Json]] = [
    ("/api/sessions", {"kind": "delivery", "task": "Fix it", "testCommand": "true"}),
    ("/api/sessions", {"kind": "orchestration", "prompt": "Fix it"}),
    ("/api/sessions", {"kind": "review", "subject": "x = 1/0"}),
    ("/api/sessions", {"kind": "debate", "plan": "Rewrite it"}),
    ("/api/message", {"prompt": "Fix it"}),
]


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[TestClient]:
    """A process without a team file and without `--example`."""
    with inside(tmp_path, example=False, read_after_seconds=5.0) as opened:
        yield opened


@pytest.mark.parametrize(("path", "body"), STARTS)
def test_a_start_without_a_team_is_refused_and_leaves_no_trace(alone: TestClient, path: str, body: Json) -> None:
    answer = alone.post(path, json=body)
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["code"] == "no_team"
    assert "hansard init" in problem["detail"] and "--example" in problem["detail"]
    assert system(alone).store.head() == 0


@pytest.mark.parametrize(("path", "body"), STARTS)
def test_a_start_that_brings_a_scenario_needs_no_team(alone: TestClient, path: str, body: Json) -> None:
    assert alone.post(path, json=body | {"scenario": {"replies": {}}}).is_success


def test_the_refusal_names_the_programs_that_are_installed(
    alone: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("codex", "qwen"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    problem = alone.post("/api/sessions", json=STARTS[1][1]).json()
    assert "codex, qwen" in problem["detail"]


def test_agents_that_come_for_their_turns_are_a_team(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    roles = ["planner", "architect", "designer", "dev", "reviewer", "judge", "assistant", "critic", "coder"]
    team.write_text(f'[[agents]]\nname = "Ada"\nadapter = "external"\nroles = {roles}\n'.replace("'", '"'))
    with inside(tmp_path, example=False, team=team) as opened:
        assert opened.post("/api/sessions", json=STARTS[1][1]).is_success


def test_a_session_of_the_example_team_goes_on_where_no_team_is(tmp_path: Path) -> None:
    with inside(tmp_path, work=False) as opened:
        started = opened.post("/api/message", json={"prompt": "/orchestrate Fix it", "origin": "demo"}).json()
    with inside(tmp_path, work=False, example=False) as opened:
        name = started["sessionId"]
        assert (
            opened.post(f"/api/sessions/{name}/cancel", json={}).is_success
            or opened.post(f"/api/sessions/{name}/reset", json={}).is_success
        )
        assert opened.post("/api/message", json={"prompt": "reset", "origin": "demo"}).is_success


# -- what scripted agents did is not taken for work -----------------------------------------------------------------


def test_a_session_of_scripted_agents_says_so_everywhere(tmp_path: Path) -> None:
    with inside(tmp_path) as opened:
        name = two_iterations(opened)
        assert opened.get(f"/api/sessions/{name}").json()["session"]["scripted"] is True
        [listed] = opened.get("/api/sessions").json()["items"]
        assert listed["scripted"] is True
        assert "Scripted" in opened.get("/", headers={"Accept": "text/html"}).text
        assert "Scripted" in opened.get(f"/sessions/{name}", headers={"Accept": "text/html"}).text


def test_a_scripted_agent_of_a_team_file_is_marked_once_it_has_answered(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text('[[agents]]\nname = "Ada"\nadapter = "scripted"\nroles = ["assistant", "planner", "judge"]\n')
    with inside(tmp_path, example=False, team=team) as opened:
        name = opened.post("/api/message", json={"prompt": "What is this?"}).json()["sessionId"]
        reached(opened, name, "done")
        assert opened.get(f"/api/sessions/{name}").json()["session"]["scripted"] is True
        assert until(lambda: opened.get("/api/sessions").json()["items"][0].get("scripted"), what="the list") is True


def test_agents_that_are_programs_are_not_marked(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text(
        '[[agents]]\nname = "Ada"\nadapter = "command"\nroles = ["assistant", "planner", "judge"]\n'
        '[agents.settings]\nargv = ["/bin/echo", "Four."]\nhome = "user"\noutput = "text"\n'
    )
    with inside(tmp_path, example=False, team=team) as opened:
        name = opened.post("/api/message", json={"prompt": "What is this?"}).json()["sessionId"]
        reached(opened, name, "done")
        assert "scripted" not in opened.get(f"/api/sessions/{name}").json()["session"]
        assert "scripted" not in opened.get("/api/sessions").json()["items"][0]


def _program(name: str, roles: list[str], says: str) -> str:
    told = json.dumps(["/bin/echo", says])
    settings = f'[agents.settings]\nargv = {told}\nhome = "user"\noutput = "text"\n'
    return f'[[agents]]\nname = "{name}"\nadapter = "command"\nroles = {json.dumps(roles)}\n{settings}'


@pytest.mark.parametrize("choice", ["accept", "cancelled"])
def test_a_scripted_critic_in_a_team_of_programs_marks_the_work_that_it_judged(tmp_path: Path, choice: str) -> None:
    team = tmp_path / "team.toml"
    programs = (
        _program("Pat", ["planner"], plan(subtask("Backend"))),
        _program("Jo", ["judge"], verdicts(Backend=True)),
        _program("Backend", ["backend"], "Done."),
    )
    critic = '[[agents]]\nname = "Cy"\nadapter = "scripted"\nroles = ["critic", "synthesizer"]\n'
    team.write_text("".join((*programs, critic)))
    body = {
        "kind": "orchestration",
        "prompt": "src/ API 만들어줘",
        "employees": [{"name": "Backend", "role": "backend"}],
        "triage": "orchestrate",
        "planReview": {"enabled": True, "maxRounds": 1},
    }
    with inside(tmp_path, example=False, team=team) as opened:
        name = opened.post("/api/sessions", json=body).json()["sessionId"]
        debate = child(opened, name)
        assert debate["scripted"] is True
        assert "scripted" not in opened.get(f"/api/sessions/{name}").json()["session"]
        if choice == "accept":
            decided(opened, name, "accept")
        else:
            assert opened.post(f"/api/sessions/{debate['id']}/cancel", json={}).is_success
        reached(opened, name, "done")
        assert opened.get(f"/api/sessions/{name}").json()["session"]["scripted"] is True
        items = {item["id"]: item for item in opened.get("/api/sessions").json()["items"]}
        assert items[name]["scripted"] is items[debate["id"]]["scripted"] is True
        assert "Scripted" in opened.get(f"/sessions/{name}", headers={"Accept": "text/html"}).text
