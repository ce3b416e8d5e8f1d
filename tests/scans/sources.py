"""The source of the product, parsed once for all scans."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("domain", "adapters", "projections", "api")


@cache
def files(room: str) -> tuple[Path, ...]:
    """The Python files of a room, or of a folder in it such as `api/cli`."""
    return tuple(sorted((ROOT / room).rglob("*.py")))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file; the first is its module."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


@cache
def calls(path: Path) -> tuple[tuple[str, ast.Call], ...]:
    """All calls in a file, each with the name of what is called, such as `re.compile`."""
    return tuple((ast.unparse(node.func), node) for node in nodes(path) if isinstance(node, ast.Call))
