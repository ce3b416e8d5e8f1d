"""Attendances that are kept beside a log in a file."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path


class FileAttendances:
    """The times at which teams of this machine were last there: one file for each, whose time says it."""

    every = 1.0

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, agents: str, at: int) -> None:
        path = self._folder / hashlib.sha256(agents.encode()).hexdigest()[:16]
        try:
            os.utime(path, ns=(at * 1_000_000, at * 1_000_000))
        except FileNotFoundError:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = path.with_name(f".{path.name}.{os.getpid()}")
            draft.write_text(agents, encoding="utf-8")
            os.utime(draft, ns=(at * 1_000_000, at * 1_000_000))
            draft.rename(path)

    def noted(self) -> Mapping[str, int]:
        return dict(self._read())

    def _read(self) -> Iterator[tuple[str, int]]:
        for path in self._folder.glob("[!.]*") if self._folder.is_dir() else ():
            with suppress(OSError, ValueError):
                yield path.read_text(encoding="utf-8"), path.stat().st_mtime_ns // 1_000_000
