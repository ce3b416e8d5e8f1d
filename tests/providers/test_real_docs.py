"""Every team file of the documents as written, with the real programs: keys, logins and providers are those of a
person's machine on which the stub is the provider. Run with `-m agents`."""

import json
import os
import re
from pathlib import Path

import pytest

from adapters.agents import trial
from adapters.agents.port import Limits
from api.cli.main import carry_out
from tests.api.server import ended, only, serving, start, until
from tests.api.server import events as history
from tests.providers.deliveries import FIX, RUN, data, delivery, events, left_running, runs, says
from tests.providers.programs import KEYS, installed, stand_in
from tests.providers.stub import Provider, Rule, Step

pytestmark = pytest.mark.agents

SECONDS = 600.0
DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = {
    f"{page}-{number}": block
    for page in ("agents", "settings", "api")
    for number, block in enumerate(re.findall(r"```toml\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.S))
}
COMPLETE = [name for name, block in BLOCKS.items() if "[agents.settings.usage_paths]" in block or '"aider"' in block]
PROGRAMS = ("claude", "codex", "gemini", "opencode", "claude-code-acp", "aider")
ANSWER = '#!/bin/sh\ncat >/dev/null\necho "The plan."\n'
AIDER = "calc.py\n```\ndef add(a, b):\n    return a + b\n```\n"


def block_with(words: str) -> str:
    [name] = [name for name, block in BLOCKS.items() if words in block]
    return name


@pytest.fixture
def machine(provider: Provider, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's machine: the programs of the documents are on PATH, their keys are set, Codex is logged in."""
    folder = repository.parent / "programs"
    folder.mkdir()
    for name in PROGRAMS:
        stand_in(folder, name, provider.url)
    for name in ("my-agent", "notify-person"):
        keep = f"cat >> {repository.parent}/notified\n" if name == "notify-person" else ""
        (folder / name).write_text(f"#!/bin/sh\n{keep}" if keep else ANSWER)
        (folder / name).chmod(0o755)
    real = [str(installed(name)) for name in PROGRAMS]
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), *dict.fromkeys(real), os.environ["PATH"]]))
    for key in (*KEYS, "MY_AGENT_API_KEY", "HOOK_SECRET"):
        monkeypatch.setenv(key, "sk-stub-0123456789")
    account = repository.parent / "account"
    (account / ".codex").mkdir(parents=True)
    (account / ".codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": "sk-stub-0123456789"}))
    monkeypatch.setenv("HOME", str(account))
    return repository


def written(machine: Path, name: str) -> str:
    path = machine.parent / "team.toml"
    path.write_text(BLOCKS[name], "utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def provider_of_models(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of OpenAI in a team file leads to the stub."""
    import httpx2

    class Client(httpx2.AsyncClient):
        def build_request(self, method: str, url: object, **more: object) -> httpx2.Request:
            here = str(url).replace("https://api.openai.com", provider.url)
            return super().build_request(method, here, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(httpx2, "AsyncClient", Client)


@pytest.mark.parametrize("name", BLOCKS)
def test_each_agent_of_a_document_answers(
    name: str,
    machine: Path,
    provider: Provider,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "LIMITS", Limits(wall_seconds=SECONDS, idle_seconds=SECONDS / 2))  # for a busy machine
    provider.rules = [Rule("Answer with the single word READY", [says("READY")])]
    code = carry_out(["doctor", "--try", "--json", "--team", written(machine, name)])
    trials = json.loads(capsys.readouterr().out)["agents"]
    assert code == 0, json.dumps(trials, indent=1)
    assert trials
    assert left_running(machine.parent) == []


@pytest.mark.parametrize("name", COMPLETE)
def test_a_complete_example_fixes_a_failing_test(
    name: str, machine: Path, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery()
    if "aider" in BLOCKS[name]:
        provider.rules[3] = Rule("You are the developer", [says(AIDER)])
        for rule in provider.rules:
            rule.without_tools = True
    assert carry_out([*RUN, "--team", written(machine, name)]) == 0, capsys.readouterr()
    turns = data(events(capsys), "turn.answered")
    assert [turn["files"] for turn in turns if turn["role"] == "dev"] == [["calc.py"]]
    assert left_running(machine.parent) == []


def test_the_fallback_of_the_example_takes_over_after_a_refused_login(
    machine: Path, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery(planner=Step(status=401))
    assert carry_out([*RUN, "--team", written(machine, block_with('fallback = ["Codex"]'))]) == 0, capsys.readouterr()
    turns = data(events(capsys), "turn.answered")
    assert [turn["agent"] for turn in turns if turn["role"] == "planner"] == ["Codex"]


def test_the_rules_of_the_example_deny_a_command(
    machine: Path, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery()
    provider.rules[3] = Rule("You are the developer", [runs("rm -rf build"), runs(FIX), says("Fixed the sign.")])
    assert carry_out([*RUN, "--team", written(machine, block_with('deny = ["execute:*rm -rf*"'))]) == 0
    did = [tool for each in data(events(capsys), "turn.activity_recorded") for tool in each["tools"]]
    assert [(tool["title"], tool["denied"]) for tool in did] == [("rm -rf build", True), (FIX, False)]


def test_the_program_of_the_example_is_notified(machine: Path, provider: Provider) -> None:
    provider.rules = [Rule("You are the planner", [Step(status=401)])]
    notified = machine.parent / "notified"
    folder = machine.parent / "server"  # what is next to the log is hidden from agents
    folder.mkdir()
    with serving(folder, team=written(machine, block_with("[notify]"))) as server:
        body = {"task": "Fix add", "filePaths": ["calc.py"], "validationCommands": ["true"], "workspace": str(machine)}
        name = start(server.client, body)
        assert ended(server.client, name, seconds=SECONDS)["status"] == "failed"
        assert only(history(server.client, name), "turn.failed")
        until(lambda: notified.exists() and notified.read_text().endswith("}"), what="the message", seconds=SECONDS)
    assert json.loads(notified.read_text())["data"]["sessionId"] == name
