"""The only way to run a program: no shell, a clean environment, a separate session, limits, and no survivors.

What a program may access is up to the fence (`adapters/fence`); without one it may do whatever our account may. This
package guarantees that the program ends, that its output is bounded, and that everything it has started ends with it.
If we are killed ourselves, `end_orphans` of our next process finds it.

Of the limits that the system could set (promise S13), every run has one, CORE=0. The others are optional
(`SystemLimits`): AS kills programs that only reserve addresses (Node, Go, Java, sanitizers), NPROC counts every process
of our account instead of those of the run, and the wall clock is usually better than CPU. Instead, there is a hint for
runs that use up the memory: the kernel kills them before it kills us.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from adapters.fence.port import UNFENCED, Fence
from adapters.processes.disk import DISK_SECONDS, is_full, kept_free
from adapters.processes.input import Input
from adapters.processes.limits import NO_LIMITS, SystemLimits, refusal
from adapters.processes.output import Ended, OnLine, Output
from adapters.processes.pauses import Pauses
from adapters.processes.start import Started, start, why_not
from adapters.processes.sweep import PAUSE, SECONDS, leaders, settle, sweep
from domain.values.sentences import Sentence

_LOOK_SECONDS: Final = 0.5
"""How often the end of a pause is checked."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run. `exit_code` is only set if it ended by itself (negative: by that signal): a stopped program
    that still reports 0 has proved nothing. `detail` is a sentence if it did not end by itself. `left_out` counts the
    bytes that are missing from the middle of the output if only its ends were kept."""

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
        self._popen, self._tag, self._report, self._door = started
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
            await regardless(self._loop.run_in_executor(None, self._bury))

    def refusal(self) -> OSError | ValueError | None:
        """Tells why it never began, if so; call it after its end."""
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
        if self._door is not None:
            self._door.close()
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


async def regardless(work: asyncio.Future[None]) -> None:
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


# -- running one -------------------------------------------------------------------------------------------------------


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | Input | None = None,
    wall_seconds: float,
    idle_seconds: float | None = None,
    output_bytes: int = 1_048_576,
    keep_ends: bool = False,
    limits: SystemLimits = NO_LIMITS,
    fence: Fence = UNFENCED,
    grace_seconds: float = 2.0,
    on_output: Callable[[str], None] | None = None,
    on_line: OnLine | None = None,
    on_start: Callable[[Callable[[], str]], None] | None = None,
    pauses: Pauses | None = None,
) -> Finished:
    """Run `argv` in `cwd` with exactly `env` and our mark; failures are values. `output_bytes` counts both streams.
    More output ends the run or, with `keep_ends`, is cut from the middle of each stream while the run continues.

    To end a run early, its group gets TERM, then `grace_seconds`, then KILL. On return, and before a cancellation
    propagates, nothing that it started is alive. `on_output` gets both streams in pieces, `on_line` whole lines, each
    with the stream (1 stdout, 2 stderr); if either raises, the run is stopped and the exception is raised. `on_start`
    gets a function that returns what it has written to stdout so far, from any thread. With an `Input`, its standard
    input can be written to while it runs. During one of the `pauses`, no time limit counts.
    """
    settle()
    try:
        started = start(argv, cwd=cwd, env=env, stdin=stdin, limits=limits, fence=fence)
    except (OSError, ValueError) as error:
        return _not_started(argv, cwd, error)
    child = Child(started, output_bytes, on_output, on_line, keep_ends=keep_ends)
    if on_start is not None:
        on_start(partial(child.output.text, 0))
    try:
        if isinstance(stdin, Input) and started.popen.stdin is not None:
            stdin.attach(started.popen.stdin)
        try:
            ended = await child.watch(wall_seconds, idle_seconds, cwd, pauses)
        finally:
            await child.end(grace_seconds)
        await child.output.drain()
        if (refused := child.refusal()) is not None:
            return _not_started(argv, cwd, refused)
        finished = child.finished(ended, wall_seconds, idle_seconds, output_bytes)
        if (reason := fence.refusal(finished.exit_code, finished.stderr)) is not None:
            return _not_started(argv, cwd, ValueError(reason))
        return finished
    finally:
        child.close()
        if isinstance(stdin, Input):
            stdin.detach()


def _not_started(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> Finished:
    detail = why_not(argv, cwd, error)
    return Finished(None, "", "", truncated=False, seconds=0.0, ended="not_started", detail=detail)
