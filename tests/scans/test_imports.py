"""The import graph of each room and folder: no circles, and few levels between the first module and the last."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.scans.sources import ROOT, files, nodes

LEVELS = {"domain": 16, "adapters": 17, "projections": 9, "api": 21}
"""The longest chain of imports between the files of a room."""
FLOORS = {"domain": 8, "adapters": 5, "projections": 5, "api": 9}
"""The longest chain of imports between the files and folders directly in a room."""


def modules(room: str) -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files(room)
    }


def _is_light(path: Path) -> bool:
    module = nodes(path)[0]
    assert isinstance(module, ast.Module)
    words = " ".join((ast.get_docstring(module) or "").split())
    return "Imports little" in words or "Imports nothing" in words


def imported(path: Path) -> set[str]:
    """The names that a file imports, wherever in it: `a.b`, and `a.b.c` for `from a.b import c`."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@cache
def graph(room: str) -> dict[str, set[str]]:
    """The modules of the room that each one imports; a package counts where nothing in it is meant."""
    known = modules(room)
    result = {name: imported(path) & known.keys() - {name} for name, path in known.items()}
    return {
        name: {other for other in others if not any(one.startswith(f"{other}.") for one in others)}
        for name, others in result.items()
    }


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """The level of each node: 1 where it imports none of the others. Raises CycleError."""
    result: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        result[name] = 1 + max((result[other] for other in graph.get(name, ())), default=0)
    return result


def plan(room: str, folder: str) -> dict[str, set[str]]:
    """What the files and subfolders of a folder import of each other, each subfolder as a whole."""

    def part(name: str) -> str:
        return ".".join(name.split(".")[: folder.count(".") + 2])

    result: dict[str, set[str]] = {}
    for name, others in graph(room).items():
        if name.startswith(f"{folder}."):
            parts = {part(other) for other in others if other.startswith(f"{folder}.")}
            result.setdefault(part(name), set()).update(parts - {part(name)})
    return result


FOLDERS = sorted((room, name) for room in LEVELS for name, path in modules(room).items() if path.stem == "__init__")


@pytest.mark.parametrize("room", LEVELS)
def test_no_room_has_circles_or_a_long_chain_of_imports(room: str) -> None:
    assert max(levels(graph(room)).values()) <= LEVELS[room]


@pytest.mark.parametrize(("room", "folder"), FOLDERS)
def test_no_folder_imports_what_imports_it(room: str, folder: str) -> None:
    """Such as a part of `api/node` that imports `api.system`, which puts these parts together."""
    assert max(levels(plan(room, folder)).values(), default=0) <= FLOORS.get(folder, 10)


LIGHT = sorted(name for room in LEVELS for name, path in modules(room).items() if _is_light(path))
"""Modules that short commands load: their docstrings say that they import little."""


@pytest.mark.parametrize("name", LIGHT)
def test_what_imports_little_loads_no_models(name: str) -> None:
    code = f"import sys, {name}; print(sorted(sys.modules.keys() & {{'pydantic', 'starlette', 'domain.kinds'}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
