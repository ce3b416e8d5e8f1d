"""A program, from its start until its last descendant has ended."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.processes.limits import DISK_SECONDS, Pauses, is_full, kept_free, refusal
from adapters.processes.output import Ended, OnLine, Output
from adapters.processes.starting import Started
from adapters.processes.sweep import PAUSE, SECONDS, leaders, sweep
from domain.values.sentences import Sentence

__all__ = ["Child", "Ended", "Finished"]


_LOOK_SECONDS: Final = 0.5
"""How often the end of a pause is checked."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run went. `exit_code` is only set if it ended by itself (negative: by that signal): a stopped program that
    still reports 0 has proved nothing. `detail` is a sentence if it did not end by itself. `left_out` counts the bytes
    that are missing from the middle of the output if only its ends were kept."""

    exit_code: int | None
    stdout: str
    stderr: str
    truncated: bool
    seconds: float
    ended: Ended
    detail: str = ""
    left_out: int = 0


class Child:
    """A started program, and whatever it starts."""

    def __init__(
        self,
        started: Started,
        cap: int,
        on_output: Callable[[str], None] | None,
        on_line: OnLine | None = None,
        *,
        keep_ends: bool = False,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._popen, self._tag, self._report = started
        self._began = self._loop.time()
        self._gone: asyncio.Future[Ended] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd: int | None = None
        self.output = Output(started.popen, cap, on_output, on_line, keep_ends=keep_ends)
        self._notice_exit()

    async def watch(
        self, wall_seconds: float, idle_seconds: float | None, folder: Path, pauses: Pauses | None = None
    ) -> Ended:
        """Wait until the leader exits or a limit is reached. The leader is not reaped yet, so that its id stays
        ours."""
        over, pauses = self.output.over, pauses or Pauses()
        while True:
            if over.done():
                return over.result()
            if self._gone.done():
                return self._gone.result()
            deadline = self._began + wall_seconds + pauses.seconds
            silence = deadline if idle_seconds is None else max(self.output.latest, pauses.ended) + idle_seconds
            remaining = _LOOK_SECONDS if pauses.lasts else min(deadline, silence) - self._loop.time()
            if remaining <= 0:
                return "timeout" if deadline <= silence else "idle"
            if kept_free():
                if is_full(folder):
                    return "disk"
                remaining = min(remaining, DISK_SECONDS)
            await asyncio.wait({self._gone, over}, timeout=remaining, return_when=asyncio.FIRST_COMPLETED)

    async def end(self, grace_seconds: float) -> None:
        try:
            if not self._gone.done():
                self._signal(signal.SIGTERM)
                await asyncio.wait({self._gone}, timeout=grace_seconds)
        finally:
            self._signal(signal.SIGKILL)
            await _regardless(self._loop.run_in_executor(None, self._bury))

    def refusal(self) -> OSError | ValueError | None:
        """Why it never began, if so; call it after its end."""
        return None if self._report is None else refusal(self._report)

    def finished(self, ended: Ended, wall_seconds: float, idle_seconds: float | None, cap: int) -> Finished:
        if self.output.over.done():
            ended = self.output.over.result()
        details: dict[Ended, str] = {
            "timeout": Sentence("stopped_after", number=wall_seconds),
            "idle": Sentence("stopped_in_silence", number=idle_seconds or 0),
            "output": Sentence("stopped_at_output", number=cap),
            "disk": Sentence("stopped_at_disk", number=kept_free()),
        }
        return Finished(
            exit_code=self._popen.returncode if ended == "exit" else None,
            stdout=self.output.text(0),
            stderr=self.output.text(1),
            truncated=ended == "output" or self.output.left_out > 0,
            seconds=self._loop.time() - self._began,
            ended=ended,
            detail=details.get(ended, ""),
            left_out=self.output.left_out,
        )

    def close(self) -> None:
        self.output.close()
        if self._report is not None:
            os.close(self._report)
        if self._timer is not None:
            self._timer.cancel()
        self._forget_pidfd()

    def _notice_exit(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._popen.pid)
        except (AttributeError, OSError):  # not Linux, or a kernel that does not allow it
            self._poll()
        else:
            self._loop.add_reader(self._pidfd, self._note_exit)

    def _poll(self) -> None:
        if self._popen.poll() is None:
            self._timer = self._loop.call_later(PAUSE, self._poll)
        else:
            self._note_exit()

    def _note_exit(self) -> None:
        self._forget_pidfd()  # it would report that again and again
        self._gone.set_result("exit")

    def _forget_pidfd(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # no process is left in the group
            os.killpg(self._popen.pid, number)

    def _bury(self) -> None:
        sweep(self._popen.pid, self._tag)
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel holds it; it dies when it is released
            self._popen.wait(timeout=SECONDS)
            leaders.discard(self._popen.pid)


async def _regardless(work: asyncio.Future[None]) -> None:
    """Wait for the work, however often we are cancelled meanwhile; then propagate the cancellation."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
    work.result()
    if cancelled is not None:
        raise cancelled
