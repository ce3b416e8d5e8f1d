"""The log and its views, read by a command itself where they are files and up to date. Imports little: a command that
prints a list this way takes a sixth of the time that the whole application takes to start."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from api.node import local_files
from api.node.local_files import answer_about, views_of

T = TypeVar("T")
Reading = Callable[[sqlite3.Connection, sqlite3.Connection], T | None]
"""Reads the log and its views; None where they cannot say."""

FORMAT: Final = 3
"""The store's, without importing the store: a log of another format is left to it."""
_BEHIND: Final = "SELECT count(*) FROM progress WHERE error IS NOT NULL OR position <> ?"
_NEWEST_ROWS: Final = (
    "SELECT session_id, status, updated_at, title, landing, scripted, pull_request, forked_from, cause,"
    " EXISTS (SELECT 1 FROM overview_turns AS turn"
    " WHERE turn.session_id = overview.session_id AND turn.waiting_for = 'branch')"
    " FROM overview"
    " WHERE kind = coalesce(:kind, kind)"
    " AND coalesce(:status, status) = CASE :status WHEN 'held' THEN cause ELSE status END"
    " ORDER BY created DESC LIMIT :limit"
)
_NEWEST: Final = "SELECT session_id FROM overview WHERE parent IS NULL ORDER BY created DESC LIMIT 1"
_BEGINNING: Final = (
    "SELECT session_id FROM overview WHERE substr(session_id, 1, length(:name)) = :name"
    " OR substr(session_id, instr(session_id, '-') + 1, length(:name)) = :name LIMIT 2"
)
_WAITING: Final = (
    "SELECT waiting, policy, session_id, waits_for, since, choices, parent, title, feedback, cause, summary,"
    " summary_sentence, checked FROM overview WHERE waiting > 0 ORDER BY waiting LIMIT ?"
)
_ASKED: Final = (
    "SELECT asked.position, policy, asked.session_id, asked.since, parent, overview.title, agent, tool, asked.title"
    " FROM overview_questions AS asked JOIN overview USING (session_id) ORDER BY asked.position LIMIT ?"
)


class ListRow(NamedTuple):
    """A session in a list; the time in milliseconds."""

    session_id: str
    status: str
    updated_at: int
    title: str
    landing: str | None
    scripted: int = 0
    pull_request: str | None = None
    forked_from: str | None = None
    cause: str | None = None
    needs_branch: int = 0


class NeedRow(NamedTuple):
    """A session that waits for a person, since a time in milliseconds."""

    session_id: str
    waits_for: str
    since: int
    choices: str | None
    parent: str | None
    title: str
    feedback: str | None
    cause: str | None
    summary: str | None
    sentence: str | None
    checked: str | None


class PermissionRow(NamedTuple):
    """A permission that an agent asks for, since a time in milliseconds."""

    session_id: str
    since: int
    parent: str | None
    title: str
    agent: str
    tool: str
    question: str


class LogFiles:
    """The file of a log and the folder of this machine for it. Each reading returns None where the files cannot say."""

    def __init__(self, log: Path, node: Path) -> None:
        self._log, self._node = log, node

    def newest(self, *, kind: str | None, status: str | None, limit: int) -> list[ListRow] | None:
        """The newest sessions, at most so many."""
        values = {"kind": kind, "status": status, "limit": limit}

        def reading(log: sqlite3.Connection, views: sqlite3.Connection) -> list[ListRow] | None:
            return list(map(ListRow._make, views.execute(_NEWEST_ROWS, values))) if _current(log, views) else None

        return self._read(reading)

    def waiting(self, limit: int) -> list[NeedRow | PermissionRow] | None:
        """Returns what waits for a person, oldest first; None, too, where several people decide."""

        def reading(log: sqlite3.Connection, views: sqlite3.Connection) -> list[NeedRow | PermissionRow] | None:
            if not _current(log, views):
                return None
            waiting, questions = views.execute(_WAITING, [limit]).fetchall(), views.execute(_ASKED, [limit]).fetchall()
            if any(policy is not None for _, policy, *_rest in (*waiting, *questions)):
                return None
            placed: list[tuple[int, NeedRow | PermissionRow]] = [(row[0], NeedRow(*row[2:])) for row in waiting]
            placed += [(row[0], PermissionRow(*row[2:])) for row in questions]
            return [row for _, row in sorted(placed, key=lambda each: each[0])[:limit]]

        return self._read(reading)

    def answer(self, name: str, here: Path | None = None) -> Mapping[str, Any] | None:
        """The answer about the session of this name that was made in advance; None, too, if the name may mean another
        one. `latest` is the latest of the repository `here`, if there is one."""
        text = self._read(lambda log, views: _answer(log, views, name, here))
        return None if text is None else dict(json.loads(text))

    def turn_states(self, session_id: str) -> dict[str, str] | None:
        """The states of the session's turns in the lease table."""
        query = "SELECT turn_id, state FROM turns WHERE stream = ?"
        return self._read(lambda log, _: {row[0]: row[1] for row in log.execute(query, [session_id])})

    def is_worked_on(self) -> bool:
        """True if a process of this machine runs turns of the log."""
        return local_files.is_worked_on(self._node)

    def _read(self, reading: Reading[T]) -> T | None:
        views = views_of(self._node)
        if not self._log.is_file() or not views.is_file():
            return None
        try:
            with closing(_opened(self._log)) as events, closing(_opened(views)) as db:
                return reading(events, db) if events.execute("PRAGMA user_version").fetchone() == (FORMAT,) else None
        except sqlite3.Error:
            return None


def _current(log: sqlite3.Connection, views: sqlite3.Connection) -> bool:
    """True if every view was folded from this log, to its end."""
    head = log.execute("SELECT position, hash FROM events ORDER BY position DESC LIMIT 1").fetchone()
    if head is None:
        return False
    reached = views.execute("SELECT event_id FROM progress WHERE view = 'overview'").fetchone()
    if reached != (bytes(head[1]).hex(),):
        return False
    [lag] = views.execute(_BEHIND, [head[0]]).fetchone()
    return int(lag) == 0


def _answer(log: sqlite3.Connection, views: sqlite3.Connection, name: str, here: Path | None) -> str | None:
    answer = answer_about(log, views, name)
    if answer is not None or not _current(log, views):
        return answer
    if name != "latest":
        rows = views.execute(_BEGINNING, {"name": name})
    elif here is None:
        rows = views.execute(_NEWEST)
    else:
        from projections.sessions.places import HERE, of_repository  # what prints help starts without it

        newest = f"SELECT session_id FROM overview WHERE {HERE} ORDER BY created DESC LIMIT 1"
        rows = views.execute(newest, of_repository(str(here)))
    ids = [str(row[0]) for row in rows]
    return answer_about(log, views, ids[0]) if len(ids) == 1 else None


def _opened(file: Path) -> sqlite3.Connection:
    """Not read-only, because a database in WAL mode may need files next to it. But nothing is written to it."""
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=0.2)
    connection.execute("PRAGMA query_only=1")
    return connection
