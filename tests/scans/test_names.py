"""One name, one meaning: no class name has two meanings in the product, and a name says what the thing is."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scans.sources import ROOMS, ROOT, files, nodes

PARTICIPLES = {
    *("found", "told", "said", "given", "known", "kept", "asked", "written", "listed", "carried", "happened"),
    *("allowing", "becoming", "happening", "parting", "settling", "standing"),
}
"""They say what was done to a thing, not what it is: use `match`, `row`, `answer`, `existing` and the like."""
ALLOWED = {"domain": 5, "adapters": 8, "projections": 3, "api": 5}
"""How many of these names are left in each room; two of the domain are the contract's `known`. The numbers only go
down."""

ANSWERS = ROOT / "api" / "cli" / "answers.py"
"""The answers of the API once more, as the terminal reads them: their names mean the same."""


def names(path: Path) -> Iterator[tuple[str, int]]:
    """What functions, parameters and variables are called, and in which line."""
    for node in nodes(path):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno


def participles(room: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted(set(files(room)) - {ANSWERS})
        for name, line in [(path.stem, 1), *names(path)]
        if name.strip("_") in PARTICIPLES
    ]


def test_no_class_name_has_two_meanings() -> None:
    names = Counter(
        node.name
        for room in ROOMS
        for path in set(files(room)) - {ANSWERS}
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    )
    assert len(names) > 500
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_further_name_is_a_participle(room: str) -> None:
    places = participles(room)
    assert len(places) <= ALLOWED[room], "\n".join(places)
