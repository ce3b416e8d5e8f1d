"""Where the projects of a repository are: one walk over its folders, without what tools have put there."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
