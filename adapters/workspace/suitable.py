"""Tells which of a person's folders can be worked in: checked before any agent costs money, and again when it is
opened.

Everything here blocks: call it from a thread.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.borrowed_objects import check_complete
from adapters.workspace.creation import place_of
from adapters.workspace.git import Lasting, WorkspaceError
from adapters.workspace.recording_rules import TOOL_FOLDERS
from domain.values.sentences import Sentence

EXAMPLES: Final = "examples"
"""The folder inside our own data that contains repositories for people to work in."""

_SYSTEM: Final = tuple(
    Path("/", name)
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys"),
        *("private/etc", "usr/bin", "usr/lib", "usr/sbin"),
    )
)
"""Folders of the operating system: nothing in them is a project."""

_ABOVE_PROJECTS: Final = tuple(map(Path, ("/run", "/usr", "/var")))

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder like any other

_SKIPPED: Final = {*TOOL_FOLDERS, ".git"}


class Room(NamedTuple):
    """The limits of a folder without git: all of it is copied, and scanned after every turn."""

    files: int
    bytes: int


def check(folder: Path, *, ours: Path, room: Room | None = None, private: Sequence[Path] = ()) -> None:
    """Raises WorkspaceError for an unsuitable folder; its text describes the folder, without a full stop. `ours` is
    where Hansard keeps its own data, whatever links lead there. `private` files do not count."""
    folder = _existing(folder)
    if {"\n", "\r"} & set(str(folder)):
        raise Lasting(Sentence("folder_name_unfit"))
    if folder == Path(folder.anchor):
        raise Lasting(Sentence("folder_is_root"))
    if _is_of_the_system(folder):
        raise Lasting(Sentence("folder_is_of_the_system"))
    _check_not_ours(folder, ours.resolve())
    if ".git" in (part.casefold() for part in folder.parts):
        raise Lasting(Sentence("folder_inside_git"))
    if place_of(folder) is not None:
        check_complete(folder)
    elif room is not None:
        _check_size(folder, room, (ours, *private))


def _existing(folder: Path) -> Path:
    try:
        if folder.is_dir():
            return folder.resolve()
    except OSError:  # the name is too long, or a folder above is not accessible
        pass
    raise WorkspaceError(Sentence("folder_missing"))


def _is_of_the_system(folder: Path) -> bool:
    if folder.is_relative_to(_MEMORY):
        return False
    return folder in _ABOVE_PROJECTS or any(folder.is_relative_to(place) for place in _SYSTEM)


def _check_not_ours(folder: Path, ours: Path) -> None:
    """Compares the folders themselves, not their names: a file system may have several names for one folder."""
    if _identity(ours) in _identities(folder) and ours / EXAMPLES not in folder.parents:
        raise Lasting(Sentence("folder_is_ours"))


def _identities(folder: Path) -> list[tuple[int, int] | Path]:
    """Of the folder, and of all above it."""
    return [_identity(place) for place in (folder, *folder.parents)]


def _identity(place: Path) -> tuple[int, int] | Path:
    """A missing or unreadable folder is identified by its name."""
    try:
        stat = place.stat()
    except OSError:
        return place
    return stat.st_dev, stat.st_ino


def _check_size(folder: Path, room: Room, private: Sequence[Path]) -> None:
    files = size = 0
    for entry_size in _sizes(folder, private):
        files, size = files + 1, size + entry_size
        if files > room.files:
            raise WorkspaceError(Sentence("folder_too_many_files", number=room.files))
        if size > room.bytes:
            raise WorkspaceError(Sentence("folder_too_large", number=room.bytes))


def _sizes(folder: Path, private: Sequence[Path]) -> Iterator[int]:
    """Size of each entry below, including folders, without our own files. Links are not followed; unreadable entries
    are empty."""
    ours = tuple(os.fspath(place) for path in private if folder in (place := path.resolve()).parents)
    todo = [os.fspath(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                shown_entries = [
                    entry for entry in entries if entry.name not in _SKIPPED and not entry.path.startswith(ours)
                ]
        except OSError:
            continue
        for entry in shown_entries:
            try:
                looked = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(looked.st_mode):
                todo.append(entry.path)
            yield looked.st_size if stat.S_ISREG(looked.st_mode) else 0
