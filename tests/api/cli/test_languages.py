"""What the command line says, in English and Korean."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import api.cli
from domain.values.words import catalogue
from tests.api.cli.conftest import Hansard

_ROOM = "api.cli"
_FOLDER = Path(api.cli.__file__).parent


def sentences() -> Iterator[str]:
    """Every text that the code passes to `sentence`."""
    for file in sorted(_FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sentence":
                text = node.args[0]
                for part in (text.body, text.orelse) if isinstance(text, ast.IfExp) else (text,):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_every_sentence_of_the_command_line_is_in_both_languages() -> None:
    said, found = catalogue(_ROOM), list(sentences())
    assert len(found) > 100
    assert [text for text in found if f"say.{text}" not in said] == []


def test_both_languages_have_the_same_places() -> None:
    for key, both in catalogue(_ROOM).items():
        assert places(both["en"]) == places(both["ko"]), key
        assert not key.startswith("say.") or key == f"say.{both['en']}"


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
