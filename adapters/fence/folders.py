"""The folders that a program needs in order to run: the system's, and those of the programs on PATH."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from adapters.fence.toolchains import toolchain_paths

SYSTEM = tuple(
    Path(name)
    for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/sys")
)
"""Read-only inside, if they exist."""
Hides = Callable[[Path], bool]
"""Whether a path does not exist inside."""
INTERPRETERS = ("python", "python3", "node")
"""Programs that scripts on PATH name in their first line; often links into another folder."""
_LOADED = (
    *("bin", "lib", "lib64", "libexec", "share", "install", "installs", "versions", "tools", "toolchains", "shims"),
    *("plugins", "candidates", "store", "runtimes", "node_modules"),
)
"""Folders next to programs that these load code from, inside a tool's folder in a person's home."""
_MOST_LINKS = 40
"""As many links as the kernel follows."""
_LONGEST = 256
"""How much of a script's first line the kernel reads."""


def programs(argv: Iterable[str], env: Mapping[str, str], *, hides: Hides) -> tuple[Path, ...]:
    """The folders of the programs on PATH and of the started program, and what tools have below the person's home,
    without the system's and hidden ones."""
    home = Path.home()
    wanted = {path: None for path in toolchain_paths() if not inside(path, SYSTEM) and not hides(path)}
    for place in dict.fromkeys(_places(next(iter(argv), ""), env)):
        for folder in () if hides(place) else _prefix(place, home):
            if not inside(folder, SYSTEM) and not hides(folder) and folder not in (Path("/"), home):
                wanted[folder] = None
    return tuple(wanted)


def find(program: str, env: Mapping[str, str], *, hides: Hides) -> Path | None:
    """The program that a name refers to inside the fence; hidden folders do not exist there."""
    entries = [entry for entry in _entries(env) if not hides(entry)]
    path = shutil.which(program, path=os.pathsep.join(str(entry) for entry in entries))
    return Path(path) if path else None


def inside(path: Path, folders: Iterable[Path]) -> bool:
    """True if the path is one of the folders, or below one."""
    parts, anchor = path.parts, path.anchor  # compared as words: every command asks hundreds of times
    return any(folder.parts == parts[: len(folder.parts)] and folder.anchor == anchor for folder in folders)


def _places(program: str, env: Mapping[str, str]) -> Iterator[Path]:
    """The folders that contain programs."""
    for entry in filter(_is_usable, _entries(env)):
        yield from (entry, entry.resolve())
        yield from ((entry / name).resolve().parent for name in INTERPRETERS if (entry / name).is_symlink())
    location = shutil.which(program, path=env.get("PATH")) if program else None
    for place in (Path(location).absolute(), *_interpreter(Path(location))) if location else ():
        yield from (link.parent for link in _links(place))  # often into a package elsewhere


def _links(path: Path) -> Iterator[Path]:
    """The path and, one after the other, what it is a link to; the last is the file itself."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            break
        target = path.parent.resolve() / path.readlink()
        path = target.parent.resolve() / target.name
    yield path.resolve()


def _is_usable(entry: Path) -> bool:
    """PATH may name folders that this account must not look into."""
    return os.access(entry, os.X_OK, effective_ids=True) and entry.is_dir()


def _interpreter(program: Path) -> Iterator[Path]:
    """The program that a script names in its first line."""
    try:
        with program.open("rb") as file:
            line = file.read(_LONGEST).partition(b"\n")[0]
    except OSError:  # it can be run, but not read
        return
    words = os.fsdecode(line.removeprefix(b"#!")).split()
    if line.startswith(b"#!/") and words:
        yield Path(words[0])


def _entries(env: Mapping[str, str]) -> tuple[Path, ...]:
    return tuple(Path(entry) for entry in env.get("PATH", os.defpath).split(os.pathsep) if entry.startswith("/"))


def _prefix(folder: Path, home: Path) -> Iterator[Path]:
    """The folder with what its programs load, without the private files next to it in a person's home."""
    if not inside(folder, (home,)):
        yield _around(folder)
        return
    first, *rest = folder.relative_to(home).parts or ("",)
    if first == ".local" and rest:
        yield home.joinpath(first, *rest[: 2 if rest[0] == "share" else 1])
    elif first == ".cargo":  # its credentials are next to its programs
        yield home / ".cargo" / "bin"
    elif first == "bin" or not rest:
        yield folder
    elif first.startswith(".") and len(rest) == 1:  # passwords and sockets may be next to the programs
        yield folder
        yield from (path for name in _LOADED if (path := folder.with_name(name)).is_dir())
    else:
        yield _around(folder)


def _around(folder: Path) -> Path:
    return folder.parent if folder.name == "bin" and folder.parent != Path("/") else _package(folder)


def _package(folder: Path) -> Path:
    """The outermost node_modules that contains the folder, otherwise the folder."""
    return next((place for place in reversed((folder, *folder.parents)) if place.name == "node_modules"), folder)
