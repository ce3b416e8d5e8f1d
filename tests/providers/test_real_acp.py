"""Real programs that speak ACP, against the stub: a delivery, a question for permission, two rounds, a refused login.

Run with `-m agents`; the programs come from npm at first use (see `programs.py`).
"""

import json
import os
from pathlib import Path

import pytest

from api.cli.main import carry_out
from tests.api.server import delivery as body_of
from tests.api.server import ended, inside, only, start, until
from tests.api.server import events as history
from tests.providers.deliveries import FIX, RUN, answered, data, delivery, events, left_running, runs, says
from tests.providers.programs import ACP, KEYS, acp_settings, installed
from tests.providers.stub import Provider, Rule, Step

pytestmark = pytest.mark.agents

SECONDS = 600.0
WORDLESS = "claude"
"""It says nothing of what it has used."""


@pytest.fixture(params=ACP)
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    monkeypatch.setenv("PATH", f"{installed(ACP[name][0])}{os.pathsep}{os.environ['PATH']}")
    for key in KEYS:
        monkeypatch.setenv(key, "sk-stub-0123456789")
    return name


def team(folder: Path, name: str, url: str, more: str = "") -> Path:
    path = folder.parent / "team.toml"
    limits = "timeout_seconds = 180\nidle_seconds = 90"
    path.write_text(
        f'[[agents]]\nname = "Agent"\nadapter = "acp"\n[agents.settings]\n{limits}\n{acp_settings(name, url)}\n{more}'
    )
    return path


def test_a_delivery_fixes_a_failing_test(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery()
    assert carry_out([*RUN, "--team", str(team(repository, program, provider.url))]) == 0, capsys.readouterr()
    recorded = events(capsys)
    turns = answered(recorded)
    assert [turn["role"] for turn in turns] == ["planner", "architect", "designer", "dev", "reviewer"]
    assert turns[3]["files"] == ["calc.py"]
    assert [tool["title"] for did in data(recorded, "turn.activity_recorded") for tool in did["tools"]] == [FIX]
    asked = sum(usage.input for _, usage in provider.calls if usage.fresh > 10)
    known = [turn["usage"]["inputTokens"] for turn in turns]
    if program == "gemini":  # it counts every call of a turn
        assert sum(known) == asked
    assert all(tokens is None for tokens in known) == (program == WORDLESS)
    assert left_running(repository.parent) == []


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_question_is_answered_by_a_person(program: str, provider: Provider, repository: Path, decision: str) -> None:
    provider.rules = delivery()
    path = team(repository, program, provider.url, '[permissions]\nask = ["execute:*"]\n')
    body = body_of(workspace=str(repository), filePaths=["calc.py"], validationCommands=["python3 test_calc.py"])
    del body["scenario"]
    with inside(repository.parent, team=path) as client:
        name = start(client, body | {"maxIterations": 1})
        [asked] = until(
            lambda: only(history(client, name), "turn.permission_requested"), what="the question", seconds=SECONDS
        )
        assert (asked["tool"], asked["title"]) == ("execute", FIX)
        answer = {"requestId": asked["requestId"], "decision": decision}
        assert client.post(f"/api/sessions/{name}/permission", json=answer).status_code == 200
        status = ended(client, name, seconds=SECONDS)["status"]
        assert status == "success" if decision == "allow" else "failed"
        story = history(client, name)
        [dev] = [one for one in only(story, "turn.answered") if one["role"] == "dev"]
        assert dev["files"] == (["calc.py"] if decision == "allow" else [])
        assert sum(one["denied"] for one in only(story, "turn.activity_recorded")) == (decision == "deny")


def test_one_agent_in_all_roles_of_an_orchestration_of_two_rounds(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subtask = {"agent": "Agent", "role": "backend", "task": "Fix add", "start_phase": 3, "end_phase": 4}
    passed = json.dumps({"verdicts": [{"agent": "Agent", "pass": True, "feedback": "ok"}], "allDone": False})
    provider.rules = [
        Rule("You are the planner", [says(json.dumps({"direct_answer": None, "subtasks": [subtask]}))]),
        Rule("You are an employee", [runs(FIX), says("Fixed the sign."), says("Checked it.")]),
        Rule("You are the judge", [says(passed)]),
    ]
    words = ["orchestrate", "Fix add and check it, then document it", "--triage", "orchestrate"]
    assert carry_out([*words, "--team", str(team(repository, program, provider.url))]) == 0, capsys.readouterr()
    recorded = events(capsys)
    turns = answered(recorded)
    assert [turn["role"] for turn in turns] == ["planner", "backend", "judge", "backend", "judge"]
    [first, second] = [turn["resumed"] for turn in turns if turn["role"] == "judge"]
    assert not first
    assert second or program == "gemini"  # whose `session/load` often finds nothing in a new process
    assert data(recorded, "turn.failed") == []


def test_a_refused_login_ends_the_turn(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = [Rule("You are the planner", [Step(status=401)])]
    assert carry_out([*RUN, "--team", str(team(repository, program, provider.url))]) != 0
    [failed] = data(events(capsys), "turn.failed")
    assert (failed["failure"]["code"], failed["failure"]["retryable"]) == ("auth", False)
