"""One name, one meaning: no class name stands for two things in the product."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("domain", "adapters", "projections", "api")


def test_no_class_name_has_two_meanings() -> None:
    names = Counter(
        node.name
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []
