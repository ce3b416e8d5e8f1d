"""The presets, the agents of a team, and one small test question for each agent."""

import sys
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard

ECHO = """
import json, sys
if "--version" in sys.argv:
    print("echo 1.2.3")
else:
    sys.stdin.read()
    said = {"text": "READY", "session": "s-1", "usage": {"in": 12, "out": 1}}
    print(json.dumps({"resumed": "--resume" in sys.argv, **said}))
"""


def team(folder: Path, argv: list[str], **more: str) -> str:
    path = folder / "team.toml"
    lines = [
        *("[[agents]]", 'name = "Echo"', 'roles = ["reviewer"]', 'adapter = "command"', "[agents.settings]"),
        f"argv = {argv}",
        f"resume_argv = {[*argv, '--resume', '{agent_session}']}",
        *('output = "json"', 'text_path = "text"', 'session_path = "session"'),
        'usage_paths = { input_tokens = "usage.in", output_tokens = "usage.out" }',
        *(f"{name} = {value}" for name, value in more.items()),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def echo(tmp_path: Path) -> str:
    program = tmp_path / "echo"
    program.write_text(f"#!{sys.executable}\n{ECHO}")
    program.chmod(0o755)
    return str(program)


def test_the_presets_and_the_team_are_listed(hansard: Hansard, tmp_path: Path, echo: str) -> None:
    result = hansard("team", "--team", team(tmp_path, [echo]), "--json").json
    assert [row["preset"] for row in result["presets"]] == [
        *("claude", "codex", "gemini", "opencode", "qwen", "copilot", "aider")
    ]
    assert all(row["versions"] and row["install"] for row in result["presets"])
    [agent] = result["agents"]
    assert (agent["name"], agent["roles"], agent["conversation"]) == ("Echo", ["reviewer"], "role")
    assert "Echo" in hansard("team", "--team", team(tmp_path, [echo])).out


def test_answering_agent_is_shown_with_its_usage(hansard: Hansard, tmp_path: Path, echo: str) -> None:
    result = hansard("doctor", "--try", "--team", team(tmp_path, [echo]), "--json")
    [agent] = result.json["agents"]
    assert (result.code, agent["ok"], agent["answer"], agent["version"]) == (0, True, "READY", "echo 1.2.3")
    assert (agent["resumed"], agent["problem"]) == (True, None)
    assert (agent["usage"]["inputTokens"], agent["usage"]["outputTokens"]) == (12, 1)


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (
            ["/bin/sh", "-c", "echo '401 Unauthorized' >&2; exit 1", "sh"],
            "auth: The program ended with exit code 1: 401",
        ),
        (["no-such-agent-anywhere"], "no-such-agent-anywhere is not on PATH."),
    ],
)
def test_an_agent_that_fails_says_why(hansard: Hansard, tmp_path: Path, argv: list[str], problem: str) -> None:
    result = hansard("doctor", "--try", "--team", team(tmp_path, argv), "--json")
    [agent] = result.json["agents"]
    assert (result.code, agent["ok"]) == (1, False)
    assert agent["problem"].startswith(problem)
