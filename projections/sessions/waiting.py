"""What sessions wait for: a row for each outstanding turn, and one for each permission that an agent asks for.

A turn's row is there until the turn has ended, a question's until it is answered or withdrawn.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.session.approvals import PermissionEvent, PermissionRequested
from domain.session.history import ForkedWait, SessionForked
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnAttemptFailed, TurnRequested, TurnRetried
from domain.values.base import milliseconds
from projections.engine.ports import Database, Table
from projections.sessions.row import Belonging

TURNS_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS overview_turns (session_id TEXT NOT NULL, turn_id TEXT NOT NULL,"
    " version BIGINT NOT NULL, work TEXT NOT NULL, agent TEXT NOT NULL, role TEXT NOT NULL, phase TEXT, round BIGINT,"
    " requested_at BIGINT NOT NULL, attempt BIGINT, waiting_until BIGINT, waiting_for TEXT,"
    " PRIMARY KEY (session_id, turn_id))"
)
TURN_EVENTS: Final = (TurnRequested, TurnAttemptFailed, TurnRetried, Settled, SessionForked)
"""Other events change nothing here."""
_COLUMNS: Final = (
    "session_id, turn_id, version, work, agent, role, phase, round, requested_at, attempt, waiting_until, waiting_for"
)


class OpenTurns:
    """What a batch of events changes in the table."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._changed: dict[tuple[str, str], tuple[object, ...] | None] = {}
        self._new = set[tuple[str, str]]()

    def follow(self, recorded: Recorded) -> None:
        """One more event."""
        session_id = recorded.session_id
        match recorded.event:
            case TurnRequested() as event:
                place = (event.work, event.agent, event.role, event.phase, event.round)
                begun = (session_id, event.turn_id, recorded.version, *place, recorded.at)
                if (session_id, event.turn_id) not in self._changed:
                    self._new.add((session_id, event.turn_id))
                self._changed[session_id, event.turn_id] = (*begun, None, None, None)
            case TurnAttemptFailed() as event:
                self._wait(session_id, event)
            case TurnRetried() as event:
                place = (event.work, event.agent, event.role, event.phase, event.round)
                begun = (session_id, event.turn_id, recorded.version, *place, recorded.at)
                self._changed[session_id, event.turn_id] = (*begun, event.attempts + 1, None, None)
            case Settled() as event:
                self._changed[session_id, event.turn_id] = None
            case SessionForked(wait=ForkedWait(turn_id=str() as turn_id)):
                row = self._row(session_id, turn_id)
                self._changed[session_id, turn_id] = (*row[:8], recorded.at, *row[9:])

    def save(self) -> None:
        for turn, row in self._changed.items():
            if row is not None or turn not in self._new:
                self._db.execute("DELETE FROM overview_turns WHERE session_id = ? AND turn_id = ?", turn)
        requested = [row for row in self._changed.values() if row is not None]
        self._new.clear()
        self._db.insert("INSERT INTO overview_turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", requested)

    def _wait(self, session_id: str, event: TurnAttemptFailed) -> None:
        """The turn waits for its next attempt, perhaps by another agent."""
        row = self._row(session_id, event.turn_id)
        until = milliseconds(event.retry_at) if event.retry_at else None
        reason = event.failure.code if event.retry_at else None
        place = (event.fallback_agent or row[4], *row[5:9])
        self._changed[session_id, event.turn_id] = (*row[:4], *place, event.attempt + 1, until, reason)

    def _row(self, session_id: str, turn_id: str) -> tuple[object, ...]:
        """The row of an open turn, as the batch has left it."""
        row = self._changed.get((session_id, turn_id))
        if row is not None:
            return row
        self.save()
        [row] = self._db.execute(
            f"SELECT {_COLUMNS} FROM overview_turns WHERE session_id = ? AND turn_id = ?", (session_id, turn_id)
        ).fetchall()
        return tuple(row)


# -- permissions that agents ask for -----------------------------------------------------------------------------------


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
    """What a batch of events changes in the table."""

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
    """How many requests there are."""
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
