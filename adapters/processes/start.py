"""The start of a program."""

import contextlib
import os
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.thread import BrokenThreadPool
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypeVar

from adapters.fence.landlock import SCOPED
from adapters.fence.port import DOOR, FEED, UNFENCED, Confined, Fence, packed
from adapters.processes.environment import marked
from adapters.processes.input import Input
from adapters.processes.launch import restrict
from adapters.processes.limits import NO_LIMITS, SystemLimits, launched
from adapters.processes.sweep import leaders, spawning
from domain.values.sentences import Sentence, sentence_of

if TYPE_CHECKING:
    from adapters.fence.network.gateway import Door, Gate

P = TypeVar("P")

_SOONER: Final = 500
"""On the kernel's scale from -1000 (never) to 1000 (first)."""


class Started(NamedTuple):
    """A program, the tag that it and its descendants carry, with limits the pipe that reports why it could not start,
    and with a list of hosts the door to its proxy."""

    popen: subprocess.Popen[bytes]
    tag: str
    report: int | None
    door: "Door | Gate | None" = None


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | Input | None,
    limits: SystemLimits,
    fence: Fence = UNFENCED,
) -> Started:
    """Raises OSError or ValueError if it cannot be started; with limits, some failures are only known after its end."""
    if not argv:
        raise ValueError("no command")
    tag = secrets.token_hex(16)
    with contextlib.ExitStack() as closing, contextlib.ExitStack() as stack:
        source: IO[bytes] | int = subprocess.DEVNULL
        if isinstance(stdin, Input):
            source = subprocess.PIPE
        elif stdin is not None:
            # A file instead of a pipe: no writer is needed, and a child that never reads blocks nothing.
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
        inner, outer = marked(env, tag=tag), marked({}, tag=tag)
        confined = fence.confine(argv, cwd=cwd, env=inner)
        feeds = [_fed(stack, content) for content in confined.feeds]
        numbers = map(str, feeds)
        command, report = [next(numbers) if word == FEED else word for word in confined.argv], None
        door, gate = _ways_out(confined)
        if gate is not None:
            closing.callback(gate.close)
        if door is not None:
            closing.callback(door.close)
            feeds = [*feeds, door.inner.fileno()]
            command = [str(door.inner.fileno()) if word == DOOR else word for word in command]
        begins_with = outer if confined.carries else inner
        by_thread = confined.rules == SCOPED and limits == NO_LIMITS and can_scope()
        quickly = confined.joins and confined.carries and not confined.rules and limits == NO_LIMITS
        entering = _entering(command, confined) if quickly else None
        if entering is not None:
            command, feeds = entering, [*feeds, *confined.joins]
        elif limits != NO_LIMITS or confined.joins or (confined.rules and not by_thread):
            # The launcher begins outside the fence, too: what is meant for the program comes to it in a file.
            report, end = _pipe(stack)
            variables = _fed(stack, packed(begins_with))
            rules, joins = confined.rules, confined.joins
            command = launched(command, limits=limits, env=variables, fence=rules, report=end, joins=joins)
            feeds, begins_with = [*feeds, variables, end, *joins], outer
        stack.enter_context(spawning)

        def begin() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                cwd=cwd,
                env=begins_with,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                umask=0o022,
                pass_fds=feeds,
            )

        popen = scoped(begin) if by_thread else begin()
        leaders.add(popen.pid)
        if report is not None:
            report = os.dup(report)  # outlives the stack
        closing.pop_all()  # it has begun: the door stays
    if door is not None:
        door.inner.close()
    _offer_first(popen.pid)
    return Started(popen, tag, report, door or gate)


def _entering(command: Sequence[str], confined: Confined) -> list[str] | None:
    """The command in the network that it joins, if the system's own tools can enter that."""
    from adapters.fence.network.entry import entry_command  # most programs join none

    return entry_command(command, confined.joins)


def _ways_out(confined: Confined) -> "tuple[Door | None, Gate | None]":
    """The way to the proxy: through a door that the program's starter uses, or in a network that was made for it."""
    if confined.allowed is None:
        return None, None
    from adapters.fence.network.gateway import Door, Gate  # most programs have no list of hosts

    if confined.own is not None:
        return None, Gate(confined.allowed, confined.own)
    return Door(confined.allowed), None


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    """Both ends, closed with the stack."""
    report, end = os.pipe()
    stack.callback(os.close, report)
    stack.callback(os.close, end)
    os.set_blocking(report, False)
    return report, end


def _fed(stack: contextlib.ExitStack, content: bytes) -> int:
    """The number of an open file without a name, in memory where the system can, that reads as this content."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = stack.enter_context(os.fdopen(os.memfd_create("hansard"), "w+b"))
    else:
        file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    file.write(content)
    file.seek(0)
    return file.fileno()


def _offer_first(pid: int) -> None:
    """If memory runs out, the kernel should kill the program, and what it starts from now on, before it kills us."""
    with contextlib.suppress(OSError):  # not Linux, already ended, or not permitted
        ours = int(Path("/proc/self/oom_score_adj").read_text())
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(min(ours + _SOONER, 1000)))


def why_not(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> Sentence:
    """The fault of the start, as a sentence."""
    if not argv:
        return Sentence("no_command_to_run")
    if not cwd.is_dir():
        return Sentence("not_started_in_folder", name=argv[0], path=cwd)
    reason = error.strerror or type(error).__name__ if isinstance(error, OSError) else sentence_of(error)
    return Sentence("program_not_started", name=argv[0], detail=reason)


def can_scope() -> bool:
    """True if Landlock works for a thread on this machine."""
    return _thread() is not None


def scoped(start: Callable[[], P]) -> P:
    """Call `start` in the restricted thread. Returns its result or raises what it raises."""
    thread = _thread()
    assert thread is not None, "`can_scope` says whether there is one"
    return thread.submit(start).result()


@cache
def _thread() -> ThreadPoolExecutor | None:
    thread = ThreadPoolExecutor(1, thread_name_prefix="scoped", initializer=restrict, initargs=(SCOPED,))
    try:
        thread.submit(bool).result()
    except BrokenThreadPool:
        return None
    return thread
