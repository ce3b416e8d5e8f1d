"""One program from its start to its last descendant's end."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from adapters.processes.environment import marked
from adapters.processes.output import Ended, Output
from adapters.processes.sweep import PAUSE, SECONDS, leaders, spawning, sweep

__all__ = ["Child", "Ended", "Finished", "start", "why_not"]

_SOONER: Final = 500
"""On the kernel's scale from -1000 (never) to 1000 (first)."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run went. `exit_code` is only set when it ended by itself (negative: by that signal): a program that was
    stopped and still says 0 has proved nothing. `detail` is a sentence when it did not end by itself."""

    exit_code: int | None
    stdout: str
    stderr: str
    truncated: bool
    seconds: float
    ended: Ended
    detail: str = ""


def start(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes | None, tag: str
) -> subprocess.Popen[bytes]:
    """Raises OSError or ValueError where it cannot be."""
    if not argv:
        raise ValueError("no command")
    with contextlib.ExitStack() as stack:
        source: IO[bytes] | int = subprocess.DEVNULL
        if stdin is not None:
            # A file, not a pipe: nobody has to keep writing, and a child that never reads blocks nothing.
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
        stack.enter_context(spawning)
        popen = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=marked(env, tag=tag),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            umask=0o022,
        )
        leaders.add(popen.pid)
    _offer_first(popen.pid)
    return popen


def _offer_first(pid: int) -> None:
    """When memory runs out, the kernel is to take the program, and what it starts from now on, before it takes us."""
    with contextlib.suppress(OSError):  # not Linux, over already, or not granted
        ours = int(Path("/proc/self/oom_score_adj").read_text())
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(min(ours + _SOONER, 1000)))


def why_not(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> str:
    """What went wrong at the start, in a sentence."""
    if not argv:
        return "There is no command to run."
    if not cwd.is_dir():
        return f"{argv[0]!r} was not started: the folder {str(cwd)!r} does not exist."
    reason = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return f"{argv[0]!r} was not started: {reason}."


class Child:
    """A program that was started, and whatever it starts."""

    def __init__(
        self, popen: subprocess.Popen[bytes], tag: str, cap: int, on_output: Callable[[str], None] | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._popen, self._tag = popen, tag
        self._began = self._loop.time()
        self._gone: asyncio.Future[Ended] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd: int | None = None
        self.output = Output(popen, cap, on_output)
        self._notice_exit()

    async def watch(self, wall_seconds: float, idle_seconds: float | None) -> Ended:
        """Until the leader exits or a limit is reached. The leader stays unreaped, so that its id stays ours."""
        deadline, over = self._began + wall_seconds, self.output.over
        while True:
            if over.done():
                return over.result()
            if self._gone.done():
                return self._gone.result()
            silence = deadline if idle_seconds is None else self.output.latest + idle_seconds
            remaining = min(deadline, silence) - self._loop.time()
            if remaining <= 0:
                return "timeout" if deadline <= silence else "idle"
            await asyncio.wait({self._gone, over}, timeout=remaining, return_when=asyncio.FIRST_COMPLETED)

    async def end(self, grace_seconds: float) -> None:
        try:
            if not self._gone.done():
                self._signal(signal.SIGTERM)
                await asyncio.wait({self._gone}, timeout=grace_seconds)
        finally:
            self._signal(signal.SIGKILL)
            await _regardless(self._loop.run_in_executor(None, self._bury))

    def finished(self, ended: Ended, wall_seconds: float, idle_seconds: float | None, cap: int) -> Finished:
        if self.output.over.done():
            ended = self.output.over.result()
        details: dict[Ended, str] = {
            "timeout": f"Stopped after {wall_seconds:g} s.",
            "idle": f"Stopped after {idle_seconds or 0:g} s without output.",
            "output": f"Stopped after {cap} bytes of output.",
        }
        return Finished(
            exit_code=self._popen.returncode if ended == "exit" else None,
            stdout=self.output.text(0),
            stderr=self.output.text(1),
            truncated=ended == "output",
            seconds=self._loop.time() - self._began,
            ended=ended,
            detail=details.get(ended, ""),
        )

    def close(self) -> None:
        self.output.close()
        if self._timer is not None:
            self._timer.cancel()
        self._forget_pidfd()

    def _notice_exit(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._popen.pid)
        except (AttributeError, OSError):  # not Linux, or a kernel that does not let us
            self._poll()
        else:
            self._loop.add_reader(self._pidfd, self._note_exit)

    def _poll(self) -> None:
        if self._popen.poll() is None:
            self._timer = self._loop.call_later(PAUSE, self._poll)
        else:
            self._note_exit()

    def _note_exit(self) -> None:
        self._forget_pidfd()  # it would go on saying so
        self._gone.set_result("exit")

    def _forget_pidfd(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in the group
            os.killpg(self._popen.pid, number)

    def _bury(self) -> None:
        sweep(self._popen.pid, self._tag)
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel holds it; it dies when let go
            self._popen.wait(timeout=SECONDS)
            leaders.discard(self._popen.pid)


async def _regardless(work: asyncio.Future[None]) -> None:
    """Wait for the work, however often we are cancelled meanwhile; then let the cancellation go on."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
    work.result()
    if cancelled is not None:
        raise cancelled
