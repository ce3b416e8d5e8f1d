"""Finds the sockets that other programs have put into folders: to read a folder is enough to connect to them."""

import os
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from adapters.fence.port import SocketLooks

_TABLE: Final = Path("/proc/self/net/unix")
_PATH: Final = 7
"""The place of the path in a line of the kernel's table; sockets without a name have none."""
_MOST_FOLDERS: Final = 300
_MOST_NAMES: Final = 4_000
_MOST_NAMES_OF_ONE: Final = 1_500
_MOST_SECONDS: Final = 0.2
"""How much is looked at: every command waits for it, and the folder of a compiler has 100,000 names.
The time is for slow disks."""
_PASSING: Final = tuple(Path(name) for name in ("/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm"))  # noqa: S108


def sockets_in(
    looks: SocketLooks, folders: Mapping[Path, Path], apart: Collection[Path], system: Collection[Path]
) -> set[Path]:
    """The sockets that exist now in these folders, by the place at which each folder is seen inside, and in the
    system's. The kernel's table has no socket that was renamed, linked or bound by a relative path, nor those of other
    networks: so the folders are looked through too, but the system's are too large for that. `apart`: the places below
    that are seen differently, and what is there is left out."""
    looks.seen = {**{folder: folder for folder in system}, **folders}
    looks.places = {*looks.seen, *apart}
    bound = _bound()
    walk = _Walk(folders, {str(place) for place in looks.places})
    sockets = _named(looks, bound) | set(walk.sockets())
    looks.sockets |= sockets
    looks.unsure = looks.unsure or (walk.has_stopped and _any_unplaced(bound, folders.values()))
    return sockets


def may_have_missed_some(looks: SocketLooks) -> bool:
    """True if a socket existed whose place is not known and not everything was looked through, or if one was made later
    where a program sees it."""
    return looks.unsure or (bool(looks.seen) and not _named(looks, _bound()) <= looks.sockets)


def _named(looks: SocketLooks, bound: Collection[str]) -> set[Path]:
    """The sockets that the kernel's table places in the folders."""
    return {path for place, path in _placed(bound, looks.seen) if _nearest(path, looks.places) == place}


def _bound() -> tuple[str, ...]:
    """The paths in the kernel's table, as they were said when the sockets were bound."""
    try:
        lines = _TABLE.read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    paths = (words[_PATH] for line in lines if len(words := line.split(maxsplit=_PATH)) > _PATH)
    return tuple(dict.fromkeys(path for path in paths if not path.startswith("@")))


def _placed(bound: Collection[str], folders: Mapping[Path, Path]) -> Iterator[tuple[Path, Path]]:
    """The sockets that are where they were bound, with the folders that they are in."""
    paths = (Path(path) for path in bound if path.startswith("/"))
    there = {path.parent.resolve() / path.name for path in paths if _is_socket(path)}
    for place, folder in folders.items() if there else ():
        real = folder.resolve()
        yield from ((place, place / path.relative_to(real)) for path in there if real in path.parents)


def _any_unplaced(bound: Collection[str], folders: Collection[Path]) -> bool:
    """True if a socket may be somewhere in these folders under a name that the kernel's table does not have. What was
    bound in a folder for passing files, which no program sees, is not expected here."""
    real = [folder.resolve() for folder in folders]
    for path in map(Path, bound):
        if not path.is_absolute():
            return True
        place = path.parent.resolve()
        is_seen = any(place.is_relative_to(folder) for folder in real)
        if (is_seen or not any(path.is_relative_to(folder) for folder in _PASSING)) and _has_moved(path):
            return True
    return False


def _has_moved(path: Path) -> bool:
    """True if the socket of this name is gone, or has a second name."""
    try:
        return path.stat(follow_symlinks=False).st_nlink > 1
    except PermissionError:  # it is there, in a folder of somebody else
        return False
    except OSError:
        return True


def _nearest(path: Path, places: Collection[Path]) -> Path | None:
    return next((parent for parent in path.parents if parent in places), None)


class _Walk:
    """A short look for sockets: near the top of each folder first, and in each folder by turns, so that a large one
    takes nothing from another one."""

    def __init__(self, folders: Mapping[Path, Path], places: Collection[str]) -> None:
        self._waiting = deque(deque([(str(place), str(folder))]) for place, folder in folders.items())
        self._places, self._names = places, _MOST_NAMES
        self.has_stopped = False
        """True if not everything was looked at."""

    def sockets(self) -> Iterator[Path]:
        until = time.monotonic() + _MOST_SECONDS
        for _ in range(_MOST_FOLDERS):
            if not self._waiting or not self._names or time.monotonic() > until:
                break
            yield from self._of_one()
            if self._waiting[0]:
                self._waiting.rotate(-1)
            else:
                self._waiting.popleft()
        self.has_stopped = self.has_stopped or bool(self._waiting)

    def _of_one(self) -> Iterator[Path]:
        """The sockets in the next folder; the folders below it have to wait."""
        place, folder = self._waiting[0].popleft()
        most = min(self._names, _MOST_NAMES_OF_ONE)
        try:
            with os.scandir(folder) as entries:
                for entry in islice(entries, most):
                    self._names -= 1
                    most -= 1
                    if entry.is_file(follow_symlinks=False):
                        continue
                    path = f"{place}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if path not in self._places:
                            self._waiting[0].append((path, entry.path))
                    elif not entry.is_symlink() and _is_socket(Path(entry.path)):
                        yield Path(path)
                self.has_stopped = self.has_stopped or (not most and next(entries, None) is not None)
        except OSError:  # a file, or a folder that this account may not read
            pass


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:  # in a folder that this account may not enter
        return False
