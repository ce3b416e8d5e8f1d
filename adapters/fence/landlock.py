"""The fence with Landlock: the kernel limits which folders a program reads and writes, and whether it may connect."""

import ctypes
import marshal
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from adapters.fence.folders import SYSTEM, inside, programs
from adapters.fence.port import Confined, Gap, Grant, Level
from adapters.fence.seccomp import filter_program

SCOPED: Final = marshal.dumps({"scoped": True}).hex()
"""Rules that limit no files, only abstract sockets and signals to processes outside."""
_CREATE_RULESET: Final = 444
_ASK_VERSION: Final = 1
_CONNECTING: Final = 4
"""Since this version, connections can be refused."""
SCOPING: Final = 6
"""Since this version, abstract sockets can be made inaccessible."""
_DEVICES: Final = (Path("/proc"), *(Path("/dev") / name for name in ("full", "random", "urandom", "fd", "pts", "ptmx")))
"""Not all of /dev, because disks are files there."""
_WRITABLE: Final = tuple(Path("/dev") / name for name in ("null", "zero", "tty", "shm"))


@dataclass(frozen=True, slots=True)
class Landlock:
    """Granted folders can be written, those of the system and programs read; the process table is fully visible."""

    grant: Grant

    level: Level = "landlock"

    @property
    def gaps(self) -> tuple[Gap, ...]:
        gaps: list[Gap] = ["metadata"]
        if any(inside(path.absolute(), (*SYSTEM, *_absolute(self.grant.granted))) for path in self.grant.hidden):
            gaps.append("hidden_files")
        if self.grant.network == "none":
            gaps.append("udp" if landlock_version() >= _CONNECTING else "network")
        return (*gaps, "sockets", "shared_memory", "processes", "survivors")

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        readable = (*SYSTEM, *_DEVICES, *programs(argv, env, hides=self.grant.hides), *_absolute(self.grant.readable))
        rules = {
            "read": [str(path) for path in readable],
            "write": [str(path) for path in (*_absolute(self.grant.writable), *_WRITABLE)],
            "connect": self.grant.network == "all",
            "scoped": landlock_version() >= SCOPING,
            "calls": filter_program().hex(),
        }
        return Confined(tuple(argv), marshal.dumps(rules).hex())

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        return None


def _absolute(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path.absolute() for path in paths)


@cache
def landlock_version() -> int:
    """Which version of Landlock the kernel offers; 0: none."""
    if not hasattr(os, "uname") or os.uname().sysname != "Linux":
        return 0
    version: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    return max(version, 0)
