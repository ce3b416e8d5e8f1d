"""The import graph of each room and folder: no circles, and few levels between the first module and the last. Packages
hold no logic of their own, so that importing one part does not load the others; a list says how much single modules may
load."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.scans.sources import ROOT, files, nodes

LEVELS = {"domain": 18, "adapters": 17, "projections": 9, "api": 20}
"""The longest chain of imports between the files of a room."""
FLOORS = {"domain": 8, "adapters": 5, "projections": 5, "api": 9}
"""The longest chain of imports between the files and folders directly in a room."""


def modules(room: str) -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files(room)
    }


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


LIGHT = {
    "adapters.clock": 5,
    "adapters.fence.landlock": 10,
    "adapters.processes.launch": 5,
    "adapters.processes.limits": 5,
    "adapters.proof.envelope": 5,
    "adapters.proof.merkle": 5,
    "adapters.store.postgres.address": 5,
    "adapters.store.sql.compression": 5,
    "api.node.local_files": 20,
    "domain.orchestration": 5,
    "projections.record.status": 15,
}
"""Modules that short commands and launchers load, and how many of our modules each may load. None of them loads models
of pydantic, a server, or the kinds of sessions."""
WEIGHTS = {
    "adapters.agents.command.agent": 62,
    "adapters.agents.port": 30,
    "adapters.agents.prompts.catalogue": 15,
    "adapters.fence.choice": 20,
    "adapters.notify.outbox": 43,
    "adapters.notify.receivers": 64,
    "adapters.processes.program": 30,
    "adapters.proof.inclusion": 45,
    "adapters.store.location": 45,
    "adapters.store.port": 41,
    "adapters.store.rows": 15,
    "adapters.store.sqlite.views": 41,
    "adapters.turns.commands.limits": 26,
    "adapters.writer.newest": 43,
}
"""How many of our modules others may load. A module that is not listed may load what it needs."""


def loaded(name: str) -> set[str]:
    """The modules that importing one loads in a fresh interpreter."""
    code = f"import sys, {name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def ours(names: set[str]) -> int:
    return sum(name.partition(".")[0] in LEVELS for name in names)


@pytest.mark.parametrize("name", LIGHT)
def test_a_light_module_loads_no_models_and_little_of_ours(name: str) -> None:
    names = loaded(name)
    assert not names & {"pydantic", "starlette", "domain.kinds"}
    assert ours(names) <= LIGHT[name]


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_module_loads_no_more_of_ours_than_it_may(name: str) -> None:
    assert ours(loaded(name)) <= WEIGHTS[name]


STILL_FULL = {"adapters.project", "api.cli", "api.openapi"}
"""Packages whose logic has yet to move into a module. Nothing may be added."""


def _has_logic(path: Path) -> bool:
    """Tell whether a package does more than name its parts: imports, `__all__`, and sentences about them."""
    return not all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in ast.parse(path.read_text("utf-8")).body
    )


def test_no_package_has_logic_of_its_own() -> None:
    packages = {name: path for room in LEVELS for name, path in modules(room).items() if path.stem == "__init__"}
    assert {name for name, path in packages.items() if _has_logic(path)} <= STILL_FULL
