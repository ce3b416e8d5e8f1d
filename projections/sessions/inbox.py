"""The inbox: everything that waits for a person, those that wait longest first (contract §16)."""

import json
from collections.abc import Collection
from typing import Final

from domain.values.base import Invalid
from domain.values.sentences import Sentence
from domain.values.time import iso
from projections.engine.ports import Database
from projections.sessions.overview import NEEDS, cursor_of, position_of
from projections.sessions.row import ROWS, SessionRow
from projections.views.sessions import DecisionPage, WaitingItem

DEFAULT_LIMIT, MOST = 50, 200

_WHY: Final = {
    "converged": "The discussion converged; a person decides.",
    "stalled": "The discussion stalled; a person decides.",
    "limit": "The discussion used up its rounds; a person decides.",
    "error": "An agent failed in the discussion; a person decides.",
    "scope_done": "The requested scope is done; a person decides how to continue.",
    "iterations": "The iterations are used up.",
    "minutes": "The time is used up.",
    "tokens": "The token limit is reached.",
    "cost": "The cost limit is reached.",
    "rounds": "The rounds are used up.",
    "plan_invalid": "There is no valid plan.",
    "agent_failed": "An agent failed.",
    "no_progress": "The last iterations made no progress.",
    "outside_scope": "Files outside the scope were changed; a person decides.",
    "turn_failed": "A turn has no attempt left; retry it.",
}


def page(
    db: Database, *, needs: Collection[str] = (), limit: int = DEFAULT_LIMIT, cursor: str | None = None
) -> DecisionPage:
    """What waits, oldest first; `needs` keeps only what waits for one of these.

    Raises Invalid for a cursor that was not given out here, a limit outside 1 … 200, or an unknown need.
    """
    if not 1 <= limit <= MOST:
        raise Invalid({"/limit": Sentence("not_between", number=1, most=MOST)})
    if not set(needs) <= set(NEEDS):
        raise Invalid({"/needs": Sentence("not_one_of", choices=list(NEEDS))})
    wanted = tuple(needs or NEEDS)
    rows = ROWS.select(
        db,
        f"WHERE waiting > ? AND waits_for IN ({', '.join('?' * len(wanted))}) ORDER BY waiting LIMIT ?",
        (0 if cursor is None else position_of(cursor), *wanted, limit + 1),
    )
    more = len(rows) > limit
    return DecisionPage(
        items=tuple(_item(row) for row in rows[:limit]),
        next_cursor=cursor_of(rows[limit - 1].waiting or 0) if more else None,
    )


def counts(db: Database) -> dict[str, int]:
    """How many sessions wait, by what they wait for."""
    rows = db.execute(
        "SELECT waits_for, count(*) FROM overview WHERE waiting IS NOT NULL GROUP BY waits_for ORDER BY waits_for"
    ).fetchall()
    return {word: int(number) for word, number in rows}


def _item(row: SessionRow) -> WaitingItem:
    """Only what it waits for now: of a discussion its last words, of a run its summary so far."""
    deciding = row.waits_for == "decision"
    return WaitingItem.model_validate(
        {
            "session_id": row.session_id,
            "kind": row.kind,
            "waits_for": row.waits_for,
            "reason": row.waits_for,
            "cause": row.cause,
            "why": _WHY.get(row.cause or "", "A person decides."),
            "title": row.title,
            "owner": row.owner,
            "repository": row.repository,
            "cost_micros": row.cost_micros,
            "parent": row.parent,
            "about": row.about,
            "since": iso(row.since or 0),
            "version": row.version,
            "choices": json.loads(row.choices or "[]"),
            "request_id": row.request_id,
            "stop_reason": row.stop_reason if deciding else None,
            "convergence": json.loads(row.convergence) if deciding and row.convergence else None,
            "feedback": json.loads(row.feedback) if deciding and row.feedback else None,
            "synthesis": row.synthesis if deciding else None,
            "summary": row.summary,
            "expires_at": row.expires_at if deciding else None,
        }
    )
