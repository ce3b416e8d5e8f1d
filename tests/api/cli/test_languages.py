"""The texts of the command line in English and Korean."""

import re
import string
from pathlib import Path

import pytest
from cyclopts import Group
from cyclopts.argument import Argument
from cyclopts.help.help import docstring_parse
from rich.cells import cell_len

from api.cli.commands import COMMANDS
from api.cli.help.korean import key_of
from api.cli.main import program
from domain.values.words import catalogue, words
from tests.api.cli.conftest import Hansard

_ROOM = "api.cli"
_HANGUL = re.compile("[가-힣]")


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_places() -> None:
    for key, both in catalogue(_ROOM).items():
        assert places(both["en"]) == places(both["ko"]), key
        assert not key.startswith("say.") or key == f"say.{both['en']}"


HELP = "api.cli.help"
CALLED = [verb.name for verb in COMMANDS]


def texts_of(argument: Argument) -> list[str]:
    """The help text of a parameter and the titles above it."""
    groups = argument.parameter.group
    titles = [group.name for group in groups if isinstance(group, Group)] if isinstance(groups, tuple) else []
    return [argument.parameter.help or "", *titles]


@pytest.mark.parametrize("command", CALLED)
def test_the_page_of_every_command_is_in_both_languages(command: str) -> None:
    """The description of a command, its options and the titles of their groups."""
    app = program([command])[command]
    english, korean = words("en", HELP), words("ko", HELP)
    documented = docstring_parse(app.help, "markdown")
    parts = [documented.short_description, documented.long_description]
    assert english(f"page.{command}") == "\n\n".join(part for part in parts if part)
    for argument in app.assemble_argument_collection(parse_docstring=True):
        if argument.show:
            assert argument.parameter.help, argument.name
            for text in texts_of(argument):
                key = key_of(text)
                assert english(key) == key.removeprefix("text."), argument.name
                assert _HANGUL.search(korean(key)), argument.name


def test_the_catalogue_of_the_help_has_nothing_else() -> None:
    shown = {"text.Usage:", "text.choices", "text.required"}
    for command in CALLED:
        for argument in program([command])[command].assemble_argument_collection(parse_docstring=True):
            shown |= {key_of(text) for text in texts_of(argument)}
    others = {"usage", "about", "more", "epilogue", *(f"page.{command}" for command in CALLED)}
    assert {key for key in catalogue(HELP) if not key.startswith("help.")} - shown - others == set()


@pytest.mark.parametrize("columns", ["40", "60", "100"])
@pytest.mark.parametrize("command", ["run", "fork", "key"])
def test_the_help_of_a_command_is_korean_where_the_terminal_is(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch, command: str, columns: str
) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    monkeypatch.setenv("COLUMNS", columns)
    shown = hansard(command, "--help").out
    assert shown.startswith(f"사용법: hansard {command}")
    assert "종료 코드: 0 정상" in shown
    assert "─ 옵션 ─" in shown
    assert not re.search(r"\b(the|of|Usage|choices|required|Parameters)\b", shown)
    assert max(cell_len(line) for line in shown.splitlines()) <= int(columns)


@pytest.mark.parametrize(
    ("argv", "korean"),
    [
        (["list"], "아직 세션이 없습니다"),
        (["run"], "과제: 텍스트로 쓰거나"),
        (["debate", "--file", "nothing.md"], "nothing.md"),
        (["show", "--at"], "--at"),
    ],
)
def test_a_korean_terminal_gets_korean(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch, argv: list[str], korean: str
) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    done = hansard(*argv)
    assert done.code != 0 or argv == ["list"]
    assert korean in done.err + done.out


def test_failure_reasons_are_in_the_readers_language(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The log is in English; all our text is worded in Korean for Korean readers."""
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"replies": {"reviewer": ["nonsense"]}}', encoding="utf-8")
    review = hansard("review", "a text", "--scenario", str(scenario))
    name = re.search(r"review-\w+", review.out)
    assert name and review.code == 6
    failed = hansard("run", "-t", "x", "-f", "a.txt", "--test", "no-such-program", "--fresh")
    delivery = re.search(r"delivery-\w+", failed.out)
    assert delivery and failed.code == 1
    assert "The reply holds no review verdict." in hansard("show", name[0]).out
    assert "cannot be started" in hansard("explain", delivery[0]).out
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    shown, explained = hansard("show", name[0]).out, hansard("explain", delivery[0]).out
    assert "답변에 리뷰 판정이 없습니다." in shown
    assert "시작할 수 없습니다" in explained
    for text in ("The reply", "rounds", "cannot be", "was not started", " s)"):
        assert text not in shown + explained
