"""One service: it is started in its fence, waited for until it is ready, and ended."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from adapters.fence.port import Fence
from adapters.processes.limits import SystemLimits
from adapters.processes.output import Ended
from adapters.processes.process_table import below, process_table
from adapters.processes.program import Child, Finished, regardless, run
from adapters.processes.start import start, why_not
from domain.session.services import Service
from domain.session.validation import DID_NOT_EXIT

_FOREVER: Final = 31_536_000.0
"""Seconds: a service ends with its turn, which has a limit of its own."""
_OUTPUT_BYTES: Final = 262_144
_FIRST_LOOK, _LAST_LOOK = 0.05, 0.5
"""Seconds between two runs of the command that says whether it is ready: at first, and later."""
_GRACE: Final = 5.0
"""Seconds that a service gets to end by itself."""


class ServiceProcess:
    """A started service. Belongs to one event loop."""

    def __init__(self, service: Service, *, cwd: Path, env: Mapping[str, str], fence: Fence, limits: SystemLimits):
        """Start it. Raises OSError or ValueError."""
        self.service, self._cwd, self._env, self._fence, self._limits = service, cwd, env, fence, limits
        self._began = time.monotonic()
        started = start(service.command.argv, cwd=cwd, env=env, stdin=None, limits=limits, fence=fence)
        self.pid: Final = started.popen.pid
        self._child = Child(started, _OUTPUT_BYTES, None, keep_ends=True)
        self._watch: asyncio.Task[Ended] = asyncio.create_task(self._child.watch(_FOREVER, None, cwd))
        self.ready_after: float | None = None
        """Seconds until it was ready."""

    async def wait_until_ready(self) -> bool:
        """True once it can be used, in time; False if it ended before, or is not ready in time."""
        until, pause = self._began + self.service.seconds, _FIRST_LOOK
        while not self._watch.done():
            left = until - time.monotonic()
            if left <= 0:
                return False
            if await self._is_ready(left):
                self.ready_after = time.monotonic() - self._began
                return True
            await asyncio.wait({self._watch}, timeout=min(pause, max(left, 0)))
            pause = min(pause * 1.5, _LAST_LOOK)
        return False

    async def _is_ready(self, seconds: float) -> bool:
        """Finds out whether it can be used now. Without a command that says so, it can as soon as it runs."""
        if self.service.ready is None:
            await asyncio.wait({self._watch}, timeout=min(2 * _FIRST_LOOK, seconds))
            return not self._watch.done()
        question = asyncio.create_task(self._answers_yes(self.service.ready.argv, seconds))
        try:
            await asyncio.wait({question, self._watch}, return_when=asyncio.FIRST_COMPLETED)
            return question.done() and not self._watch.done() and question.result()
        finally:
            question.cancel()
            await asyncio.gather(question, return_exceptions=True)

    async def _answers_yes(self, argv: Sequence[str], seconds: float) -> bool:
        done = await run(
            argv,
            cwd=self._cwd,
            env=self._env,
            wall_seconds=seconds,
            output_bytes=10_000,
            keep_ends=True,
            limits=self._limits,
            fence=self._fence,
        )
        return done.exit_code == 0

    async def end(self) -> Finished:
        """Have it end, first by itself, and return how that went and what it said. Nothing of it is left."""
        ended: Ended = "exit"
        try:
            if not self._watch.done():
                _ask_to_end(self.pid)
                await asyncio.wait({self._watch}, timeout=_GRACE)
        finally:
            self._watch.cancel()
            await regardless(asyncio.ensure_future(self._bury()))
        finished = self._child.finished(ended, _FOREVER, None, _OUTPUT_BYTES)
        refused = self._child.refusal() or _never_began(self._fence, finished)
        self._child.close()
        if refused is None:
            return finished
        detail = why_not(self.service.command.argv, self._cwd, refused)
        return Finished(None, "", "", truncated=False, seconds=finished.seconds, ended="not_started", detail=detail)

    async def _bury(self) -> None:
        await asyncio.gather(self._watch, return_exceptions=True)
        await self._child.end(0.0)
        await self._child.output.drain()

    @property
    def gone(self) -> bool:
        """Returns whether it has ended by itself."""
        return self._watch.done()

    @property
    def seconds(self) -> float:
        """Returns how long it has been running."""
        return time.monotonic() - self._began


def exit_code_of(finished: Finished, *, gone: bool) -> int:
    """The exit code for the record: a service that was ended by us has none."""
    return DID_NOT_EXIT if not gone or finished.exit_code is None else finished.exit_code


def _never_began(fence: Fence, finished: Finished) -> ValueError | None:
    reason = fence.refusal(finished.exit_code, finished.stderr)
    return None if reason is None else ValueError(reason)


def _ask_to_end(pid: int) -> None:
    """Ask the program itself, and not the fence around it, which would end at once and take it along."""
    table = process_table()
    named = {each: _name(each) for each in {pid} | below({pid}, table)}
    wrapped = {each for each, name in named.items() if name == "bwrap"}
    programs = [each for each in named if each not in wrapped and (each == pid or table[each].parent in wrapped)]
    for each in programs:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGTERM)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
