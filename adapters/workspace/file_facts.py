"""Modes and times of files, which no state records: as a fresh checkout has them."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_NEAR_NS = 2_000_000_000
"""A file that was just written has times that are this near to each other."""


def as_checked_out(folder: Path) -> None:
    """Give files whose modes or times were set by somebody those of a checkout made now; all get the same time.

    Links are not followed. A time that a program has set differs from that of the last change, which it cannot set.
    """
    now = time.time_ns()
    for path, mode in _altered(folder):
        with suppress(OSError):  # a file that is gone has no mode
            if mode is not None:
                Path(path).chmod(mode)
            os.utime(path, ns=(now, now), follow_symlinks=False)


def _altered(folder: Path) -> Iterator[tuple[str, int | None]]:
    """The files, and the modes that they should have; None for a link, which has none."""
    plain, program = _modes()
    todo = [str(folder)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                    continue
                facts = entry.stat(follow_symlinks=False)
                mode = stat.S_IMODE(facts.st_mode)
                set_back = abs(facts.st_mtime_ns - facts.st_ctime_ns) > _NEAR_NS
                if stat.S_ISLNK(facts.st_mode):
                    if set_back:
                        yield entry.path, None
                elif stat.S_ISREG(facts.st_mode) and (set_back or mode not in (plain, program)):
                    yield entry.path, program if mode & stat.S_IXUSR else plain


@cache
def _modes() -> tuple[int, int]:
    """What git gives a file and a program here: it depends on the umask, which is read without changing it."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Umask:"):
                mask = int(line.split()[1], 8)
                return 0o666 & ~mask, 0o777 & ~mask
    return 0o644, 0o755
