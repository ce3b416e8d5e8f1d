"""A delivery with a model in its speaking roles: its turns run, are counted, shown and resumed."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import carry_out
from tests.adapters.endpoint import Endpoint, Said, chunk, event

ISSUE = {"id": "B1", "title": "Test it", "detail": "There is no test.", "file": "calc.py"}
BLOCKED = {"blockingIssues": [ISSUE], "nonBlockingIssues": [], "score": 40, "fixPlan": ["Test it"]}
USED = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 40}}

TEAM = """
[[agents]]
name = "Vera"
adapter = "model"
settings = {{ model = "large-1", base_url = "{url}", api_key = "env:VERA_KEY" }}

[[agents]]
name = "Dev"
roles = ["dev"]
adapter = "command"
settings = {{ argv = ["sh", "-c", "date +%N > out.txt; echo done"], stdin = "prompt" }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("VERA_KEY", "sk-open-sesame")
    monkeypatch.chdir(work)
    return work


def recorded(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert carry_out(["events", "latest", "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_model_plans_and_reviews_and_goes_on_with_its_conversation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (chunk({"content": json.dumps(BLOCKED)}), chunk(finish="stop"), event({"choices": [], "usage": USED}))
    with Endpoint(Said(text)) as endpoint:
        path = folder.parent / "team.toml"
        path.write_text(TEAM.format(url=endpoint.url))
        words = ["run", "-t", "Fix add", "-f", "calc.py", "--test", "true", "--max-iterations", "2"]
        assert carry_out([*words, "--team", str(path)]) == 7
    events = recorded(capsys)
    turns = [e["data"] for e in events if e["type"] == "turn.answered" and e["data"]["agent"] == "Vera"]
    assert [(turn["role"], turn["resumed"]) for turn in turns] == [
        *(("planner", False), ("architect", False), ("designer", False)),
        *(("reviewer", False), ("reviewer", True)),
    ]
    assert {turn["model"] for turn in turns} == {"large-1-0612"}
    assert sum(turn["usage"]["inputTokens"] for turn in turns) == 100 * len(endpoint.calls)
    assert [turn["usage"]["cachedTokens"] for turn in turns] == [40] * 5
    sent = [(one["role"], len(one["content"]) > 500) for one in endpoint.calls[-1][2]["messages"]]
    assert sent == [("system", False), ("user", True), ("assistant", False), ("user", True)]
    assert endpoint.calls[-1][2]["messages"][2]["content"] == json.dumps(BLOCKED)
    assert [e["data"]["transcript"]["length"] > 0 for e in events if e["type"] == "turn.activity_recorded"][:1] == [
        True
    ]
    assert "open-sesame" not in json.dumps(events)
