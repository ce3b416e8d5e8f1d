"""Notes of what running attempts have used, in a folder that all processes of this machine share.

Only the process that runs an attempt knows what its program has reported. Whoever cancels the turn from another process
finds the note, so that what was used is recorded with the cancellation.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from domain.session.attempt_ends import WorkSoFar

log = logging.getLogger(__name__)
_PAUSE: Final = 0.2
"""Seconds from what a program prints to the note of it."""
_SHARE: Final = 10
"""At most one part in so many of the time is spent on reading long outputs again."""
_KEPT: Final = 7 * 24 * 3600
"""Seconds after which the notes of processes that were killed are removed."""


class UsageNotes:
    """The notes of this process, and what others have noted. From any thread."""

    def __init__(self, folder: Path, attempt_of: Callable[[str], int | None]) -> None:
        """`attempt_of` returns the attempt that holds a turn, None if none does."""
        self._folder, self._attempt_of = folder, attempt_of
        self._lock = threading.Lock()
        self._running: dict[str, Callable[[], WorkSoFar]] = {}
        self._due: set[str] = set()
        self._noted: set[str] = set()
        self._is_noting = self._is_swept = False

    def begin(self, turn_id: str, work: Callable[[], WorkSoFar]) -> None:
        """Note from now on what an attempt at this turn has done."""
        with self._lock:
            self._running[turn_id] = work
        self.heard(turn_id)

    def heard(self, turn_id: str) -> None:
        """Note soon what the attempt at this turn has done: there is something new."""
        with self._lock:
            if turn_id not in self._running:
                return
            self._due.add(turn_id)
            if self._is_noting:
                return
            self._is_noting = True
        threading.Thread(target=self._note_all, name="usage-notes", daemon=True).start()

    def end(self, turn_id: str) -> None:
        """Remove the note: what the attempt has used is recorded."""
        with self._lock:
            self._running.pop(turn_id, None)
            self._due.discard(turn_id)
            if turn_id in self._noted:
                self._noted.discard(turn_id)
                with suppress(OSError):
                    self._path(turn_id).unlink()

    def so_far(self, turn_id: str) -> WorkSoFar | None:
        """Returns what is noted of the attempt that holds the turn."""
        try:
            work = WorkSoFar.model_validate_json(self._path(turn_id).read_bytes())
        except (OSError, ValidationError):
            return None
        return work if work.attempt == self._attempt_of(turn_id) else None

    def _note_all(self) -> None:
        """Note what is due until nothing is."""
        pause = _PAUSE
        while True:
            time.sleep(pause)
            with self._lock:
                due = [(turn_id, self._running[turn_id]) for turn_id in self._due]
                self._due.clear()
                if not due:
                    self._is_noting = False
                    return
            began = time.monotonic()
            for turn_id, work in due:
                try:
                    self._note(turn_id, work)
                except Exception:  # a note that is missing loses a figure, but must never stop a turn
                    log.warning("what %s has used could not be noted", turn_id, exc_info=True)
            pause = max(_PAUSE, (time.monotonic() - began) * _SHARE)

    def _note(self, turn_id: str, work: Callable[[], WorkSoFar]) -> None:
        content = work().model_dump_json().encode()
        with self._lock:
            if self._running.get(turn_id) is not work:
                return
            self._sweep()
            path = self._path(turn_id)
            draft = path.with_name(f".{path.name}.{os.getpid()}")
            draft.write_bytes(content)
            draft.replace(path)
            self._noted.add(turn_id)

    def _sweep(self) -> None:
        if self._is_swept:
            return
        self._is_swept = True
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _KEPT:
                    path.unlink()

    def _path(self, turn_id: str) -> Path:
        return self._folder / hashlib.sha256(turn_id.encode()).hexdigest()[:32]
