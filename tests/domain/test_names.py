"""One word, one meaning: no two classes of the domain have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

import domain

ROOT = Path(domain.__file__).parent


def test_every_class_of_the_domain_has_a_name_of_its_own() -> None:
    result: dict[str, list[str]] = defaultdict(list)
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                result[node.name].append(str(file.relative_to(ROOT)))
    assert len(result) > 150
    assert {name: files for name, files in result.items() if len(files) > 1} == {}
