"""Presets: every file is one, and a team file extends it."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.agents.command.settings import CommandSettings
from adapters.agents.presets.catalogue import NAMES, preset, presets
from adapters.agents.team import BadTeam, Member, load
from tests.adapters.agents_under_test import CommandSubject, ask


def member(folder: Path, text: str) -> Member:
    path = folder / "team.toml"
    path.write_text(f'[[agents]]\nname = "Ada"\n{text}', encoding="utf-8")
    [result] = load(path).agents
    return result


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("home", ["private", "user"])
def test_every_preset_makes_an_agent(name: str, home: str, tmp_path: Path) -> None:
    story = member(tmp_path, f'preset = "{name}"\n[agents.settings]\nhome = "{home}"')
    settings = story.settings
    assert isinstance(settings, CommandSettings)
    assert (story.adapter, story.preset, settings.home) == ("command", name, home)
    known = preset(name)
    assert known is not None
    assert settings.argv[0] == known.program
    assert known.versions
    assert bool(settings.keys) == (home == "private")


@pytest.mark.parametrize(
    ("result", "code", "words"),
    [
        ({"subtype": "error_max_turns", "is_error": False, "num_turns": 9}, "limit", "error_max_turns"),
        ({"subtype": "error_max_turns", "errors": ["Reached the maximum"]}, "limit", "turns: Reached the maximum"),
        ({"subtype": "error_max_budget_usd", "is_error": True}, "limit", "error_max_budget_usd"),
        (
            {"subtype": "error_during_execution", "is_error": True, "errors": ["boom", "bang"]},
            "crash",
            "error_during_execution: boom; bang",
        ),
        (
            {"subtype": "error_during_execution", "errors": ["No conversation found with session ID: 5f"]},
            "lost_conversation",
            "No conversation found",
        ),
        ({"subtype": "success", "is_error": True, "result": "529 overloaded"}, "overloaded", "529 overloaded"),
    ],
)
def test_claudes_result_says_why_there_is_no_answer(
    tmp_path: Path, result: dict[str, Any], code: str, words: str
) -> None:
    claude = preset("claude")
    assert claude is not None
    (tmp_path / "said").write_text(json.dumps({"type": "result", "session_id": "5f", **result}))
    names = ("output", "text_path", "error_path", "require_final")
    subject = CommandSubject(tmp_path, output="json")
    agent = subject.ordered(orders={"say": str(tmp_path / "said")}, **{name: claude.settings[name] for name in names})
    failure = ask(agent).failure
    assert failure is not None
    assert (failure.code, words in failure.detail) == (code, True), failure.detail


def test_reading_roles_have_other_arguments_than_writing_ones() -> None:
    for known in presets():
        settings = CommandSettings.model_validate(known.extended({"home": "user"}))
        reading, writing = (settings.template(resumed=False, writes=writes) for writes in (False, True))
        assert reading != writing, known.name


def test_a_team_file_extends_a_preset(tmp_path: Path) -> None:
    text = (
        'preset = "claude"\nmodel = "opus"\n[agents.settings]\nidle_seconds = 900\nenv = { ANTHROPIC_BASE_URL = "x" }'
    )
    story = member(tmp_path, text)
    settings = story.settings
    assert isinstance(settings, CommandSettings)
    assert (story.model, settings.idle_seconds) == ("opus", 900)
    assert set(settings.env) == {
        "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "ANTHROPIC_BASE_URL",
    }
    template = settings.named(story.model).template(resumed=False, writes=False)
    assert "--model" in template


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('preset = "cursor"', "preset: there is no preset 'cursor'; there are claude, codex"),
        ('preset = "codex"\nadapter = "external"', "adapter: a preset uses the adapter 'command'"),
        ('preset = "codex"\n[agents.settings]\nargvv = ["x"]', "settings.argvv: there is no such key"),
        *(
            (
                f'preset = "codex"\n[agents.settings]\n{name} = ["codex", "exec", "--json", "{{agent}}"]\n{more}',
                'settings: the preset codex (questions = "codex") speaks with "codex app-server". To call "codex exec"',
            )
            for name, more in (
                ("argv", ""),
                ("argv", 'output = "json"\nstdin = "prompt"'),
                ("argv", 'resume_argv = ["codex", "exec", "resume", "{agent_session}", "-"]'),
                ("resume_argv", ""),
            )
        ),
        ('adapter = "command"', "roles: is missing; only an agent with a preset can do without"),
        ('roles = ["dev"]', "adapter: is missing; only an agent with a preset can do without"),
    ],
)
def test_what_does_not_fit_is_named(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadTeam) as refused:
        member(tmp_path, text)
    assert problem in str(refused.value)


def test_the_program_of_a_preset_may_be_reached_in_another_way(tmp_path: Path) -> None:
    argv = '["docker", "exec", "-i", "box", "codex", "app-server"]'
    story = member(tmp_path, f'preset = "codex"\n[agents.settings]\nargv = {argv}\nresume_argv = {argv}')
    assert isinstance(story.settings, CommandSettings)
    assert story.settings.questions == "codex"
