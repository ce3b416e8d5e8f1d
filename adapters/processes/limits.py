"""Limits that the system holds a program to, it and each process that it starts (rule 8 of the validation's).

They are set between fork and exec by a small program that then becomes the one that was asked for: nothing of ours runs
in the forked child, and the limits hold from its first instruction.
"""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LAUNCHER: Final = str(Path(__file__).with_name("launch.py"))
_MOST_WORDS: Final = 4_096


@dataclass(frozen=True, slots=True)
class SystemLimits:
    """0: none. Of each process: its address space, its time on a processor, the size of a file that it writes.
    `processes` counts all of our user's, and does not hold root."""

    memory_bytes: int = 0
    cpu_seconds: int = 0
    processes: int = 0
    file_bytes: int = 0

    def spelled(self) -> str:
        """For the launcher, the address space last: it has to live with it itself."""
        named = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_AS": self.memory_bytes,
        }
        return ",".join(f"{name}={value}" for name, value in named.items() if value)


NO_LIMITS: Final = SystemLimits()


def launched(
    argv: Sequence[str], env: Mapping[str, str], *, limits: SystemLimits, fence: str, report: int
) -> list[str]:
    """The command that becomes `argv` under these limits and rules; on `report` it says why it could not."""
    # In the C locale Python sets LC_CTYPE for itself; what it becomes is to have the environment that it was given.
    locale = f"LC_CTYPE={env['LC_CTYPE']}" if "LC_CTYPE" in env else ""
    return [sys.executable, "-I", "-S", _LAUNCHER, str(report), limits.spelled(), locale, fence, *argv]


def refusal(report: int) -> OSError | ValueError | None:
    """Why the launcher did not become the program; None when it did. Only once it has ended, or become it."""
    said = b""
    with contextlib.suppress(BlockingIOError):
        said = os.read(report, _MOST_WORDS)
    if not said:
        return None
    words = said.decode(errors="replace")
    return OSError(int(words), os.strerror(int(words))) if words.isdigit() else ValueError(words)
