"""The fence of bubblewrap: a file system, process table and, without network, a network of its own."""

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from adapters.fence.folders import SYSTEM, find, inside, programs
from adapters.fence.landlock import SCOPED, SCOPING, landlock_version
from adapters.fence.port import Confined, Gap, Grant, Level

PRIVATE: Final = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - these names inside the fence are empty folders of its own
_OWN: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--cap-drop", "ALL")
_NEVER_BEGAN: Final = re.compile(r"^bwrap: (?:execvp (?P<program>.*)|[^\n]*): (?P<reason>[^:\n]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Nothing exists inside but what is granted, the system's folders and the programs on PATH, both read-only."""

    grant: Grant

    level: Level = "bwrap"

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return ("sockets",) if self.grant.network == "all" and landlock_version() < SCOPING else ()

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        if argv and "/" not in argv[0] and find(argv[0], env, hidden=self._hidden) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        alone = self.grant.network == "none"
        network = ["--unshare-net"] if alone else []
        command = (_program(), *_OWN, *network, *self._mounts(argv, env), "--chdir", str(cwd), "--", *argv)
        # With the machine's network come its sockets without a name; Landlock puts those out of reach.
        return Confined(command, "" if alone or landlock_version() < SCOPING else SCOPED)

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        found = _NEVER_BEGAN.search(stderr) if exit_code == 1 else None
        return found["reason"] if found else None

    @property
    def _hidden(self) -> tuple[Path, ...]:
        """What must not exist inside, less what is granted below it."""
        return tuple(path.absolute() for path in self.grant.hidden)

    def _mounts(self, argv: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
        """In order: later mounts cover earlier ones."""
        for folder in SYSTEM:
            yield from _system(folder)
        yield from ("--proc", "/proc", "--dev", "/dev")
        for name in PRIVATE:
            yield from ("--tmpfs", name)
        yield from _resolver()
        shown = programs(argv, env, hidden=self._hidden)
        for folder in sorted(shown):
            yield from ("--ro-bind-try", str(folder), str(folder))
        for folder in sorted(self._hidden):
            if inside(folder, (*SYSTEM, *shown)) and folder.is_dir():
                yield from ("--tmpfs", str(folder))
        for path in sorted(path.absolute() for path in self.grant.readable):
            yield from ("--ro-bind-try", str(path), str(path))
        for path in sorted(path.absolute() for path in self.grant.writable):
            yield from ("--bind", str(path), str(path))


@cache
def bubblewrap_works() -> bool:
    """Whether bubblewrap is installed and this account may use it."""
    if shutil.which("bwrap") is None:
        return False
    mounts = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    try:
        tried = subprocess.run([_program(), *_OWN, "--unshare-net", *mounts, "true"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def _program() -> str:
    return shutil.which("bwrap") or "bwrap"


def _system(folder: Path) -> Iterator[str]:
    if folder.is_symlink():
        yield from ("--symlink", str(folder.readlink()), str(folder))
    elif folder.is_dir():
        yield from ("--ro-bind", str(folder), str(folder))


def _resolver() -> Iterator[str]:
    """The file that says how names are looked up often lies below /run."""
    target = Path("/etc/resolv.conf").resolve()
    if inside(target, [Path(name) for name in PRIVATE]):
        yield from ("--ro-bind-try", str(target), str(target))
