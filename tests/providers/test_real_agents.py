"""Real programs against the stub: a delivery that fixes a failing test, an orchestration of two rounds, failures.

Run with `-m agents`; the programs come from npm at first use (see `programs.py`).
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import carry_out
from tests.providers.programs import KEYS, PACKAGES, installed, settings
from tests.providers.stub import Provider, Rule, Step, Usage

pytestmark = pytest.mark.agents

CALL = Usage(fresh=1_000, cached=200, output=50)
APPROVED = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 95, "fixPlan": []})
FIX = "sed -i 's/a - b/a + b/' calc.py"
TEST = "from calc import add\nassert add(2, 3) == 5, add(2, 3)\n"


def says(text: str) -> Step:
    return Step(text=text, usage=CALL)


def runs(command: str) -> Step:
    return Step(shell=command, usage=CALL)


@pytest.fixture(params=PACKAGES)
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    monkeypatch.setenv("PATH", f"{installed(name)}{os.pathsep}{os.environ['PATH']}")
    for key in KEYS:
        monkeypatch.setenv(key, "sk-stub-0123456789")
    return name


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as found:
        yield found


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one failing test; the log is beside it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "test_calc.py").write_text(TEST)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Start"]):
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *who, *command], cwd=folder, check=True)
    for name in [name for name in os.environ if name.startswith("HANSARD_") and name != "HANSARD_TEST_AGENTS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(folder)
    return folder


def team(folder: Path, name: str, url: str) -> str:
    path = folder.parent / "team.toml"
    limits = "timeout_seconds = 120\nidle_seconds = 60"
    path.write_text(
        f'[[agents]]\nname = "Agent"\npreset = "{name}"\n[agents.settings]\n{limits}\n{settings(name, url)}\n'
    )
    return str(path)


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert carry_out(["events", "latest", "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def answered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["data"] for event in found if event["type"] == "turn.answered" and event["data"].get("usage")]


def test_a_delivery_fixes_a_failing_test_and_counts_what_the_provider_counted(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = [
        Rule("You are the planner", [says("Plan: fix the sign in add.")]),
        Rule("You are the architect", [says("Keep it as it is.")]),
        Rule("You are the designer", [says("Change - to +.")]),
        Rule("You are the developer", [runs(FIX), says("Fixed the sign.")]),
        Rule("You are the reviewer", [says(APPROVED)]),
    ]
    words = ["run", "-t", "Fix add", "-f", "calc.py", "--test", "python3 test_calc.py", "--max-iterations", "2"]
    code = carry_out([*words, "--team", team(repository, program, provider.url)])
    assert code == 0, capsys.readouterr()
    turns = [turn for turn in answered(events(capsys)) if turn["agent"] == "Agent"]
    assert [turn["role"] for turn in turns] == ["planner", "architect", "designer", "dev", "reviewer"]
    assert [turn.get("files", []) for turn in turns][3] == ["calc.py"]
    side = sum(usage.input for _, usage in provider.calls if usage.fresh == 10)  # titles: not told by the program
    assert sum(turn["usage"]["inputTokens"] for turn in turns) == provider.input_tokens() - side
    assert sum(turn["usage"]["cachedTokens"] for turn in turns) == sum(usage.cached for _, usage in provider.calls)


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
    code = carry_out([*words, "--team", team(repository, program, provider.url)])
    assert code == 0, capsys.readouterr()
    found = events(capsys)
    turns = answered(found)
    assert [turn["role"] for turn in turns] == ["planner", "backend", "judge", "backend", "judge"]
    assert [turn.get("resumed") for turn in turns if turn["role"] == "judge"] == [False, True]
    assert not [event for event in found if event["type"] == "turn.failed"]


@pytest.mark.parametrize(("status", "code"), [(401, "auth")])
def test_what_cannot_succeed_ends_at_once(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str], status: int, code: str
) -> None:
    provider.rules = [Rule("You are the planner", [Step(status=status)])]
    words = ["run", "-t", "Fix add", "-f", "calc.py", "--test", "python3 test_calc.py", "--max-iterations", "1"]
    assert carry_out([*words, "--team", team(repository, program, provider.url)]) != 0
    [failed] = [event["data"] for event in events(capsys) if event["type"] == "turn.failed"]
    assert (failed["failure"]["code"], failed["failure"]["retryable"]) == (code, False)
    assert failed["seconds"] < 60
