"""A search for what tests in JavaScript, Go and Rust would load from outside the workspace, in the files that name it.

npm: an entry of node_modules that leads outside. Go: a module or `go.work` outside. Cargo: a path dependency or an
override outside. The projects of a repository come from one walk over its folders, without what tools have put there.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.files import beginning
from domain.delivery.validation import Escape

_DEPTH = 5
_MOST = 20_000
"""As many folders are looked at."""
_SKIPPED = frozenset(
    {".git", ".venv", "venv", "env", "target", "dist", "build", "vendor", "__pycache__", ".tox", ".nox", ".next"}
)
_GO = ("go.work", "go.mod")
_CARGO_SETTINGS = ("config.toml", "config")


@dataclass(frozen=True, slots=True)
class Layout:
    """npm: each folder `node_modules`. Go, Cargo: the files that name others."""

    node: tuple[Path, ...]
    go: tuple[Path, ...]
    cargo: tuple[Path, ...]


def layout(workspace: Path) -> Layout:
    """The projects in the workspace, outermost first."""
    node, go, cargo = [], [], []
    for folder, names, files in _folders(workspace):
        if "node_modules" in names:
            node.append(folder / "node_modules")
        go += [folder / name for name in _GO if name in files]
        cargo += [folder / "Cargo.toml"] if "Cargo.toml" in files else []
        cargo += [path for name in _CARGO_SETTINGS if (path := folder / ".cargo" / name).is_file()]
    return Layout(tuple(node), tuple(go), tuple(cargo))


def _folders(workspace: Path) -> Iterator[tuple[Path, set[str], set[str]]]:
    """Each folder with the names of its folders and of its files; a link to a folder counts as one."""
    level, seen = [workspace], 0
    for _ in range(_DEPTH):
        following: list[Path] = []
        for folder in level:
            names, files = _entries(folder)
            yield folder, names, files
            seen += 1
            if seen >= _MOST:
                return
            following += [folder / name for name in sorted(names - _SKIPPED - {"node_modules"})]
        level = [folder for folder in following if not folder.is_symlink()]


def _entries(folder: Path) -> tuple[set[str], set[str]]:
    names: set[str] = set()
    files: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                (names if entry.is_dir() else files).add(entry.name)
    except OSError:
        pass
    return names, files


# -- what leads outside ------------------------------------------------------------------------------------------------


def other_escapes(
    workspace: Path, projects: Layout, env: Mapping[str, str], linked: Iterable[tuple[Path, Path]] = ()
) -> Iterator[Escape]:
    """`linked`: folders with the places in the workspace where commands see them."""
    yield from _node(workspace, projects)
    yield from _shown(workspace, linked)
    yield from _go(workspace, projects, env)
    yield from _cargo(workspace, projects)


def inside(path: Path, folder: Path) -> bool:
    """True if the path is in the folder, wherever links lead."""
    return path.resolve().is_relative_to(folder.resolve())


# -- npm ---------------------------------------------------------------------------------------------------------------


def _node(workspace: Path, projects: Layout) -> Iterator[Escape]:
    for modules in projects.node:
        if not inside(modules, workspace):
            yield Escape(what=str(modules.relative_to(workspace)), path=str(modules.resolve()))
            continue
        for entry in _packages(modules):
            if entry.is_symlink() and not inside(entry, workspace):
                yield Escape(what=f"npm package {entry.relative_to(modules)}", path=str(entry.resolve()))


def _shown(workspace: Path, linked: Iterable[tuple[Path, Path]]) -> Iterator[Escape]:
    """A relative link in such a folder leads where it would from its place in the workspace."""
    for modules, place in linked:
        for entry in _packages(modules) if place.name == "node_modules" else ():
            name = entry.relative_to(modules)
            target = os.path.normpath((place / name).parent / entry.readlink()) if entry.is_symlink() else ""
            if target and not Path(target).is_relative_to(workspace.resolve()):
                yield Escape(what=f"npm package {name}", path=target)


def _packages(modules: Path) -> Iterator[Path]:
    """The packages in a node_modules, including those in scopes."""
    if not modules.is_dir():
        return
    for entry in sorted(modules.iterdir()):
        if entry.name.startswith("@") and entry.is_dir() and not entry.is_symlink():
            yield from sorted(entry.iterdir())
        elif not entry.name.startswith("."):
            yield entry


# -- Go ----------------------------------------------------------------------------------------------------------------


def _go(workspace: Path, projects: Layout, env: Mapping[str, str]) -> Iterator[Escape]:
    work = env.get("GOWORK", "")
    if projects.go and work not in ("", "off") and not inside(Path(work), workspace):
        yield Escape(what="go.work", path=work)
    for file in projects.go:
        for path in _go_paths(beginning(file), file.name):
            if not inside(file.parent / path, workspace):
                yield Escape(
                    what=f"Go module in {file.relative_to(workspace)}", path=str((file.parent / path).resolve())
                )


def _go_paths(text: str, name: str) -> Iterator[str]:
    """The folders that a go.mod replaces modules with, or that a go.work uses."""
    block = ""
    for raw in text.splitlines():
        line = raw.split("//")[0].strip()
        if line == ")":
            block = ""
            continue
        if opened := re.fullmatch(r"(\w+)\s*\(", line):
            block = opened[1]
            continue
        word, _, rest = (block, "", line) if block else line.partition(" ")
        target = rest.split("=>")[-1].split()[:1] if word == "replace" and "=>" in rest else []
        if word == "use" and name == "go.work":
            target = rest.split()[:1]
        yield from (path.strip('"') for path in target if path.strip('"').startswith((".", "/")))


# -- Cargo -------------------------------------------------------------------------------------------------------------


def _cargo(workspace: Path, projects: Layout) -> Iterator[Escape]:
    for file in projects.cargo:
        try:
            manifest = tomllib.loads(beginning(file))
        except ValueError:
            continue
        folder = file.parent.parent if file.parent.name == ".cargo" else file.parent
        for name, path in (*_cargo_paths(manifest), *_overrides(manifest)):
            if not inside(folder / path, workspace):
                yield Escape(what=f"crate {name}", path=str((folder / path).resolve()))


def _cargo_paths(table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Every `path = "…"` of a dependency, replacement or patch, at any depth, and of the library itself; not what other
    tools keep in the manifest."""
    for key, value in table.items():
        if not isinstance(value, dict):
            continue
        if key in ("package", "workspace"):
            value = {name: part for name, part in value.items() if name != "metadata"}
        if isinstance(path := value.get("path"), str):
            yield key, path
        yield from _cargo_paths(value)


def _overrides(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """`paths = ["…"]` of a `.cargo/config.toml`."""
    paths = settings.get("paths")
    for path in paths if isinstance(paths, list) else ():
        if isinstance(path, str):
            yield Path(path).name, path
