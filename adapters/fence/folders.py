"""Which folders a program needs to run at all: the system's, and those of the programs on PATH."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SYSTEM = tuple(
    Path(name)
    for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/sys")
)
"""Read-only inside, where they exist."""


def programs(argv: Iterable[str], env: Mapping[str, str], *, hidden: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders of the programs on PATH and of the one that is started, outside the system's and hidden ones."""
    wanted: dict[Path, None] = {}
    for folder in _folders(next(iter(argv), ""), env):
        if not inside(folder, (*SYSTEM, *hidden)) and folder not in (Path("/"), Path.home()):
            wanted[folder] = None
    return tuple(wanted)


def find(program: str, env: Mapping[str, str], *, hidden: tuple[Path, ...]) -> Path | None:
    """The program that a name means inside the fence; hidden folders do not exist there."""
    entries = [entry for entry in _entries(env) if not inside(entry, hidden)]
    found = shutil.which(program, path=os.pathsep.join(str(entry) for entry in entries))
    return Path(found) if found else None


def inside(path: Path, folders: Iterable[Path]) -> bool:
    """Whether the path is one of the folders, or below one."""
    return any(path == folder or folder in path.parents for folder in folders)


def _folders(program: str, env: Mapping[str, str]) -> Iterator[Path]:
    for entry in _entries(env):
        for place in (entry, entry.resolve()):
            if place.is_dir():
                yield from _prefix(place, Path.home())
    found = shutil.which(program, path=env.get("PATH")) if program else None
    if found:  # often a link into a package elsewhere
        for place in (Path(found).absolute(), Path(found).resolve()):
            yield from _prefix(place.parent, Path.home())


def _entries(env: Mapping[str, str]) -> tuple[Path, ...]:
    return tuple(Path(entry) for entry in env.get("PATH", os.defpath).split(os.pathsep) if entry.startswith("/"))


def _prefix(folder: Path, home: Path) -> Iterator[Path]:
    """The folder with what its programs load, without the private files that a person's home holds beside it."""
    if not inside(folder, (home,)):
        yield folder.parent if folder.name == "bin" and folder.parent != Path("/") else _package(folder)
        return
    first, *rest = folder.relative_to(home).parts or ("",)
    if first == ".local" and rest:
        yield home.joinpath(first, *rest[: 2 if rest[0] == "share" else 1])
    elif first == ".cargo":  # its credentials lie beside its programs
        yield from (home / ".cargo" / "bin", home / ".rustup")
    elif first == "bin" or not rest:
        yield folder
    else:
        yield home / first


def _package(folder: Path) -> Path:
    """The outermost node_modules that holds the folder, else the folder."""
    return next((place for place in reversed((folder, *folder.parents)) if place.name == "node_modules"), folder)
