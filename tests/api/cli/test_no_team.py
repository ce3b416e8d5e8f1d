"""What the command line says where nobody could do the work."""

from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard
from tests.api.cli.kept import git


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-t", "Fix it", "--test", "true"),
        ("orchestrate", "Fix it"),
        ("message", "Fix it"),
        ("review", "x = 1/0"),
        ("debate", "Rewrite it"),
        ("run", "-t", "Fix it", "--test", "true", "--detach"),
    ],
)
def test_the_command_line_refuses_a_start_without_a_team_as_a_mistake(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.delenv("HANSARD_EXAMPLE")
    result = hansard(*words)
    assert result.code == 2 and "hansard init" in result.err
    assert hansard("list").out == ""


def test_the_example_team_answers_where_it_is_asked_for(hansard: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HANSARD_EXAMPLE")
    result = hansard("review", "x = 1/0", "--example")
    assert "it does no real work" in result.err and result.code == 6


def test_a_team_file_that_changed_since_it_was_trusted_is_named(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hansard init` would only say that it is there already."""
    monkeypatch.delenv("HANSARD_EXAMPLE")
    here = tmp_path / "repository"
    here.mkdir()
    git(here, "init", "--quiet")
    (here / "hansard.toml").write_text('[delivery]\nteam = "team.toml"\n')
    (here / "team.toml").write_text('[[agents]]\nname = "Ann"\nroles = ["dev"]\nadapter = "external"\n')
    monkeypatch.chdir(here)
    for words in (("run", "-t", "Fix it", "--test", "true"), ("review", "x"), ("orchestrate", "x")):
        result = hansard(*words)
        assert result.code == 2, result.err
        assert f"{here / 'team.toml'} is not trusted, or has changed since: `hansard trust`" in result.err
        assert "hansard init" not in result.err
    (here / "team.toml").write_text(
        '[[agents]]\nname = "Ann"\nroles = ["dev"]\nadapter = "external"\nsandbox = "off"\n'
    )
    result = hansard("review", "x")
    assert "team.toml: agent 'Ann': sandbox: is a setting of the whole team" in result.err
    assert "trust" not in result.err and "fail  team" in hansard("doctor").out
    assert hansard("list").out == ""
