"""Worklogs as files in a folder, as cli-jaw keeps them, with `latest.md` for the newest (behaviour §1.12).

A copy for people and their editors; it is never read back. A separate thread writes it, and retries what could not be
written.
"""

import os
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from domain.kinds import KINDS
from domain.session.record import Recorded
from domain.values.base import iso
from projections.engine.change_queue import ChangeQueue
from projections.engine.ports import Database, Views
from projections.record import worklog
from projections.record.records import Records
from projections.record.sessions import Sessions

TITLE = 30
LATEST = "latest.md"

_OTHERS = re.compile(r"[^0-9A-Za-z가-힣]")


def file_name(created_at: str, title: str, twin: int = 0) -> str:
    """`20261121T120000_Add_a___json_flag.md`; the n-th of the same second and title gets the suffix `_n+1`."""
    second = re.sub(r"[-:]", "", created_at)[:15]
    words = _OTHERS.sub("_", unicodedata.normalize("NFC", title)[:TITLE])
    return f"{second}_{words}{f'_{twin + 1}' if twin else ''}.md"


class Mirror:
    """Keeps the folder up to date. `seen` is a listener of the follower; `start` first writes everything that is
    missing."""

    def __init__(self, folder: Path, views: Views, sessions: Sessions, records: Records) -> None:
        self._folder, self._views = folder, views
        self._sessions, self._records = sessions, records
        self._keeper = ChangeQueue(
            "worklog mirror", what="the worklog", where=folder, keep=self._mirror, missed=self._missed
        )

    # -- following -------------------------------------------------------------------------------------------------

    def seen(self, events: Sequence[Recorded]) -> None:
        """Listener: these events happened, and the views include them."""
        self._keeper.tell(recorded.session_id for recorded in events if recorded.kind in KINDS)

    def rewound(self, _: int) -> None:
        """Write again what differs now that the log has gone back. Files of sessions that are gone stay."""
        self._keeper.forget()
        self._keeper.look()

    def start(self) -> None:
        self._keeper.start()

    def stop(self) -> None:
        """End after one last attempt to write everything."""
        self._keeper.stop()

    def write(self) -> int:
        """Write the worklogs that changed. Returns how many failed; these are kept for the next time."""
        return self._keeper.work_off()

    def _missed(self) -> list[str]:
        """Returns what changed while it was not running: the time of a file is that of its newest event."""
        with self._views.reading() as db:
            rows = db.execute(
                "SELECT session_id, created, created_at, updated_at, title FROM overview ORDER BY created"
            ).fetchall()
            return [
                session_id
                for session_id, created, created_at, updated_at, title in rows
                if self._written_at(_name(db, created, created_at, title)) != updated_at
            ]

    def _written_at(self, name: str) -> int | None:
        """Milliseconds; None if there is no such file."""
        with suppress(FileNotFoundError):
            return (self._folder / name).stat().st_mtime_ns // 1_000_000
        return None

    # -- writing ---------------------------------------------------------------------------------------------------

    def _mirror(self, session_id: str) -> None:
        session = self._sessions.get(session_id)
        with self._views.reading() as db:
            row = db.execute(
                "SELECT created, created_at, title FROM overview WHERE session_id = ?", (session_id,)
            ).fetchone()
            if row is None or session is None:
                return
            name, newest = _name(db, *row), _newest(db)
        text = worklog.render(self._records.of(session_id, session.version).worklog, session)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._write(name, text, session.updated_at * 1_000_000)
        if newest == session_id:
            self._point_to(name)

    def _write(self, name: str, text: str, at: int) -> None:
        temporary = self._temporary(name)
        temporary.write_text(text, encoding="utf-8")
        os.utime(temporary, ns=(at, at))
        temporary.replace(self._folder / name)

    def _point_to(self, name: str) -> None:
        latest = self._folder / LATEST
        if latest.is_symlink() and str(latest.readlink()) == name:
            return
        temporary = self._temporary(LATEST)
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(name)
        temporary.replace(latest)

    def _temporary(self, name: str) -> Path:
        """The temporary file, private to this process, that then replaces the old one."""
        return self._folder / f".{name}.{os.getpid()}"


def _name(db: Database, created: int, created_at: int, title: str) -> str:
    """The session's file. If several have the same name, the session that began first gets it."""
    begin = created_at - created_at % 1_000
    others = db.execute(
        "SELECT title FROM overview WHERE created_at >= ? AND created_at < ? AND created < ?",
        (begin, begin + 1_000, created),
    ).fetchall()
    at = iso(created_at)
    wanted = file_name(at, title)
    return file_name(at, title, sum(file_name(at, other[0]) == wanted for other in others))


def _newest(db: Database) -> str | None:
    """The session that a person started last; discussions that it started do not count."""
    row = db.execute("SELECT session_id FROM overview WHERE parent IS NULL ORDER BY created DESC LIMIT 1").fetchone()
    return None if row is None else str(row[0])
