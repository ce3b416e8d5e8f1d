"""The one way to run a program: no shell, a clean environment, a session of its own, limits, and no survivors.

Nothing here claims to be a sandbox: a program may do whatever our user may. What is promised is that it ends, that its
output is bounded, and that whatever it has started ends with it (promise P19).
"""

import asyncio
import codecs
import contextlib
import ctypes
import functools
import io
import os
import resource
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, Literal, NamedTuple

Ended = Literal["exit", "timeout", "idle", "output", "not_started"]
"""Why it ended: by itself; after `wall_seconds`; silent for `idle_seconds`; too much output; it never began."""

_TAG: Final = "HANSARD_PROCESS"
"""Names the run in the environment of everything it starts, so that a daemon which left the session is found again."""

_CERTIFICATES: Final = {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
_PASSED_ON: Final = _CERTIFICATES | {"PATH", "LANG", "LANGUAGE", "TERM", "TZ"}
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_CHUNK_BYTES: Final = 65_536
_DRAIN_SECONDS: Final = 0.5
_SWEEP_SECONDS: Final = 2.0
_SWEEP_PAUSE: Final = 0.02
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36

_spawning = threading.Lock()
_leaders: set[int] = set()


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


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None = None,
    wall_seconds: float,
    idle_seconds: float | None = None,
    output_bytes: int = 1_048_576,
    grace_seconds: float = 2.0,
    on_output: Callable[[str], None] | None = None,
) -> Finished:
    """Run `argv` in `cwd` with exactly `env`; faults are values. `output_bytes` counts both streams together.

    Whatever ends it early is TERM to its group, `grace_seconds`, KILL. On return, and before a cancellation gets any
    further, nothing that it started is alive. An exception of `on_output` stops the run and is raised.
    """
    _settle()
    try:
        popen = _start(argv, cwd=cwd, env=env, stdin=stdin, tag=(tag := secrets.token_hex(16)))
    except (OSError, ValueError) as error:
        detail = _why_not(argv, cwd, error)
        return Finished(None, "", "", truncated=False, seconds=0.0, ended="not_started", detail=detail)
    child = _Child(popen, tag, output_bytes, on_output)
    try:
        try:
            ended = await child.watch(wall_seconds, idle_seconds)
        finally:
            await child.end(grace_seconds)
        await child.output.drain()
        return child.finished(ended, wall_seconds, idle_seconds, output_bytes)
    finally:
        child.close()


def clean_environment(extra: Mapping[str, str] = _NOTHING, *, home: Path | None = None) -> dict[str, str]:
    """What a child may know of our environment (promise S13): an allow-list, then `HOME`, then `extra`."""
    env = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    # A relative entry would find programs in the folder that an agent writes.
    env["PATH"] = os.pathsep.join(entry for entry in env.get("PATH", os.defpath).split(os.pathsep) if entry[:1] == "/")
    if home is not None:
        env["HOME"] = str(home)
    return env | dict(extra)


def resolve_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with `env:NAME` and `file:/path` replaced by what they name. ValueError names the setting, no value."""
    return {name: _resolve(name, value) for name, value in settings.items()}


def _resolve(name: str, value: str) -> str:
    kind, _, where = value.partition(":")
    if kind == "env":
        found = os.environ.get(where, "")
    elif kind == "file":
        try:
            found = Path(where).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError):
            raise ValueError(f"{name}: the file {where!r} cannot be read as text.") from None
    else:
        return value
    if not found:
        raise ValueError(f"{name}: {'environment variable' if kind == 'env' else 'file'} {where!r} is unset or empty.")
    return found


@functools.cache
def _settle() -> None:
    """Once in our life: no core dumps, orphans come to us, and children cannot read our own environment (F9, F10)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _start(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes | None, tag: str
) -> subprocess.Popen[bytes]:
    if not argv:
        raise ValueError("no command")
    with contextlib.ExitStack() as stack:
        source: IO[bytes] | int = subprocess.DEVNULL
        if stdin is not None:
            # A file, not a pipe: nobody has to keep writing, and a child that never reads blocks nothing.
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
        stack.enter_context(_spawning)
        popen = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**env, _TAG: tag},
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            umask=0o022,
        )
        _leaders.add(popen.pid)
    return popen


