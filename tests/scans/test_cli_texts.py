"""Every text in the source of the command line is in both languages."""

import ast
import re
from collections.abc import Iterator

from domain.values.words import catalogue
from tests.scans.sources import files, nodes

_ROOM = "api.cli"


def sentences() -> Iterator[str]:
    """Every text that the code passes to `sentence`."""
    for file in files("api/cli"):
        for node in nodes(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sentence":
                text = node.args[0]
                for part in (text.body, text.orelse) if isinstance(text, ast.IfExp) else (text,):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def test_every_sentence_of_the_command_line_is_in_both_languages() -> None:
    output, result = catalogue(_ROOM), list(sentences())
    assert len(result) > 100
    assert [text for text in result if f"say.{text}" not in output] == []


_PROSE = re.compile(r"[A-Za-z]{2,},? [a-z]{2,}")
_OTHERS = re.compile(
    r"SELECT |PRAGMA |CREATE |INSERT |journal_mode=wal,|\s*`?(hansard|git|gh) |bold |Value error, |"
    r".* has keys$|only what is worked on here|No commits yet|not a git repository|\n\nChanges in this iteration:|"
    r"must be run in a work tree|dubious ownership|unable to create temporary file|insufficient permission|"
    r"changed file$"
)
"""Machine-readable text, assertions, commands to type, and a word of `counted`."""
_FOR_AGENTS = ("mcp_server.py", "mcp_lines.py", "tools.py", "review.py")
"""Text for agents is English."""


def prose() -> Iterator[tuple[str, str]]:
    """Every English text in the code of the command line by file, except docstrings, types, help and log messages."""
    for file in files("api/cli"):
        skipped = {id(node.value) for node in nodes(file) if isinstance(node, ast.Expr)}
        for node in nodes(file):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name in ("Parameter", "Group", "warning", "exception") or isinstance(node, ast.arguments):
                skipped |= {id(part) for part in ast.walk(node)}
            skipped |= {id(getattr(node, name, None)) for name in ("returns", "annotation")}
        for node in nodes(file):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                yield file.name, node.value


def test_no_text_of_the_command_line_is_in_english_only() -> None:
    """Every text with two English words in a row has a Korean version, however it reaches the terminal."""
    rooms = ("api.cli", "api.cli.help", "api.web", "projections.record")
    ours = {text.casefold() for room in rooms for text in english_of(room)}
    only = [
        f"{name}: {text}"
        for name, text in prose()
        if _PROSE.search(text) and not _OTHERS.match(text) and text.casefold() not in ours and name not in _FOR_AGENTS
    ]
    assert only == []


def english_of(room: str) -> Iterator[str]:
    for key, both in catalogue(room).items():
        yield both["en"]
        if key.startswith("label."):
            yield key.removeprefix("label.")


def test_every_line_of_a_sheet_has_a_label_in_both_languages() -> None:
    """One word is no prose, so it is found by its place: the first of a pair."""
    functions = [each for file in files("api/cli") for each in nodes(file) if isinstance(each, ast.FunctionDef)]
    sheets = [each for each in functions if getattr(each.returns, "id", "") == "Pairs"]
    pairs = [each.elts for sheet in sheets for each in ast.walk(sheet) if isinstance(each, ast.Tuple)]
    firsts = [pair[0] for pair in pairs if len(pair) == 2 and not isinstance(pair[1], ast.Constant)]
    words = {first.value for first in firsts if isinstance(first, ast.Constant)}
    assert len(words) > 20
    assert {word for word in words if word and f"label.{word}" not in catalogue("api.cli")} == set()
