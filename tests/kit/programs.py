"""`python -m api` as a process of its own, started from one that has the imports behind it where that is the same."""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).parents[2]
NEW_PYTHON: Final = ("env",)
"""Within this, a program begins with a Python of its own, as it does for users."""
_fresh = False
_OF_PYTHON: Final = ("PYTHON", "LC_", "LANG", "LD_")
"""How the variables begin that count when Python starts, and not later."""


class Forked:
    """A process of the program, with what tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self.pid, self.returncode, self._told = pid, None, told
        self.returncode: int | None

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            with self._told:
                self.returncode = int(self._told.recv(64))
        return self.returncode

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it ended just now
                os.kill(self.pid, number)


Program = subprocess.Popen[bytes] | Forked


@contextlib.contextmanager
def fresh() -> Iterator[None]:
    """Start each program with a Python of its own meanwhile: what is measured then is what users have."""
    global _fresh
    before, _fresh = _fresh, True
    yield
    _fresh = before


def started(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    output: IO[bytes] | int,
    error: IO[bytes] | int | None = None,
    given: IO[bytes] | int = subprocess.DEVNULL,
    within: Sequence[str] = (),
    folder: Path = ROOT,
) -> Program:
    """Start `python -m api WORDS` in a session of its own, with these streams; errors go to the output unless said
    otherwise. `within` is a command that starts it elsewhere, such as in a network namespace."""
    error = output if error is None else error
    if within or _fresh or _settings(env) != _OURS:
        command = [*within, sys.executable, "-m", "api", *words]
        return subprocess.Popen(
            command, cwd=folder, env=dict(env), stdin=given, stdout=output, stderr=error, start_new_session=True
        )
    return _warm().start(words, env, folder, (given, output, error))


def done(
    words: Sequence[str], *, env: Mapping[str, str], folder: Path, given: str = "", seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run `python -m api WORDS` to its end. Raises TimeoutExpired, after it has killed the program."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(given.encode())
        stdin.seek(0)
        program = started(words, env=env, output=stdout, error=stderr, given=stdin, folder=folder)
        try:
            code = program.wait(seconds)
        finally:
            program.send_signal(signal.SIGKILL)
        for stream in (stdout, stderr):
            stream.seek(0)
        return subprocess.CompletedProcess(words, code, stdout.read().decode(), stderr.read().decode())


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_OF_PYTHON)}


_OURS: Final = _settings(os.environ)


class _Warm:
    """The process that forks, and the socket for its orders."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.kit.warm", str(theirs.fileno())]
            self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        atexit.register(self._close)

    def start(
        self, words: Sequence[str], env: Mapping[str, str], folder: Path, streams: Sequence[IO[bytes] | int]
    ) -> Forked:
        order = {"words": list(words), "environment": dict(env), "folder": str(folder)}
        told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a name, not a path
            numbers = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
            numbers = [nothing.fileno() if number == subprocess.DEVNULL else number for number in numbers]
            socket.send_fds(self._control, [json.dumps(order).encode()], [theirs.fileno(), *numbers])
        return Forked(int(told.recv(64)), told)

    def _close(self) -> None:
        self._control.close()
        self._process.wait()


@cache
def _warm() -> _Warm:
    return _Warm()
