"""What a worklog said before an event, as far as the event's own rows go on from it."""

from typing import NamedTuple

from domain.session.turns import TurnRequested
from projections.engine.ports import Database

LOG = "log"
"""How the sections begin that only grow; of every other section the newest row counts."""


class Turn(NamedTuple):
    """Where a turn belongs: `number` of the round or iteration, `lane` 0 for those who do not work on the plan."""

    phase: str | None = None
    number: int = 0
    lane: int = 0


class Before:
    """What was written before an event: in tables by earlier stretches of the log, and in this one until it is kept."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._turns: dict[tuple[str, str], Turn] = {}
        self._standing: dict[str, dict[str, str]] = {}
        self._said: dict[tuple[str, str], str] = {}

    def remember(self, session_id: str, event: TurnRequested) -> None:
        """Where the turn belongs, for the event of its end."""
        number = event.iteration or event.round or 0
        self._turns[session_id, event.turn_id] = Turn(event.phase, number, event.lane)

    def turn(self, session_id: str, turn_id: str) -> Turn:
        found = self._turns.get((session_id, turn_id))
        if found is not None:
            return found
        row = self._db.execute(
            "SELECT phase, iteration, lane FROM worklog_turns WHERE session_id = ? AND turn_id = ?",
            (session_id, turn_id),
        ).fetchone()
        return Turn() if row is None else Turn(*row)

    def newest(self, session_id: str, section: str) -> str | None:
        """What a section says by now, of those that do not only grow."""
        return self._sections(session_id).get(section)

    def says(self, session_id: str, section: str, body: str) -> bool:
        """Whether this is anything new."""
        if section.startswith(LOG):
            return True
        sections = self._sections(session_id)
        if sections.get(section) == body:
            return False
        sections[section] = self._said[session_id, section] = body
        return True

    def _sections(self, session_id: str) -> dict[str, str]:
        found = self._standing.get(session_id)
        if found is None:
            rows = self._db.execute("SELECT section, body FROM worklog_standing WHERE session_id = ?", (session_id,))
            found = self._standing[session_id] = dict(rows.fetchall())
        return found

    def keep(self) -> None:
        turns = [(*place, *turn) for place, turn in self._turns.items()]
        self._db.insert("INSERT INTO worklog_turns VALUES (?, ?, ?, ?, ?)", turns)
        self._db.insert(
            "INSERT INTO worklog_standing VALUES (?, ?, ?) ON CONFLICT (session_id, section)"
            " DO UPDATE SET body = excluded.body",
            [(*place, body) for place, body in self._said.items()],
        )
