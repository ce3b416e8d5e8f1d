"""A row for each outstanding turn, until it has ended; and the wait for a branch that a person has checked out."""

from typing import Final

from domain.session import waits
from domain.session.forks import ForkedWait, SessionForked
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnAttemptFailed, TurnRequested, TurnRetried
from domain.values.base import milliseconds
from domain.values.sentences import packed
from projections.engine.ports import Database
from projections.record.markdown import shortened
from projections.sessions.row import SessionRow

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


_LONGEST: Final = 2_000
"""Characters of a reason that are kept; the session has all of it."""


def follow_branch(row: SessionRow, recorded: Recorded) -> None:
    """One more event of the row's session: one whose branch a person has checked out waits for that person. The wait
    has one beginning, however often the branch is looked at."""
    match recorded.event:
        case TurnAttemptFailed(failure=failure, retry_at=str()) if failure.code == "branch":
            if row.waits_for is None:
                row.wait(waits.branch(), recorded)
            if row.cause == waits.BRANCH_IN_USE:
                why = failure.branch_in_use or failure.why
                row.summary, row.summary_sentence = shortened(why, _LONGEST), packed(why)
        case TurnAttemptFailed() | TurnRetried() | Settled() if row.cause == waits.BRANCH_IN_USE:
            row.go_on()


class OpenTurns:
    """The changes of a batch of events to the table."""

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
