"""What happened, event by event, in words."""

from collections.abc import Sequence
from typing import Any

from domain.delivery.events import DeliveryEvent
from domain.discussion.events import DiscussionEvent
from domain.orchestration.events import OrchestrationEvent
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnRequested
from domain.values.time import iso
from projections.engine.ports import Database, Projection
from projections.record.describe import HIGHLIGHTED
from projections.record.describe import recorded as sentence
from projections.record.markdown import plain, shortened

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS timeline (session_id TEXT NOT NULL, version BIGINT NOT NULL, position BIGINT NOT NULL,"
    " at BIGINT NOT NULL, type TEXT NOT NULL, actor TEXT NOT NULL, role TEXT NOT NULL, phase TEXT, iteration BIGINT,"
    " turn_id TEXT, message TEXT NOT NULL, highlight INTEGER NOT NULL, PRIMARY KEY (session_id, version))",
    "CREATE INDEX IF NOT EXISTS timeline_turns ON timeline (session_id, turn_id) WHERE turn_id IS NOT NULL",
)
LONGEST_MESSAGE = 2_000
DEFAULT_LIMIT, MOST = 500, 1_000


_Turns = dict[tuple[str, str], tuple[str | None, int | None]]
"""Phase and iteration or round of the turns that this stretch has requested, by session and turn."""


def apply(db: Database, events: Sequence[Recorded]) -> None:
    turns: _Turns = {}
    rows = [_row(db, recorded, turns) for recorded in events]
    db.insert("INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _row(db: Database, recorded: Recorded, turns: _Turns) -> tuple[object, ...]:
    event = recorded.event
    return (
        recorded.session_id,
        recorded.version,
        recorded.position,
        recorded.at,
        event.TOPIC,
        recorded.causation.actor,
        *_place(db, recorded, turns),
        shortened(plain(sentence(event)), LONGEST_MESSAGE),
        int(event.TOPIC in HIGHLIGHTED),
    )


def _place(db: Database, recorded: Recorded, turns: _Turns) -> tuple[str, str | None, int | None, str | None]:
    """Role, phase, iteration or round, and turn; the end of a turn belongs where the turn was requested."""
    match recorded.event:
        case DeliveryEvent() as event:
            return event.role, event.phase, event.iteration or None, None
        case OrchestrationEvent() | DiscussionEvent() as event:
            phase = getattr(event, "phase", None)  # only what is about an agent's phase has one
            return event.role, None if phase is None else str(phase), event.round or None, None
        case TurnRequested() as event:
            number = event.iteration or event.round
            turns.setdefault((recorded.session_id, event.turn_id), (event.phase, number))
            return event.role, event.phase, number, event.turn_id
        case Settled() as event:
            phase, number = turns.get((recorded.session_id, event.turn_id)) or _requested(db, recorded, event)
            return event.role, phase, number, event.turn_id
        case _:
            return "supervisor", None, None, None


def _requested(db: Database, recorded: Recorded, event: Settled) -> tuple[str | None, int | None]:
    found: tuple[str | None, int | None] | None = db.execute(
        "SELECT phase, iteration FROM timeline WHERE session_id = ? AND turn_id = ? ORDER BY version LIMIT 1",
        (recorded.session_id, event.turn_id),
    ).fetchone()
    return found or (None, None)


TIMELINE = Projection(name="timeline", tables=("timeline",), schema=SCHEMA, apply=apply, version=2)


def page(db: Database, session_id: str, *, after: int = 0, limit: int = DEFAULT_LIMIT) -> dict[str, Any]:
    """`{"items", "nextCursor"}` in order; the cursor is the version to give as `after`."""
    size = max(1, min(limit, MOST))
    rows = db.execute(
        "SELECT version, position, at, type, actor, role, phase, iteration, turn_id, message, highlight FROM timeline"
        " WHERE session_id = ? AND version > ? ORDER BY version LIMIT ?",
        (session_id, after, size + 1),
    ).fetchall()
    items = [_item(row) for row in rows[:size]]
    return {"items": items, "nextCursor": str(items[-1]["version"]) if len(rows) > size else None}


def around(
    db: Database, session_id: str, at: int, *, before: int, behind: int, roles: Sequence[str] = (), highlights: bool
) -> list[dict[str, Any]]:
    """The events next to one of them, in order: so many up to and with version `at`, so many after it; of these roles
    alone, or highlights alone, if asked for."""
    where, values = "session_id = ?", [session_id, *roles]
    if roles:
        where += f" AND role IN ({', '.join('?' * len(roles))})"
    if highlights:
        where += " AND highlight = 1"
    columns = "version, position, at, type, actor, role, phase, iteration, turn_id, message, highlight"
    earlier = db.execute(
        f"SELECT {columns} FROM timeline WHERE {where} AND version <= ? ORDER BY version DESC LIMIT ?",
        (*values, at, before),
    ).fetchall()
    later = db.execute(
        f"SELECT {columns} FROM timeline WHERE {where} AND version > ? ORDER BY version LIMIT ?", (*values, at, behind)
    ).fetchall()
    return [_item(row) for row in (*reversed(earlier), *later)]


def roles(db: Database, session_id: str) -> list[str]:
    """Everybody who speaks in a session, the busiest first."""
    rows = db.execute(
        "SELECT role FROM timeline WHERE session_id = ? GROUP BY role ORDER BY COUNT(*) DESC, role LIMIT 20",
        (session_id,),
    ).fetchall()
    return [row[0] for row in rows]


def _item(row: Any) -> dict[str, Any]:
    version, position, at, type_, actor, role, phase, iteration, turn_id, words, highlight = row
    return {
        "version": version,
        "position": position,
        "at": iso(at),
        "type": type_,
        "actor": actor,
        "role": role,
        "phase": phase,
        "iteration": iteration,
        "turnId": turn_id,
        "message": words,
        "highlight": bool(highlight),
    }
