"""Worklogs as files in a folder, as cli-jaw keeps them, with `latest.md` for the newest (behaviour §1.12).

A copy for people and their editors: nothing reads it back. It follows in a thread of its own, so that a slow or full
disk holds up neither the views nor anybody who waits for them; what could not be written is tried again.
"""

import logging
import os
import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from domain.instant import iso
from domain.record import Recorded
from domain.sessions import KINDS
from projections import worklog
from projections.ports import Database, Views

TITLE = 30
LATEST = "latest.md"
RETRY = 5.0
"""Seconds until what could not be written is tried again."""

_OTHERS = re.compile(r"[^0-9A-Za-z가-힣]")
_log = logging.getLogger(__name__)


def file_name(created_at: str, title: str, twin: int = 0) -> str:
    """`20261121T120000_Add_a___json_flag.md`; the n-th of the same second and title is told apart by `_n+1`."""
    second = re.sub(r"[-:]", "", created_at)[:15]
    words = _OTHERS.sub("_", unicodedata.normalize("NFC", title)[:TITLE])
    return f"{second}_{words}{f'_{twin + 1}' if twin else ''}.md"


class Mirror:
    """Keeps the folder up to date. `seen` is a listener of the follower; `start` first brings everything up to date."""

    def __init__(self, folder: Path, views: Views) -> None:
        self._folder, self._views = folder, views
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def seen(self, events: Sequence[Recorded]) -> None:
        """These events happened, and the views have them."""
        self._add(recorded.session_id for recorded in events if recorded.kind in KINDS)
        self._woken.set()

    def _add(self, sessions: Iterable[str]) -> None:
        with self._lock:
            self._changed.update(sessions)

    # -- following -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="worklog mirror", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after a last try at what is to be written."""
        if self._thread is not None:
            self._stopped.set()
            self._woken.set()
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        behind, last = True, False
        while not last:
            last = self._stopped.is_set()
            behind = behind and not self._caught_up()
            again = bool(self.write()) or behind
            if not last:
                self._woken.wait(RETRY if again else None)
                self._woken.clear()

    def _caught_up(self) -> bool:
        """Note what changed while nobody followed: a file bears the time of the newest event that is in it."""
        try:
            with self._views.reading() as db:
                rows = db.execute(
                    "SELECT session_id, created, created_at, updated_at, title FROM overview ORDER BY created"
                ).fetchall()
                self._add(
                    session_id
                    for session_id, created, created_at, updated_at, title in rows
                    if self._written_at(_name(db, created, created_at, title)) != updated_at
                )
        except OSError:
            _log.exception("the worklogs in %s cannot be compared", self._folder)
            return False
        return True

    def _written_at(self, name: str) -> int | None:
        """Milliseconds; None where there is no such file."""
        with suppress(FileNotFoundError):
            return (self._folder / name).stat().st_mtime_ns // 1_000_000
        return None

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self) -> int:
        """Write the worklogs that changed; how many could not be, and are kept for the next time."""
        with self._lock:
            changed, self._changed = sorted(self._changed), set()
        failed = [session_id for session_id in changed if not self._tried(session_id)]
        self._add(failed)
        return len(failed)

    def _tried(self, session_id: str) -> bool:
        try:
            self._mirror(session_id)
        except OSError:
            _log.exception("the worklog of %s cannot be written to %s", session_id, self._folder)
            return False
        except Exception:  # the outermost loop: whatever is wrong with this worklog, the others go on
            _log.exception("the worklog of %s is not mirrored", session_id)
        return True

    def _mirror(self, session_id: str) -> None:
        with self._views.reading() as db:
            row = db.execute(
                "SELECT created, created_at, updated_at, title FROM overview WHERE session_id = ?", (session_id,)
            ).fetchone()
            text = worklog.render(db, session_id)
            if row is None or text is None:
                return
            created, created_at, updated_at, title = row
            name, newest = _name(db, created, created_at, title), _newest(db)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._write(name, text, updated_at * 1_000_000)
        if newest == session_id:
            self._point_to(name)

    def _write(self, name: str, text: str, at: int) -> None:
        beside = self._beside(name)
        beside.write_text(text, encoding="utf-8")
        os.utime(beside, ns=(at, at))
        beside.replace(self._folder / name)

    def _point_to(self, name: str) -> None:
        latest = self._folder / LATEST
        if latest.is_symlink() and str(latest.readlink()) == name:
            return
        beside = self._beside(LATEST)
        beside.unlink(missing_ok=True)
        beside.symlink_to(name)
        beside.replace(latest)

    def _beside(self, name: str) -> Path:
        """Where it is written before it takes the place of what was there; of this process alone."""
        return self._folder / f".{name}.{os.getpid()}"


def _name(db: Database, created: int, created_at: int, title: str) -> str:
    """The session's file. Of several with the same name the first that began has it."""
    begin = created_at - created_at % 1_000
    others = db.execute(
        "SELECT title FROM overview WHERE created_at >= ? AND created_at < ? AND created < ?",
        (begin, begin + 1_000, created),
    ).fetchall()
    at = iso(created_at)
    wanted = file_name(at, title)
    return file_name(at, title, sum(file_name(at, other[0]) == wanted for other in others))


def _newest(db: Database) -> str | None:
    """The session that a person started last; what it had discussed is not it."""
    row = db.execute("SELECT session_id FROM overview WHERE parent IS NULL ORDER BY created DESC LIMIT 1").fetchone()
    return None if row is None else str(row[0])
