"""A row for each permission that an agent asks for, until it is answered or withdrawn."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.session.forks import SessionForked
from domain.session.permissions import PermissionEvent, PermissionRequested
from domain.session.record import Recorded
from projections.engine.ports import Database, Table
from projections.sessions.row import Belonging


@dataclass(slots=True)
class QuestionRow:
    """`position` and `since` are of its event; `paths` is JSON."""

    request_id: str
    session_id: str
    turn_id: str
    position: int
    since: int
    agent: str
    tool: str
    title: str
    paths: str


QUESTIONS: Final = Table("overview_questions", QuestionRow)


QUESTION_EVENTS: Final = (PermissionEvent, SessionForked)
"""Other events change nothing here."""


QUESTIONS_SCHEMA: Final = (
    QUESTIONS.schema,
    "CREATE INDEX IF NOT EXISTS overview_questions_position ON overview_questions (position)",
    "CREATE INDEX IF NOT EXISTS overview_questions_session ON overview_questions (session_id)",
)


class OpenQuestions:
    """The changes of a batch of events to the table."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._changed: dict[str, QuestionRow | None] = {}

    def follow(self, recorded: Recorded) -> None:
        """Apply one more event. A fork answers none of the requests that it copied: they are not asked there."""
        match recorded.event:
            case PermissionRequested() as event:
                self._changed[event.request_id] = _row(recorded, event)
            case PermissionEvent() as event:
                self._changed[event.request_id] = None
            case SessionForked():
                for row in self._changed.values():
                    if row is not None and row.session_id == recorded.session_id:
                        self._changed[row.request_id] = None
                self._db.execute("DELETE FROM overview_questions WHERE session_id = ?", (recorded.session_id,))

    def save(self) -> None:
        for request_id, row in self._changed.items():
            if row is None:
                self._db.execute("DELETE FROM overview_questions WHERE request_id = ?", (request_id,))
        QUESTIONS.save(self._db, [row for row in self._changed.values() if row is not None])


def asked_after(db: Database, position: int, limit: int, of: Belonging) -> list[QuestionRow]:
    """The requests after a position of the log, oldest first."""
    where = f"WHERE {_within(of)} position > ? ORDER BY position LIMIT ?"
    return QUESTIONS.select(db, where, (*of.values, position, limit))


def number_of_requests(db: Database, of: Belonging) -> int:
    """Returns how many requests there are."""
    [(number,)] = db.execute(f"SELECT count(*) FROM overview_questions WHERE {_within(of)} 1 = 1", of.values).fetchall()
    return int(number)


def _within(of: Belonging) -> str:
    """Of these sessions alone."""
    if not of.where:
        return ""
    return f"session_id IN (SELECT session_id FROM overview WHERE {' AND '.join(of.where)}) AND"


def turns_asking(db: Database, session_ids: Sequence[str]) -> frozenset[str]:
    """The turns of these sessions that wait for permission."""
    if not session_ids:
        return frozenset()
    places = ", ".join("?" * len(session_ids))
    rows = db.execute(f"SELECT turn_id FROM overview_questions WHERE session_id IN ({places})", session_ids)
    return frozenset(str(turn_id) for (turn_id,) in rows.fetchall())


def _row(recorded: Recorded, event: PermissionRequested) -> QuestionRow:
    return QuestionRow(
        request_id=event.request_id,
        session_id=recorded.session_id,
        turn_id=event.turn_id,
        position=recorded.position,
        since=recorded.at,
        agent=event.agent,
        tool=event.tool,
        title=event.title,
        paths=json.dumps(event.paths, ensure_ascii=False),
    )