def _why_not(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> str:
    if not argv:
        return "There is no command to run."
    if not cwd.is_dir():
        return f"{argv[0]!r} was not started: the folder {str(cwd)!r} does not exist."
    reason = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return f"{argv[0]!r} was not started: {reason}."


class _Child:
    """One program from its start to its last descendant's end."""

    def __init__(
        self, popen: subprocess.Popen[bytes], tag: str, cap: int, on_output: Callable[[str], None] | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._popen, self._tag = popen, tag
        self._began = self._loop.time()
        self._gone: asyncio.Future[Ended] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._pidfd: int | None = None
        self.output = _Output(popen, cap, on_output)
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
            self._timer = self._loop.call_later(_SWEEP_PAUSE, self._poll)
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
        _sweep(self._popen.pid, self._tag)
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel holds it; it dies when let go
            self._popen.wait(timeout=_SWEEP_SECONDS)
            _leaders.discard(self._popen.pid)


class _Output:
    """Both streams, decoded as they come, up to a common cap; past it they are still emptied, but not kept."""

    def __init__(self, popen: subprocess.Popen[bytes], cap: int, on_output: Callable[[str], None] | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._left, self._on_output = cap, on_output
        self.over: asyncio.Future[Ended] = self._loop.create_future()
        """Done when the output itself ends the run: too much of it, or `on_output` failed."""
        self.latest = self._loop.time()
        pipes = [pipe for pipe in (popen.stdout, popen.stderr) if pipe is not None]
        self._streams = tuple(_Stream(pipe, self._loop.create_future()) for pipe in pipes)
        for stream in self._streams:
            os.set_blocking(stream.pipe.fileno(), False)
            self._loop.add_reader(stream.pipe.fileno(), self._read, stream)

    def text(self, number: int) -> str:
        return self._streams[number].text.getvalue()

    async def drain(self) -> None:
        """What is still in the pipes. The wait is bounded: a survivor that holds one open must not hold us."""
        await asyncio.wait({stream.ended for stream in self._streams}, timeout=_DRAIN_SECONDS)

    def close(self) -> None:
        for stream in self._streams:
            self._stop(stream)
        if not self.over.cancel():
            self.over.exception()  # seen: whoever is cancelled does not ask for it any more

    def _read(self, stream: "_Stream") -> None:
        try:
            chunk = os.read(stream.pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        self.latest = self._loop.time()
        if not chunk:
            self._stop(stream)
        kept = chunk[: self._left]
        self._left -= len(kept)
        try:
            self._keep(stream, kept, final=not chunk)
        except Exception as error:
            if not self.over.done():
                self.over.set_exception(error)
        if len(kept) < len(chunk) and not self.over.done():
            self.over.set_result("output")

    def _keep(self, stream: "_Stream", data: bytes, *, final: bool) -> None:
        text = stream.decoder.decode(data, final and not self.over.done())
        stream.text.write(text)
        if text and self._on_output is not None:
            self._on_output(text)

    def _stop(self, stream: "_Stream") -> None:
        if stream.ended.done():
            return
        stream.ended.set_result(None)
        self._loop.remove_reader(stream.pipe.fileno())
        stream.pipe.close()


class _Stream:
    def __init__(self, pipe: IO[bytes], ended: asyncio.Future[None]) -> None:
        self.pipe, self.ended = pipe, ended
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.text = io.StringIO()


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


class _Process(NamedTuple):
    """A line of the process table. `started` is in clock ticks since boot."""

    pid: int
    state: str
    parent: int
    session: int
    started: int


def _sweep(leader: int, tag: str) -> None:
    """Kill what is left of a run, in or out of its session, and reap what became ours by being orphaned (Linux)."""
    if sys.platform != "linux":
        return
    deadline = time.monotonic() + _SWEEP_SECONDS
    began, killed, doubtful = 0, set[int](), set[int]()
    while time.monotonic() < deadline:
        with _spawning:  # so that every leader in the table is also among the leaders
            table = _process_table()
        began = began or (table[leader].started if leader in table else 0)
        alive = {pid for pid in _family(table, leader, tag) if table[pid].state not in "ZX"}
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # gone already, or no longer ours
                os.kill(pid, signal.SIGKILL)
        killed |= alive
        orphans = [process for process in table.values() if _is_dead_orphan(process)]
        doubtful = _reap(orphans, killed | doubtful, began)
        if not alive and not doubtful:
            return
        time.sleep(_SWEEP_PAUSE)


def _is_dead_orphan(process: _Process) -> bool:
    """A zombie child of ours from a foreign session. Our other children (asyncio's, git's) stay in our session."""
    mine = process.parent == os.getpid() and process.session != os.getsid(0)
    return mine and process.state == "Z" and process.pid not in _leaders


def _reap(orphans: Iterable[_Process], certain: set[int], began: int) -> set[int]:
    """Reap what was surely adopted; what might be the child of another library in a session of its own comes back
    and is reaped when it is still there the next time: nobody waits for it."""
    doubtful = set[int]()
    for orphan in orphans:
        if orphan.pid in certain or orphan.pid != orphan.session:
            with contextlib.suppress(ChildProcessError):  # another sweep was faster
                os.waitpid(orphan.pid, os.WNOHANG)
        elif began and orphan.started >= began:
            doubtful.add(orphan.pid)
    return doubtful


def _family(table: Mapping[int, _Process], leader: int, tag: str) -> set[int]:
    """Who belongs to the run: its session, whoever carries its tag, and all their descendants. Since orphans come to
    us, only our own descendants can be among them."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for process in table.values():
        children[process.parent].append(process.pid)
    ours = _below({os.getpid()}, children)
    roots = {pid for pid in ours if table[pid].session == leader or _is_tagged(pid, tag)}
    return roots | _below(roots, children)


def _below(roots: Iterable[int], children: Mapping[int, list[int]]) -> set[int]:
    found, todo = set[int](), list(roots)
    while todo:
        new = [pid for pid in children.get(todo.pop(), ()) if pid not in found]
        found.update(new)
        todo.extend(new)
    return found


def _is_tagged(pid: int, tag: str) -> bool:
    try:
        return f"{_TAG}={tag}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or not ours to look into
        return False


def _process_table() -> dict[int, _Process]:
    table = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it ended while we looked
            continue
        pid = int(folder.name)
        table[pid] = _Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))
    return table
