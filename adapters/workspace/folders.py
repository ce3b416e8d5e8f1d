"""Folders in which agents work or have worked: scanning, restoring access and deleting.

An agent may be changing things at the same time: links are never followed (S14).
"""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import WorkspaceError
from domain.values.sentences import Sentence

_LONGEST_PATH: Final = 4096
"""Bytes of a path that the system does not open."""
_LONGEST_NAME: Final = 256


def plain_files(tree: Path, paths: Iterable[bytes]) -> Iterator[bytes]:
    """Those that are readable files or symbolic links now, not reached through a symbolic link."""
    root, real = os.fsencode(tree), {b"": True}

    def is_real(folder: bytes) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.rpartition(b"/")[0]) and stat.S_ISDIR(_mode(root + b"/" + folder))
        return real[folder]

    for path in paths:
        mode = _mode(root + b"/" + path) if is_real(path.rpartition(b"/")[0]) else 0
        if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and os.access(root + b"/" + path, os.R_OK)):
            yield path


def _mode(path: bytes | str | Path) -> int:
    """0 if there is nothing."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def is_real_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def existing_folder(path: Path) -> Path:
    if not path.is_dir():
        raise WorkspaceError(Sentence("folder_not_found", path=path))
    return path.resolve()


def tame(folder: Path) -> None:
    """Restore our rights to enter and read the contents, which agents may have removed, and delete pipes and sockets:
    no state records them, and opening one may block forever."""
    folder.chmod(stat.S_IMODE(_mode(folder)) | stat.S_IRWXU)
    todo = [os.fspath(folder)]
    while todo:
        for path in _names_in(todo.pop()):
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                todo.append(path)
            _tame_one(path, mode)


class OddPlaces(NamedTuple):
    """The things in a folder that git passes over, as paths from there: what repositories inside are kept in, and what
    is too deep for the system to open, of folders only the first."""

    repositories: tuple[str, ...] = ()
    too_deep: tuple[str, ...] = ()


def open_up(folder: Path) -> OddPlaces:
    """The same for folders only, in a fraction of the time; whether files are readable is not checked. Returns what git
    will pass over."""
    folder.chmod(stat.S_IMODE(_mode(folder)) | stat.S_IRWXU)
    top = os.fspath(folder)
    todo, repositories, too_deep = [top], list[str](), list[str]()
    while todo:
        here = todo.pop()
        nearly = len(os.fsencode(here)) + _LONGEST_NAME >= _LONGEST_PATH
        with suppress(OSError), os.scandir(here) as entries:  # gone, or not ours
            for entry in entries:
                if nearly and len(os.fsencode(entry.path)) >= _LONGEST_PATH:
                    too_deep.append(os.path.relpath(entry.path, top))
                    continue
                if entry.name == ".git" and here != top:
                    repositories.append(os.path.relpath(entry.path, top))
                if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    continue
                mode = _mode(entry.path)
                if stat.S_ISDIR(mode):
                    todo.append(entry.path)
                _tame_one(entry.path, mode)
    return OddPlaces(tuple(repositories), tuple(too_deep))


def make_readable(tree: Path, paths: Iterable[bytes]) -> None:
    """Restore our right to read these files."""
    for path in paths:
        place = os.fsdecode(os.fsencode(tree) + b"/" + path)
        with suppress(OSError):
            _tame_one(place, _mode(place))


def _names_in(folder: str) -> list[str]:
    with suppress(OSError), os.scandir(folder) as entries:  # gone, or not ours
        return [entry.path for entry in entries]
    return []


def _tame_one(path: str, mode: int) -> None:
    wanted = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        Path(path).unlink()
    elif (stat.S_ISDIR(mode) or stat.S_ISREG(mode)) and mode & wanted != wanted:
        Path(path).chmod(stat.S_IMODE(mode) | wanted)


def bytes_in(folder: Path) -> int:
    """The size of the files in a folder, without following links; unreadable ones count nothing."""
    total, todo = 0, [os.fspath(folder)]
    while todo:
        for path in _names_in(todo.pop()):
            with suppress(OSError):
                status = os.lstat(path)
                if stat.S_ISDIR(status.st_mode):
                    todo.append(path)
                else:
                    total += status.st_size
    return total


def delete(path: Path) -> None:
    if not is_real_folder(path):
        path.unlink(missing_ok=True)
        return
    tame(path)
    shutil.rmtree(path)


# -- reading and writing while an agent may be changing things ---------------------------------------------------------
