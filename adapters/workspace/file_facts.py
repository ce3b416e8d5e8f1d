"""Modes and times of files, which no state records: as a fresh checkout has them."""

import os
import shutil
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
    """The files, links and folders that were changed in any way after the `moment` at which that file was written, by
    the time that no program can set; None where that cannot be found out."""
    kinds = ("(", "-type", "f", "-o", "-type", "l", "-o", "-type", "d", ")")
    words = ("find", "-P", str(folder), "-mindepth", "1", *kinds, "-newercm", str(moment), "-print0")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run(words, env=environment, capture_output=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(os.fsdecode(path) for path in done.stdout.split(b"\0") if path)


def as_checked_out(folder: Path, changed: Iterable[str] | None = None) -> None:
    """Give files whose modes or times were set by somebody those of a checkout made now; all get the same time. Folders
    get the modes of a checkout, and hard links become files of their own. All are looked at, or only the `changed`.

    Links are not followed. A time that a program has set differs from that of the last change, which it cannot set.
    """
    now = time.time_ns()
    for path in _files(folder) if changed is None else changed:
        with suppress(OSError):  # a file that is gone has no mode
            facts = os.lstat(path)
            if stat.S_ISDIR(facts.st_mode):
                _open_as_checked_out(path, stat.S_IMODE(facts.st_mode))
                continue
            if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1 and ".git" not in Path(path).parts:
                _part(path)
                facts = os.lstat(path)
            set_back = abs(facts.st_mtime_ns - facts.st_ctime_ns) > _NEAR_NS
            if stat.S_ISREG(facts.st_mode):
                mode, wanted = stat.S_IMODE(facts.st_mode), _wanted(facts.st_mode)
                if mode != wanted:
                    Path(path).chmod(wanted)
                set_back = set_back or mode != wanted
            if set_back:
                os.utime(path, ns=(now, now), follow_symlinks=False)


def is_as_checked_out(folder: Path) -> bool:
    """True if folders have the modes of a checkout, and no file is a hard link; `.git` is not looked into."""
    _, wanted = _modes()
    todo = [str(folder)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.name == ".git":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) & 0o777 != wanted:
                        return False
                    todo.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_nlink > 1:
                    return False
    return True


def _open_as_checked_out(folder: str, mode: int) -> None:
    wanted = mode & ~0o777 | _modes()[1]
    if mode != wanted and ".git" not in Path(folder).parts:
        Path(folder).chmod(wanted)


def _part(path: str) -> None:
    """Makes a hard link a file of its own."""
    draft = f"{path}.hansard-part"
    shutil.copy2(path, draft)
    Path(draft).replace(path)


def _files(folder: Path) -> Iterator[str]:
    """The files, links and folders below."""
    todo = [str(folder)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                    yield entry.path
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield entry.path


def _wanted(mode: int) -> int:
    """The mode that a checkout gives to a file of this one."""
    plain, program = _modes()
    return mode & 0o7777 if mode & 0o7777 in (plain, program) else program if mode & stat.S_IXUSR else plain


@cache
def _modes() -> tuple[int, int]:
    """Returns the modes that git gives a file and a program here: they depend on the umask, which is read without
    changing it."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("Umask:"):
                mask = int(line.split()[1], 8)
                return 0o666 & ~mask, 0o777 & ~mask
    return 0o644, 0o755
