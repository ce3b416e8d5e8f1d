"""The team file: who the agents are, and what is said when it cannot be used (contract §1)."""

import asyncio
import json
from pathlib import Path

import pytest

from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.settings import CommandSettings
from adapters.agents.port import Limits, Turn
from adapters.agents.scripted import Scripted
from adapters.agents.team import BadTeam, Team, build, load

TEAM = """
language = "ko"

[limits]
turn_seconds = 60
idle_seconds = 10.5
output_bytes = 2048

[settings]
agentStrategy = "red-team"

[[agents]]
name = "Ada"
roles = ["planner", "judge"]
adapter = "scripted"
settings.scenario = "scenario.json"

[[agents]]
name = "Backend"
roles = "backend"
adapter = "command"
[agents.settings]
argv = ["codex", "exec", "{prompt}"]
env = { OPENAI_API_KEY = "env:OPENAI_API_KEY" }

[[agents]]
name = "Zoe"
roles = ["planner", "reviewer", "docs", "data"]
adapter = "scripted"
[agents.settings.scenario.replies]
planner = ["from the table"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "team.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def team(tmp_path: Path) -> Team:
    (tmp_path / "scenario.json").write_text('{"replies": {"Ada": ["from the file"]}}')
    return load(written(tmp_path, TEAM))


def says(team: Team, name: str, folder: Path) -> str:
    member = team.agent_for(name)
    assert member is not None
    turn = Turn(turn_id="t", session_id="s", attempt=1, agent=member.name, role="planner", prompt="?")
    return asyncio.run(build(member, folder).ask(turn)).text


def test_a_team_file_is_read(team: Team, tmp_path: Path) -> None:
    assert [(member.name, member.roles, member.adapter) for member in team.agents] == [
        ("Ada", ("planner", "judge"), "scripted"),
        ("Backend", ("backend",), "command"),
        ("Zoe", ("planner", "reviewer", "docs", "data"), "scripted"),
    ]
    assert team.limits.of_a_turn() == Limits(wall_seconds=60, idle_seconds=10.5, output_bytes=2048)
    assert (team.settings.agent_strategy, team.settings.plan_strategy) == ("red-team", "debate")
    assert (team.language, team.example) == ("ko", False)


def test_each_member_is_built_with_its_settings(team: Team, tmp_path: Path) -> None:
    assert says(team, "Ada", tmp_path) == "from the file"
    assert says(team, "Zoe", tmp_path) == "from the table"
    backend = team.agents[1]
    assert backend.settings == CommandSettings(
        argv=("codex", "exec", "{prompt}"), env={"OPENAI_API_KEY": "env:OPENAI_API_KEY"}
    )
    assert isinstance(build(backend, tmp_path), CommandAgent)
    assert isinstance(build(team.agents[0], tmp_path), Scripted)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("Ada", "Ada"),
        ("ada", "Ada"),
        ("BACKEND", "Backend"),
        ("planner", "Ada"),
        ("Reviewer", "Zoe"),
        ("docs", "Zoe"),
        ("frontend", None),
        ("", None),
        ("a", None),
    ],
)
def test_a_member_is_found_by_name_then_by_role(team: Team, wanted: str, name: str | None) -> None:
    """K-18: no fuzzy matching."""
    member = team.agent_for(wanted)
    assert (member and member.name) == name


def test_a_name_goes_before_a_role(tmp_path: Path) -> None:
    listed = '[[agents]]\nname = "{}"\nroles = "{}"\nadapter = "scripted"\n'
    team = load(written(tmp_path, listed.format("Ada", "critic") + listed.format("Critic", "coder")))
    member = team.agent_for("critic")
    assert member is not None
    assert member.name == "Critic"


def test_employees_are_those_who_take_subtasks(team: Team) -> None:
    assert team.employees() == (("Backend", "backend"), ("Zoe", "docs"))


def test_without_a_file_there_is_the_example_team() -> None:
    team = load(None)
    assert team.example
    assert {member.adapter for member in team.agents} == {"scripted"}
    assert team.employees() == (("Frontend", "frontend"), ("Backend", "backend"), ("Data", "data"), ("Docs", "docs"))
    posts = ["planner", "architect", "designer", "dev", "reviewer"]
    posts += ["judge", "assistant", "coder", "critic", "synthesizer", "frontend", "backend", "data", "docs"]
    assert [post for post in posts if team.agent_for(post) is None] == []
    assert team.limits.of_a_turn() == Limits()


def test_an_agent_may_name_its_model(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(agent() + 'model = "large-1"\n' + agent(name='"Bob"'))
    assert [member.model for member in load(path).agents] == ["large-1", None]


def agent(name: str = '"Ada"', roles: str = '"planner"', adapter: str = '"scripted"', settings: str = "{}") -> str:
    return f"[[agents]]\nname = {name}\nroles = {roles}\nadapter = {adapter}\nsettings = {settings}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "team.toml lists no agent."),
        ("agents = []", "team.toml: agents: must list at least one"),
        ("agents = 3", "team.toml: agents: Input should be a valid array"),
        ("agents = [3]", "team.toml: agent 1: Input should be an object"),
        ("[[agents]", "team.toml: this is not TOML: "),
        ("a = 1\na = 2", "team.toml: this is not TOML: "),
        ("a = " + "[" * 100_000, "team.toml: it is nested too deeply"),
        (agent() + "[limits]\nturn_seconds = 0", "team.toml: limits.turn_seconds: Input should be greater than 0"),
        (
            agent(adapter='"command"', settings='{argv = ["a"], sandbox = "off"}'),
            "agent 'Ada': settings.sandbox: is a setting of the whole team, not of an agent",
        ),
        (agent() + "[limits]\nturns = 1", "team.toml: limits.turns: there is no such key"),
        (agent() + '[settings]\nplanStrategy = "war"', "team.toml: settings.planStrategy: Input should be 'debate' or"),
        ('language = "xx"\n' + agent(), "team.toml: language: Input should be 'en' or 'ko'"),
        (agent() + 'model = ""', "team.toml: agent 'Ada': model: String should have at least 1 character"),
        (agent() + "model = 4", "team.toml: agent 'Ada': model: Input should be a valid string"),
        (agent(name="3"), "team.toml: agent 1: name: Input should be a valid string"),
        (agent(name='" x"'), "team.toml: agent ' x': name: String should match pattern"),
        (agent(roles="[]"), "team.toml: agent 'Ada': roles: must list at least one"),
        (agent(roles='["planner", "reviwer"]'), "team.toml: agent 'Ada': roles[1]: Input should be 'planner', "),
        (agent() + agent(name='"ADA"'), "team.toml: agent 'ADA': name: another agent has this name already"),
        (
            agent(adapter='"cli"'),
            "team.toml: agent 'Ada': adapter: there is no adapter 'cli'; there are scripted, command",
        ),
        (
            agent(adapter='"external"', settings="{url = 1}"),
            "team.toml: agent 'Ada': settings.url: there is no such key",
        ),
        (
            agent(settings="{scenarios = 1}"),
            "team.toml: agent 'Ada': settings.scenarios: there is no such key (known keys: scenario)",
        ),
        (agent(settings="{scenario = {reply = 1}}"), "team.toml: agent 'Ada': settings.scenario: /reply: Extra inputs"),
        (agent(settings='{scenario = "none.json"}'), "none.json: the file cannot be read: No such file or directory"),
        (agent(settings='{scenario = "twice.json"}'), "settings.scenario: twice.json: the key 'planner' occurs twice"),
        (agent(settings='{scenario = "nan.json"}'), "settings.scenario: nan.json: NaN is not JSON"),
        (agent(settings='{scenario = "deep.json"}'), "settings.scenario: deep.json: it is nested too deeply"),
        (agent(settings='{scenario = "latin.json"}'), "latin.json: the file is not UTF-8"),
        (agent(settings='{scenario = "list.json"}'), "settings.scenario: list.json: Input should be an object"),
        (
            agent(settings='{scenario = "empty.json"}'),
            "settings.scenario: empty.json: /replies/planner: must hold at least one entry",
        ),
        (agent(adapter='"command"'), "team.toml: agent 'Ada': settings.argv: is missing"),
        (
            agent(adapter='"command"', settings='{argv = ["x"], timeout_seconds = "1"}'),
            "team.toml: agent 'Ada': settings.timeout_seconds: Input should be a valid number",
        ),
        (
            agent(adapter='"command"', settings='{argv = ["x", "{promt}"]}'),
            "team.toml: agent 'Ada': settings: argv: there is no placeholder {promt}",
        ),
    ],
)
def test_a_team_that_cannot_work_is_refused_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "twice.json").write_text('{"replies": {"planner": ["a"], "planner": ["b"]}}')
    (tmp_path / "nan.json").write_text('{"delayMs": NaN}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "latin.json").write_bytes(b'{"replies": {"planner": ["caf\xe9"]}}')
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "empty.json").write_text(json.dumps({"replies": {"planner": []}}))
    with pytest.raises(BadTeam) as refused:
        load(written(tmp_path, text))
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "team.toml"))
    assert ";" not in str(refused.value).replace("'cli';", "").replace("{promt};", "")


def test_a_secret_written_into_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    settings = '{argv = ["x"], env = {OPENAI_API_KEY = "sk-open-sesame"}}'
    with pytest.raises(BadTeam) as refused:
        load(written(tmp_path, agent(adapter='"command"', settings=settings)))
    assert "agent 'Ada': settings: env: OPENAI_API_KEY looks like a secret" in str(refused.value)
    assert "sesame" not in str(refused.value)


def test_a_missing_team_file_and_a_folder_are_reported(tmp_path: Path) -> None:
    with pytest.raises(BadTeam, match=r"none\.toml: the file cannot be read: No such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(BadTeam, match="the file cannot be read: Is a directory"):
        load(tmp_path)


def test_reading_a_team_needs_no_secret(team: Team, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert load(tmp_path / "team.toml") == team


@pytest.mark.parametrize(
    "settings",
    [
        'adapter = "command"\n[agents.settings]\nargv = ["ada"]\nenv = { A_KEY = "file:/etc/ada/key", HOST = "env:H" }',
        'adapter = "acp"\n[agents.settings]\nargv = ["ada"]\nenv = { A_KEY = "file:/etc/ada/key", HOST = "env:H" }',
        'adapter = "model"\n[agents.settings]\nmodel = "m"\nbase_url = "http://h/v1"\napi_key = "file:/etc/ada/key"',
    ],
    ids=["command", "acp", "model"],
)
def test_files_with_keys_of_agents_are_known_as_secrets(settings: str, tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(f'[[agents]]\nname = "Ada"\nroles = ["reviewer"]\n{settings}\n')
    assert load(path).secrets() == (Path("/etc/ada/key"),)
