"""Sessions found in the overview, with their turns and children."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from domain.values.base import Invalid
from domain.values.time import iso
from projections.engine.ports import Database
from projections.sessions.words import normal

__all__ = ["counts", "cursor_of", "item", "normal", "page", "position_of", "waiting"]

LONGEST_WORDS = 1_000
DEFAULT_LIMIT, MOST = 50, 200

_COLUMNS = (
    "session_id, created, version, kind, status, title, origin, labels, created_at, updated_at, parent, forked_from,"
    " last_error, phase, iteration, max_iterations, round, max_rounds, last_round, strategy, score, recommendation,"
    " waiting"
)
_FIELDS = (
    "id", "created", "version", "kind", "status", "title", "origin", "labels", "createdAt", "updatedAt", "parent",
    "forkedFrom", "lastError", "currentPhase", "iteration", "maxIterations", "round", "maxRounds", "lastRound",
    "strategy", "convergenceScore", "recommendation", "waiting",
)  # fmt: skip
"""The columns in the same order, as the outside calls them."""


def page(
    db: Database,
    *,
    kind: str | None = None,
    status: str | None = None,
    q: str | None = None,
    label: str | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> dict[str, Any]:
    """`{"items", "nextCursor"}`, newest first; `q` is looked for in id, title and task, in any case.

    Raises Invalid for a cursor that was not given out here, a limit outside 1 … 200, more than 1,000 characters of `q`.
    """
    if not 1 <= limit <= MOST:
        raise Invalid({"/limit": f"should be between 1 and {MOST}"})
    if q is not None and len(q) > LONGEST_WORDS:
        raise Invalid({"/q": f"should have at most {LONGEST_WORDS} characters"})
    before = 2**62 if cursor is None else position_of(cursor)
    where: list[str] = ["created < ?"]
    values: list[int | str] = [before]
    for column, value in (("kind", kind), ("status", status)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if label is not None:
        where.append("created IN (SELECT created FROM overview_labels WHERE label = ? AND created < ?)")
        values += [label, before]
    if q:
        where.append("words LIKE ? ESCAPE '!'")
        values.append(_pattern(q))
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM overview WHERE {' AND '.join(where)} ORDER BY created DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    return {
        "items": _items(db, rows[:limit]),
        "nextCursor": cursor_of(rows[limit - 1][1]) if len(rows) > limit else None,
    }


def item(db: Database, session_id: str) -> dict[str, Any] | None:
    """One session's row."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM overview WHERE session_id = ?", (session_id,)).fetchall()
    return next(iter(_items(db, rows)), None)


def waiting(db: Database, limit: int = MOST) -> list[dict[str, Any]]:
    """The sessions that a person has to do something about, oldest first; `waiting` says what for."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM overview WHERE waiting IS NOT NULL ORDER BY created LIMIT ?", (limit,)
    ).fetchall()
    return _items(db, rows)


def counts(db: Database) -> dict[str, dict[str, int]]:
    """How many sessions there are, by kind and status."""
    found: dict[str, dict[str, int]] = {}
    rows = db.execute("SELECT kind, status, count(*) FROM overview GROUP BY kind, status ORDER BY kind, status")
    for kind, word, number in rows.fetchall():
        found.setdefault(kind, {})[word] = int(number)
    return found


def _pattern(q: str) -> str:
    escaped = normal(q)
    for character in "!%_":
        escaped = escaped.replace(character, f"!{character}")
    return f"%{escaped}%"


def cursor_of(position: int) -> str:
    """A cursor means the rows before a position; callers should not know."""
    return base64.urlsafe_b64encode(str(position).encode()).decode().rstrip("=")


def position_of(cursor: str) -> int:
    """Raises Invalid for what `cursor_of` did not make."""
    try:
        digits = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        position = int(digits) if len(digits) < 19 else -1
    except (binascii.Error, ValueError):
        position = -1
    if position < 1 or cursor_of(position) != cursor:
        raise Invalid({"/cursor": "is not a cursor of this list"})
    return position


def _items(db: Database, rows: Sequence[Any]) -> list[dict[str, Any]]:
    ids = [row[0] for row in rows]
    turns, children = _turns(db, ids), _children(db, ids)
    return [_item(row) | {"outstandingTurns": turns[row[0]], "children": children[row[0]]} for row in rows]


def _turns(db: Database, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {session_id: [] for session_id in ids}
    if not ids:
        return found
    rows = db.execute(
        "SELECT session_id, turn_id, work, agent, role, phase, round, requested_at FROM overview_turns"
        f" WHERE session_id IN ({', '.join('?' * len(ids))}) ORDER BY session_id, version",
        ids,
    ).fetchall()
    for session_id, turn_id, work, agent, role, phase, number, at in rows:
        found[session_id].append(
            {
                "turnId": turn_id,
                "work": work,
                "agent": agent,
                "role": role,
                "phase": phase,
                "round": number,
                "requestedAt": iso(at),
            }
        )
    return found


def _children(db: Database, ids: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {session_id: [] for session_id in ids}
    if ids:
        places = ", ".join("?" * len(ids))
        rows = db.execute(
            f"SELECT parent, session_id FROM overview WHERE parent IN ({places}) ORDER BY created", ids
        ).fetchall()
        for parent, session_id in rows:
            found[parent].append(session_id)
    return found


def _item(row: Any) -> dict[str, Any]:
    found = dict(zip(_FIELDS, row, strict=True))
    del found["created"]
    return found | {
        "createdAt": iso(found["createdAt"]),
        "updatedAt": iso(found["updatedAt"]),
        "labels": json.loads(found["labels"]),
    }
