"""Modes and times of files, which no state records: as a fresh checkout has them."""

import os
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

_SECONDS: Final = 60.0
"""The longest time to look for changed files."""
_NEAR_NS = 2_000_000_000
"""A file that was just written has times that are this near to each other."""


def changed_since(folder: Path, moment: Path) -> tuple[str, ...] | None:
    """The files and links that were changed in any way after the `moment` at which that file was written, by the time
    that no program can set; None where that cannot be found out."""
    words = ("find", "-P", str(folder), "(", "-type", "f", "-o", "-type", "l", ")", "-newercm", str(moment), "-print0")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run(words, env=environment, capture_output=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(os.fsdecode(path) for path in done.stdout.split(b"\0") if path)


def as_checked_out(folder: Path, changed: Iterable[str] | None = None) -> None:
    """Give files whose modes or times were set by somebody those of a checkout made now; all get the same time. All
    files are looked at, or only those that were `changed`.

    Links are not followed. A time that a program has set differs from that of the last change, which it cannot set.
    """
    now = time.time_ns()
    for path in _files(folder) if changed is None else changed:
        with suppress(OSError):  # a file that is gone has no mode
            facts = os.lstat(path)
            set_back = abs(facts.st_mtime_ns - facts.st_ctime_ns) > _NEAR_NS
            if stat.S_ISREG(facts.st_mode):
                mode, wanted = stat.S_IMODE(facts.st_mode), _wanted(facts.st_mode)
                if mode != wanted:
                    Path(path).chmod(wanted)
                set_back = set_back or mode != wanted
            if set_back:
                os.utime(path, ns=(now, now), follow_symlinks=False)


def _files(folder: Path) -> Iterator[str]:
    """The files and links below."""
    todo = [str(folder)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield entry.path


def _wanted(mode: int) -> int:
    """The mode that a checkout gives to a file of this one."""
    plain, program = _modes()
    return mode & 0o7777 if mode & 0o7777 in (plain, program) else program if mode & stat.S_IXUSR else plain


@cache
def _modes() -> tuple[int, int]:
    """What git gives a file and a program here: it depends on the umask, which is read without changing it."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Umask:"):
                mask = int(line.split()[1], 8)
                return 0o666 & ~mask, 0o777 & ~mask
    return 0o644, 0o755
