"""Limits of a run: those that the system enforces, free disk space, time, and pauses.

The system applies its limits to a program and to each process that it starts (rule 8 of validation).

A small program sets them between fork and exec and then becomes the requested program: none of our code runs in the
forked child, and the limits apply from its first instruction.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LAUNCHER: Final = str(Path(__file__).with_name("launch.py"))
_MOST_WORDS: Final = 4_096


@dataclass(frozen=True, slots=True)
class SystemLimits:
    """0: none. Per process: address space, CPU time, the size of a file that it writes. `processes` counts all
    processes of our account, and does not apply to root."""

    memory_bytes: int = 0
    cpu_seconds: int = 0
    processes: int = 0
    file_bytes: int = 0

    def spelled(self) -> str:
        """For the launcher; the address space comes last, because the launcher must still run with it."""
        named = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_AS": self.memory_bytes,
        }
        return ",".join(f"{name}={value}" for name, value in named.items() if value)


NO_LIMITS: Final = SystemLimits()


def launched(
    argv: Sequence[str], *, limits: SystemLimits, env: int, fence: str, report: int, joins: Sequence[int] = ()
) -> list[str]:
    """The command that becomes `argv` under these limits and rules, with the environment that it reads from the file
    `env`, in the network of the open files `joins`; it reports on `report` why it could not."""
    network = ",".join(map(str, joins))
    return [sys.executable, "-I", "-S", _LAUNCHER, str(report), limits.spelled(), str(env), fence, network, *argv]


def refusal(report: int) -> OSError | ValueError | None:
    """Tells why the launcher did not become the program; None if it did. Only valid once it has ended or become it."""
    message = b""
    with contextlib.suppress(BlockingIOError):
        message = os.read(report, _MOST_WORDS)
    if not message:
        return None
    words = message.decode(errors="replace")
    return OSError(int(words), os.strerror(int(words))) if words.isdigit() else ValueError(words)
