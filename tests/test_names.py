"""One name, one meaning: no class name has two meanings in the product, and a name says what the thing is."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("domain", "adapters", "projections", "api")
PARTICIPLES = {
    *("found", "told", "said", "given", "known", "kept", "asked", "written", "listed", "carried", "happened"),
    *("allowing", "becoming", "happening", "parting", "settling", "standing"),
}
"""They say what was done to a thing, not what it is: use `match`, `row`, `answer`, `existing` and the like."""
ALLOWED = {"domain": 5, "adapters": 9, "projections": 3, "api": 5}
"""How many of these names are left in each room. The numbers only go down."""


def trees(room: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / room).rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """What functions, parameters and variables are called, and in which line."""
    for node in ast.walk(tree):
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
        for path, tree in trees(room)
        for name, line in [(path.stem, 1), *names(tree)]
        if name.strip("_") in PARTICIPLES
    ]


def test_no_class_name_has_two_meanings() -> None:
    names = Counter(
        node.name
        for room in ROOMS
        for _, tree in trees(room)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_further_name_is_a_participle(room: str) -> None:
    places = participles(room)
    assert len(places) <= ALLOWED[room], "\n".join(places)
