"""Git in a person's checkout, as they would run it at their terminal."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from adapters.workspace.git import WorkspaceError, in_theirs
from domain.values.sentences import Sentence

_QUIET: Final = {"LC_ALL": "C.UTF-8", "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0"}
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE: Final = 2.0
"""Seconds that git and its hooks have to end by themselves."""


class Interrupted(BaseException):
    """A signal arrived while git was at work; git and its hooks have ended."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def pass_on(self) -> NoReturn:
        """End as the signal asks."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt from self
        raise SystemExit(128 + self.number) from self


@dataclass(frozen=True, slots=True)
class PersonsGit:
    """Git with the person's settings, filters and hooks. A signal ends it together with its hooks: `Interrupted`."""

    top: Path

    def __call__(
        self, *words: str, data: bytes = b"", codes: Collection[int] = (0,), env: Mapping[str, str] | None = None
    ) -> bytes:
        tag = uuid.uuid4().hex
        whole = {**os.environ, **_QUIET, **(env or {}), _TAG: tag}
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            source.write(data)
            source.seek(0)
            with _heard():
                # files instead of pipes: what a hook leaves running would keep a pipe open
                process = subprocess.Popen(
                    ["git", "-c", "core.quotePath=false", *words],
                    cwd=self.top,
                    env=whole,
                    stdin=source,
                    stdout=out,
                    stderr=err,
                )
                try:
                    process.wait()
                except BaseException:
                    _end(process, tag)
                    raise
            out.seek(0)
            err.seek(0)
            output, complaint = out.read(), err.read()
        if process.returncode < 0 and -process.returncode in _SIGNALS:
            _end(process, tag)
            raise Interrupted(-process.returncode)
        if process.returncode not in codes:
            raise GitRefused(_command(words), (complaint or output).decode(errors="replace"))
        return output


def _command(words: Sequence[str]) -> str:
    """The first word after the settings."""
    return next(word for at, word in enumerate(words) if "-c" not in words[max(0, at - 1) : at + 1])


class GitRefused(WorkspaceError):
    """Git at the person's terminal ended with an error; `lines` are its own words, or those of a hook, without git's
    last one of a stopped merge, in any language: what is undone cannot be completed by a commit."""

    def __init__(self, command: str, words: str) -> None:
        super().__init__(Sentence("git_failed", command=command, detail=" ".join(words.split())[-500:]))
        lines = tuple(words.splitlines())
        stopped = command == "merge" and bool(lines) and "'git commit'" in lines[-1]
        self.command, self.lines = command, lines[:-1] if stopped else lines


WHOLE_INDEX: Final = ("-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.untrackedCache=false")
"""For an index of ours: complete, and in one file."""


def copy_index(top: Path, index: Path, copy: Path) -> None:
    """Copy the index of a checkout, if there is one, with its time: git compares it with those of the files. One that
    is split becomes whole."""
    if not index.is_file():
        return
    shutil.copy2(index, copy)
    if any(index.parent.glob("sharedindex.*")):
        in_theirs([*WHOLE_INDEX, "update-index", "--no-split-index"], top, env={"GIT_INDEX_FILE": str(copy)})


# -- signals -----------------------------------------------------------------------------------------------------------

_TAG: Final = "HANSARD_GIT"
Handler = Callable[[int, FrameType | None], object] | int | None


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    raise Interrupted(number)


@contextmanager
def _heard(handler: Handler = _interrupt) -> Iterator[None]:
    """Signals raise `Interrupted` inside, where this thread may hear them at all; ignored ones stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in heard:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in heard.items():
            signal.signal(number, old)


def undisturbed() -> "_Undisturbed":
    """Signals wait until what is inside has ended: an undoing is not left half done."""
    return _Undisturbed()


class _Undisturbed:
    def __enter__(self) -> None:
        self._late: list[int] = []
        self._heard = _heard(lambda number, _: self._late.append(number))
        self._heard.__enter__()

    def __exit__(self, *_: object) -> None:
        self._heard.__exit__(None, None, None)


def _end(process: "subprocess.Popen[bytes]", tag: str) -> None:
    """End git and everything that it started, before anything is undone."""
    with undisturbed():
        until = time.monotonic() + _GRACE
        while (left := _running(process, tag)) and time.monotonic() < until:
            _signal(left, signal.SIGTERM)
            time.sleep(0.02)
        _signal(_running(process, tag), signal.SIGKILL)
        process.wait()


def _running(process: "subprocess.Popen[bytes]", tag: str) -> list[int]:
    own = [process.pid] if process.poll() is None else []
    marked = f"{_TAG}={tag}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marked in entry.read_bytes().split(b"\0"):
                own.append(int(entry.parent.name))
    return own


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
