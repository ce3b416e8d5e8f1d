"""What the command line says where nobody could do the work."""

import pytest

from tests.api.cli.conftest import Hansard


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
