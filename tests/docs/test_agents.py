"""The page on agents: every team file on it loads, every setting is on it, in both languages."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from adapters.agents.acp.settings import AcpSettings
from adapters.agents.command.settings import PLACES, CommandSettings, UsagePaths
from adapters.agents.model.endpoint import SPEAKS, ModelSettings
from adapters.agents.presets.catalogue import NAMES
from adapters.agents.team import load
from adapters.fence.bubblewrap import PRIVATE, PRIVATE_BYTES
from domain.replies.artifact import review_artifact

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("agents.md", "agents.ko.md")
PROGRAMS = ["my-agent", "claude", "codex", "gemini", "opencode", "aider", "robin"]


def words(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def team_files(page: str) -> list[str]:
    return re.findall(r"```toml\n(.*?)```", words(page), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_team_file_is_one(page: str, tmp_path: Path) -> None:
    programs = []
    for number, text in enumerate(team_files(page)):
        if "preset = " in text or 'adapter = "model"' in text or 'adapter = "acp"' in text:
            continue
        path = tmp_path / f"{number}.toml"
        path.write_text(text, encoding="utf-8")
        [member] = load(path).agents
        assert isinstance(member.settings, CommandSettings)
        programs.append(member.settings.argv[0])
        if number:  # the first one only shows the shape
            assert {"planner", "dev", "reviewer", "judge", "critic", "synthesizer", "backend"} <= set(member.roles)
    assert programs == PROGRAMS


@pytest.mark.parametrize("page", PAGES)
def test_presets_need_nothing_but_their_name(page: str, tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text(team_files(page)[1], encoding="utf-8")
    claude, codex = load(tmp_path / "team.toml").agents
    assert (claude.preset, codex.preset, codex.roles) == ("claude", "codex", ("reviewer", "judge", "critic"))
    assert {"planner", "dev", "reviewer", "judge", "frontend"} <= set(claude.roles)


@pytest.mark.parametrize("page", PAGES)
def test_a_model_is_shown_with_all_its_settings(page: str, tmp_path: Path) -> None:
    [text] = [text for text in team_files(page) if 'adapter = "model"' in text]
    (tmp_path / "team.toml").write_text(text, encoding="utf-8")
    [vera] = load(tmp_path / "team.toml").agents
    assert isinstance(vera.settings, ModelSettings)
    output = set(re.findall(r"`(\w+)`", "\n".join(line for line in words(page).splitlines() if line.startswith("- `"))))
    assert set(ModelSettings.model_fields) <= output
    assert {f"`{role}`" for role in SPEAKS} <= set(re.findall(r"`\w+`", words(page)))


@pytest.mark.parametrize("page", PAGES)
def test_programs_that_speak_acp_are_shown_with_all_settings(page: str, tmp_path: Path) -> None:
    [text] = [text for text in team_files(page) if 'adapter = "acp"' in text]
    (tmp_path / "team.toml").write_text(text, encoding="utf-8")
    settings = [member.settings for member in load(tmp_path / "team.toml").agents]
    assert [one.argv[0] for one in settings if isinstance(one, AcpSettings)] == [
        "gemini",
        "opencode",
        "claude-code-acp",
    ]
    assert {f"`{name}`" for name in AcpSettings.model_fields} <= set(re.findall(r"`\w+`", words(page)))


@pytest.mark.parametrize("page", PAGES)
def test_every_setting_and_every_placeholder_is_documented(page: str) -> None:
    result = set(re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", words(page), re.MULTILINE))
    texts = {name for names in result for name in names if name}
    assert set(CommandSettings.model_fields) | {"command", "acp", "model", "external", "scripted", *NAMES} == texts
    for place in PLACES | {"agent_session"}:
        assert f"`{{{place}}}`" in words(page)
    for name in UsagePaths.model_fields:
        assert f"`{name}`" in words(page)


@pytest.mark.parametrize("page", PAGES)
def test_the_memory_that_a_program_may_fill_is_named(page: str) -> None:
    assert f"{PRIVATE_BYTES >> 30} GiB" in words(page) and {f"`{place}`" for place in PRIVATE} <= set(
        re.findall(r"`[^`\n]+`", words(page))
    )


@pytest.mark.parametrize("page", PAGES)
def test_the_script_of_the_page_writes_and_approves(page: str, tmp_path: Path) -> None:
    [script] = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", words(page), re.DOTALL)

    def answer(role: str) -> str:
        argv = ["/bin/sh", "-c", script, "robin", role]
        return subprocess.run(argv, cwd=tmp_path, input="A task", capture_output=True, text=True, check=True).stdout

    assert answer("dev") == "Added a line.\n" and (tmp_path / "README.md").read_text() == "# seen by Robin\n"
    assert review_artifact(answer("reviewer")).blocking_issues == ()


def test_every_supported_stream_format_has_an_example() -> None:
    text = "\n".join(team_files("agents.md"))
    for shown in ("stdin = ", "{prompt}", "{prompt_file}", "every = true", 'output = "text"', "home_files", "cost_usd"):
        assert shown in text, shown


def test_both_languages_show_the_same() -> None:
    """Only comments differ."""
    english, korean = ([tomllib.loads(text) for text in team_files(page)] for page in PAGES)
    assert english == korean
    for heading in (r"^## ", r"^### ", r"^\| "):
        assert len(re.findall(heading, words(PAGES[0]), re.M)) == len(re.findall(heading, words(PAGES[1]), re.M))
