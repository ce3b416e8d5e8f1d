"""Before the first paid turn: a start whose agents are known to fail is refused, and nothing is recorded."""

from pathlib import Path
from typing import Any

import pytest

from adapters.agents.announcement import announcement_of, line_of, parse
from adapters.agents.team import load
from tests.api.server import inside, serving, system

Json = dict[str, Any]
DELIVERY: Json = {"kind": "delivery", "task": "Fix it", "testCommand": "true"}
KEYS = ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "CODEX_API_KEY", "OPENAI_API_KEY")
CODERS = '["planner", "architect", "designer", "dev", "assistant", "custom"]'
JUDGES = '["reviewer", "judge", "critic", "coder", "synthesizer"]'


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two agent programs on PATH, and no login of any of them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "codex"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    for key in (
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_AUTH_TOKEN",
        "CODEX_API_KEY",
        "OPENAI_API_KEY",
    ):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def team_of(folder: Path, coder: str = "claude", judge: str = "codex", more: str = "") -> Path:
    file = folder / "team.toml"
    file.write_text(
        f'{more}[[agents]]\nname = "Ada"\npreset = "{coder}"\nroles = {CODERS}\n'
        f'[[agents]]\nname = "Grace"\npreset = "{judge}"\nroles = {JUDGES}\n'
    )
    return file


def test_the_login_of_the_reviewer_is_looked_for_before_the_coder_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with inside(tmp_path, team=team_of(tmp_path)) as client:
        answer = client.post("/api/sessions", json=DELIVERY)
        assert answer.status_code == 409
        problem = answer.json()
        assert problem["code"] == "agent_not_ready"
        assert [each["agent"] for each in problem["agents"]] == ["Grace"]
        assert "OPENAI_API_KEY" in problem["detail"]
        assert system(client).store.head() == 0


@pytest.mark.parametrize(
    ("path", "body", "missing"),
    [
        ("/api/sessions", DELIVERY, {"Ada", "Grace"}),
        ("/api/sessions", DELIVERY | {"phases": ["implementation", "validation", "packaging"]}, {"Ada"}),
        ("/api/sessions", {"kind": "orchestration", "prompt": "Fix it", "triage": "direct"}, {"Ada"}),
        ("/api/sessions", {"kind": "orchestration", "prompt": "Fix it", "triage": "orchestrate"}, {"Ada", "Grace"}),
        ("/api/sessions", {"kind": "review", "subject": "x = 1/0"}, {"Grace"}),
        ("/api/sessions", {"kind": "debate", "plan": "Rewrite it"}, {"Grace"}),
        ("/api/message", {"prompt": "What is this?"}, {"Ada"}),
    ],
)
def test_those_who_are_certain_to_be_asked_are_named(tmp_path: Path, path: str, body: Json, missing: set[str]) -> None:
    with inside(tmp_path, team=team_of(tmp_path)) as client:
        answer = client.post(path, json=body)
        assert answer.status_code == 409
        assert {each["agent"] for each in answer.json()["agents"]} == missing
        assert system(client).store.head() == 0


def test_a_program_that_is_not_there_is_named(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-y")
    (programs / "codex").unlink()
    with inside(tmp_path, team=team_of(tmp_path)) as client:
        [lack] = client.post("/api/sessions", json=DELIVERY).json()["agents"]
        assert lack["agent"] == "Grace" and lack["code"] == "agent_program_missing"


def test_it_starts_anyway_where_that_is_wanted_and_warns(tmp_path: Path) -> None:
    with inside(tmp_path, team=team_of(tmp_path), work=False) as client:
        system(client).works = True
        answer = client.post("/api/sessions", json=DELIVERY | {"anyway": True})
        assert answer.status_code == 202
        assert [each["params"]["agent"] for each in answer.json()["warnings"]] == ["Ada", "Grace"]


def test_an_agent_that_is_only_a_fallback_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    file = team_of(tmp_path, judge="claude", more='[retry]\nfallback = ["Linus"]\n')
    with file.open("a") as more:
        more.write('[[agents]]\nname = "Linus"\npreset = "codex"\nroles = ["data"]\n')
    with inside(tmp_path, team=file, work=False) as client:
        system(client).works = True
        answer = client.post("/api/sessions", json=DELIVERY)
        assert answer.status_code == 202
        assert [each["params"]["agent"] for each in answer.json()["warnings"]] == ["Linus"]


def test_a_refusal_is_not_kept_under_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inside(tmp_path, team=team_of(tmp_path), work=False) as client:
        system(client).works = True
        key = {"Idempotency-Key": "once"}
        assert client.post("/api/sessions", json=DELIVERY, headers=key).status_code == 409
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-y")
        first = client.post("/api/sessions", json=DELIVERY, headers=key)
        assert first.status_code == 202
        monkeypatch.delenv("OPENAI_API_KEY")
        again = client.post("/api/sessions", json=DELIVERY, headers=key)
        assert again.status_code == 202 and again.json()["sessionId"] == first.json()["sessionId"]


def test_where_no_turn_can_run_yet_nothing_is_known(tmp_path: Path) -> None:
    with inside(tmp_path, team=team_of(tmp_path), work=False) as client:
        answer = client.post("/api/sessions", json=DELIVERY)
        assert answer.status_code == 202 and "warnings" not in answer.json()


def test_a_live_worker_says_what_its_agents_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = team_of(tmp_path)
    with serving(tmp_path, team=str(team)):  # without any login
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-y")
        with inside(tmp_path, team=team, work=False) as client:
            answer = client.post("/api/sessions", json=DELIVERY)
            assert answer.status_code == 409, answer.text
            assert {each["agent"] for each in answer.json()["agents"]} == {"Ada", "Grace"}


@pytest.mark.parametrize("work", [True, False])
def test_a_live_process_of_another_team_does_not_make_an_agent_ready(tmp_path: Path, work: bool) -> None:
    """It runs none of the turns, so what it can say of the agent is nothing."""
    other = tmp_path / "other.toml"
    other.write_text('[[agents]]\nname = "Linus"\nroles = ["dev", "reviewer"]\nadapter = "scripted"\n')
    with serving(tmp_path, team=str(other)), inside(tmp_path, team=team_of(tmp_path), work=work) as client:
        answer = client.post("/api/sessions", json=DELIVERY)
        assert answer.status_code == (409 if work else 202), answer.text
        assert "warnings" not in answer.json()


def test_an_announcement_reads_as_it_was_written(tmp_path: Path) -> None:
    said = announcement_of(load(team_of(tmp_path)))
    assert parse(line_of(said)) == said
    assert parse("") is None and parse("[]") is None and parse('{"Ada": 3}') is None
