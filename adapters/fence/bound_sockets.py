"""Finds the sockets that other programs have put into folders: to read a folder is enough to connect to them."""

import os
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

_TABLE: Final = Path("/proc/self/net/unix")
_PATH: Final = 7
"""The place of the path in a line of the kernel's table; sockets without a name have none."""
_MOST_FOLDERS: Final = 300
_MOST_NAMES: Final = 4_000
_MOST_NAMES_OF_ONE: Final = 1_500
_MOST_SECONDS: Final = 0.2
"""How much is looked at: every command waits for it, and the folder of a compiler has 100,000 names.
The time is for slow disks."""


def sockets_in(folders: Mapping[Path, Path], apart: Collection[Path], system: Collection[Path]) -> set[Path]:
    """The sockets that exist now in these folders, by the place at which each folder is seen inside, and in the
    system's. The kernel's table has no socket that was renamed, linked or bound by a relative path, nor those of other
    networks: so the folders are looked through too, but the system's are too large for that. `apart`: the places below
    that are seen differently, and what is there is left out."""
    seen = {**{folder: folder for folder in system}, **folders}
    places = {*seen, *apart}
    in_table = ((place, path) for place, path in _from_table(seen) if _nearest(path, places) == place)
    return {path for _, path in in_table} | set(_by_walk(folders, {str(place) for place in places}))


def _from_table(folders: Mapping[Path, Path]) -> Iterator[tuple[Path, Path]]:
    """The sockets in the kernel's table."""
    try:
        lines = _TABLE.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return
    paths = {Path(words[_PATH]) for line in lines if len(words := line.split(maxsplit=_PATH)) > _PATH}
    bound = {path.parent.resolve() / path.name for path in paths if path.is_absolute() and _is_socket(path)}
    for place, folder in folders.items() if bound else ():
        real = folder.resolve()
        yield from ((place, place / path.relative_to(real)) for path in bound if real in path.parents)


def _nearest(path: Path, places: Collection[Path]) -> Path | None:
    return next((parent for parent in path.parents if parent in places), None)


def _by_walk(folders: Mapping[Path, Path], places: Collection[str]) -> Iterator[Path]:
    """The sockets that a short look finds: near the top of each folder first, and in each folder by turns, so that a
    large one takes nothing from another one."""
    until, names = time.monotonic() + _MOST_SECONDS, _MOST_NAMES
    waiting = deque(deque([(str(place), str(folder))]) for place, folder in folders.items())
    for _ in range(_MOST_FOLDERS):
        if not waiting or not names or time.monotonic() > until:
            return
        place, folder = waiting[0].popleft()
        try:
            with os.scandir(folder) as entries:
                for entry in islice(entries, min(names, _MOST_NAMES_OF_ONE)):
                    names -= 1
                    if entry.is_file(follow_symlinks=False):
                        continue
                    path = f"{place}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if path not in places:
                            waiting[0].append((path, entry.path))
                    elif not entry.is_symlink() and _is_socket(Path(entry.path)):
                        yield Path(path)
        except OSError:  # a file, or a folder that this account may not read
            pass
        if waiting[0]:
            waiting.rotate(-1)
        else:
            waiting.popleft()


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:  # in a folder that this account may not enter
        return False
