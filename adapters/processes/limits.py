"""Limits of a run: those that the system enforces, free disk space, time, and pauses.

The system applies its limits to a program and to each process that it starts (rule 8 of validation).

A small program sets them between fork and exec and then becomes the requested program: none of our code runs in the
forked child, and the limits apply from its first instruction.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

_LAUNCHER: Final = str(Path(__file__).with_name("launch.py"))
_MOST_WORDS: Final = 4_096
_LOOK: Final = 1.0
"""Seconds between two checks while a person decides."""


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


def launched(argv: Sequence[str], *, limits: SystemLimits, env: int, fence: str, report: int) -> list[str]:
    """The command that becomes `argv` under these limits and rules, with the environment that it reads from the file
    `env`; it reports on `report` why it could not."""
    return [sys.executable, "-I", "-S", _LAUNCHER, str(report), limits.spelled(), str(env), fence, *argv]


def packed(env: Mapping[str, str]) -> bytes:
    """The environment in the form that the launcher reads."""
    return b"\0".join(os.fsencode(f"{name}={value}") for name, value in env.items())


def refusal(report: int) -> OSError | ValueError | None:
    """Why the launcher did not become the program; None if it did. Only valid once it has ended or become it."""
    message = b""
    with contextlib.suppress(BlockingIOError):
        message = os.read(report, _MOST_WORDS)
    if not message:
        return None
    words = message.decode(errors="replace")
    return OSError(int(words), os.strerror(int(words))) if words.isdigit() else ValueError(words)


# Free disk space: programs are stopped before they use the last of it, which the log needs.

DISK_SECONDS: Final = 1.0
"""How often the disk is checked."""
_reserve: ContextVar[int] = ContextVar("reserve", default=0)


def keep_free(size: int) -> None:
    """From now on, this task and every task that it starts leave this many bytes free; 0: no limit."""
    _reserve.set(size)


def kept_free() -> int:
    """How many bytes must stay free."""
    return _reserve.get()


def is_full(folder: Path) -> bool:
    """Whether less is free on the disk of the folder."""
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _reserve.get()
    return False


# Time that does not count towards the limits of a run, because a person is asked meanwhile.


class Pauses:
    """The pauses of one run; several may overlap. Belongs to one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open, self._since = 0, 0.0
        self.seconds = self.ended = 0.0
        """The total of all finished pauses, and when the last one ended (time of the loop)."""

    @property
    def lasts(self) -> bool:
        """Whether there is one now."""
        return self._open > 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        if not self._open:
            self._since = self._loop.time()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self.ended = self._loop.time()
                self.seconds += self.ended - self._since


class Stopwatch:
    """Runs from its creation; stops while it is paused."""

    def __init__(self, *, wall: float, idle: float, time: Callable[[], float]) -> None:
        self.wall, self.idle, self._time = wall, idle, time
        self._began = self._latest = self._time()
        self._pauses, self._since = 0, 0.0

    def heard(self) -> None:
        """The agent gave a sign of life."""
        self._latest = self._since if self._pauses else self._time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        if not self._pauses:
            self._since = self._time()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                away = self._time() - self._since
                self._began, self._latest = self._began + away, self._latest + away

    def over(self) -> Literal["timeout", "idle"] | None:
        """Which limit is reached, if any."""
        if self._pauses or self._left() > 0:
            return None
        return "timeout" if self._wall_left() <= 0 else "idle"

    async def watch(self, work: "asyncio.Future[Any]") -> Literal["timeout", "idle"] | None:
        """Wait until the task is done or a limit is reached."""
        while not work.done():
            if (limit := self.over()) is not None:
                return limit
            wait = _LOOK if self._pauses else max(self._left(), 0.001)
            await asyncio.wait({work}, timeout=wait)
        return None

    def _wall_left(self) -> float:
        return self._began + self.wall - self._time()

    def _left(self) -> float:
        return min(self._wall_left(), self._latest + self.idle - self._time())
