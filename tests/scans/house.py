"""Measures of the house, counted in the source: `python -m tests.scans.house` prints them."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.scans.sources import ROOMS, ROOT, files, nodes

_UNTYPED = re.compile(r"\bJson\b|dict\[str, Any\]|Mapping\[str, Any\]")
_QUESTION = re.compile(r"(What|Where|How|Whether|Who|When|Why|Which)\b")
_DESCRIBED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_VERBAL = re.compile(r"(ing|ed)$")
NOUNS = frozenset({"ending", "finding", "landing", "routing", "spelling", "weakening"})
"""Names in -ing that are things."""
_LARGE = 25
"""Lines from which on a part of a file counts."""


def every() -> Iterator[Path]:
    for room in ROOMS:
        yield from files(room)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def untyped(folder: str) -> int:
    """How often the code of a folder takes or gives objects without types: `Json`, `dict` and `Mapping` of anything."""
    return sum(len(_UNTYPED.findall(path.read_text("utf-8"))) for path in files(folder))


def late_imports() -> dict[str, int]:
    """The imports in functions by file."""
    result: dict[str, int] = {}
    for path in every():
        functions = (node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        late = {
            id(node) for each in functions for node in ast.walk(each) if isinstance(node, ast.Import | ast.ImportFrom)
        }
        if late:
            result[named(path)] = len(late)
    return result


def verbal_names() -> list[str]:
    """Modules that are called after something done, such as `asking` or `sealed`."""
    return [named(path) for path in every() if _VERBAL.search(path.stem) and path.stem not in NOUNS]


def interpreters(event: str) -> list[str]:
    """The files that name an event in their code, apart from the one that defines it: who reads it has to know them."""
    return [named(path) for path in every() if event in _names(path)]


def _names(path: Path) -> set[str]:
    """What a file names in its code and does not define."""
    names = {node.id for node in nodes(path) if isinstance(node, ast.Name)}
    return names - {node.name for node in nodes(path) if isinstance(node, ast.ClassDef)}


def questions() -> list[str]:
    """Modules, classes and functions whose first sentence does not say what they are or do."""
    return [
        f"{named(path)} {getattr(node, 'name', '')}"
        for path in every()
        for node in nodes(path)
        if isinstance(node, _DESCRIBED) and _QUESTION.match(ast.get_docstring(node) or "")
    ]


def unrelated() -> dict[str, list[str]]:
    """Files with two or more large parts that never name each other, each part by its largest definitions."""
    return {named(path): parts for path in every() if len(parts := _parts(path)) > 1}


def _parts(path: Path) -> list[str]:
    """The large parts of a file: definitions that name one another, or that are named in the same one."""
    module = nodes(path)[0]
    assert isinstance(module, ast.Module)
    sizes: dict[str, int] = {}
    uses: dict[str, set[str]] = {}
    for node in module.body:
        for name in _defined(node):
            sizes[name] = (node.end_lineno or node.lineno) - node.lineno + 1
            uses[name] = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} | _quoted(node)
    groups = {name: name for name in sizes}

    def root(name: str) -> str:
        while groups[name] != name:
            name = groups[name]
        return name

    for name, used in uses.items():
        for other in used & sizes.keys():
            groups[root(other)] = root(name)
    parts: dict[str, list[str]] = defaultdict(list)
    for name in sizes:
        parts[root(name)].append(name)
    large = [part for part in parts.values() if sum(sizes[name] for name in part) >= _LARGE]
    return [", ".join(sorted(part, key=lambda name: -sizes[name])[:2]) for part in large]


def _defined(node: ast.stmt) -> Iterable[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _quoted(node: ast.stmt) -> set[str]:
    """Names in types that are written as text."""
    texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return {word for text in texts if len(text) < 100 for word in re.findall(r"\w+", text)}


def lines(folder: str) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in files(folder))


def table() -> Iterator[str]:
    """The measures, one a line."""
    late = late_imports()
    yield f"objects without types: cli {untyped('api/cli')}, web {untyped('api/web')}"
    yield f"imports in functions: {sum(late.values())} in {len(late)} files"
    yield f"modules named after something done: {len(verbal_names())}"
    yield f"docstrings that begin with a question word: {len(questions())}"
    yield f"files that interpret TurnAttemptFailed: {len(interpreters('TurnAttemptFailed'))} (goal 9)"
    yield f"files with unrelated parts: {len(unrelated())}"
    yield f"lines: product {sum(lines(room) for room in ROOMS)}, tests {lines('tests')}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table())
    sys.stdout.writelines(f"  {name}: {' · '.join(parts)}\n" for name, parts in unrelated().items())
