"""All sessions at a glance: one row each, found by kind, status, label or words, newest first."""

import base64
import binascii
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from domain.base import DomainEvent, Invalid
from domain.delivery.chart import status
from domain.delivery.events import (
    AttemptStarted,
    BudgetExtended,
    PhaseFailed,
    PhaseStarted,
    SessionStarted,
    Transition,
)
from domain.instant import iso
from domain.record import Recorded
from domain.turns import Settled, TurnFailed, TurnRequested
from projections.ports import Database, Projection
from projections.session import title_of

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS overview (session_id TEXT PRIMARY KEY, created BIGINT NOT NULL,"
    " position BIGINT NOT NULL, version BIGINT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, title TEXT NOT NULL,"
    " origin TEXT NOT NULL, labels TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, parent TEXT,"
    " forked_from TEXT, phase TEXT, iteration BIGINT, max_iterations BIGINT, last_error TEXT, waiting TEXT,"
    " words TEXT NOT NULL)",
    "CREATE UNIQUE INDEX IF NOT EXISTS overview_created ON overview (created)",
    "CREATE INDEX IF NOT EXISTS overview_kind ON overview (kind, created)",
    "CREATE INDEX IF NOT EXISTS overview_status ON overview (status, created)",
    "CREATE INDEX IF NOT EXISTS overview_both ON overview (kind, status, created)",
    "CREATE INDEX IF NOT EXISTS overview_waiting ON overview (created) WHERE waiting IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS overview_parent ON overview (parent, created)",
    "CREATE TABLE IF NOT EXISTS overview_labels (label TEXT NOT NULL, created BIGINT NOT NULL,"
    " PRIMARY KEY (label, created))",
    "CREATE TABLE IF NOT EXISTS overview_turns (session_id TEXT NOT NULL, turn_id TEXT NOT NULL,"
    " version BIGINT NOT NULL, work TEXT NOT NULL, agent TEXT NOT NULL, role TEXT NOT NULL, phase TEXT, round BIGINT,"
    " requested_at BIGINT NOT NULL, PRIMARY KEY (session_id, turn_id))",
)
SEARCHED = 20_000
"""Characters of title and task in which words are looked for."""
LONGEST_WORDS = 1_000
DEFAULT_LIMIT, MOST = 50, 200

_COLUMNS = (
    "session_id, created, version, kind, status, title, origin, labels, created_at, updated_at, parent, forked_from,"
    " phase, iteration, max_iterations, last_error, waiting"
)


def apply(db: Database, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, SessionStarted):
        return _insert(db, recorded, event)
    _follow_turns(db, recorded)
    changes = {"position": recorded.position, "version": recorded.version, "updated_at": recorded.at, **_changes(event)}
    places = ", ".join(f"{column} = ?" for column in changes)
    db.execute(f"UPDATE overview SET {places} WHERE session_id = ?", (*changes.values(), recorded.session_id))
    return None


def _insert(db: Database, recorded: Recorded, event: SessionStarted) -> None:
    words = normal(f"{recorded.session_id}\n{event.title}\n{event.task[:SEARCHED]}")
    db.execute(
        "INSERT INTO overview VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?, NULL, NULL, ?)",
        (
            recorded.session_id,
            recorded.position,
            recorded.position,
            recorded.version,
            recorded.kind,
            status(event.state),
            title_of(event.title, event.task),
            event.origin,
            json.dumps(list(event.labels), ensure_ascii=False),
            recorded.at,
            recorded.at,
            event.state,
            0,
            event.limits.max_iterations,
            words,
        ),
    )
    for label in dict.fromkeys(event.labels):
        db.execute("INSERT INTO overview_labels VALUES (?, ?)", (label, recorded.position))


def _follow_turns(db: Database, recorded: Recorded) -> None:
    match recorded.event:
        case TurnRequested() as event:
            db.execute(
                "INSERT INTO overview_turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    recorded.session_id,
                    event.turn_id,
                    recorded.version,
                    event.work,
                    event.agent,
                    event.role,
                    event.phase,
                    event.round,
                    recorded.at,
                ),
            )
        case Settled() as event:
            db.execute(
                "DELETE FROM overview_turns WHERE session_id = ? AND turn_id = ?", (recorded.session_id, event.turn_id)
            )


def _changes(event: DomainEvent) -> dict[str, Any]:
    """The columns that an event changes, beside those that every event does."""
    changes: dict[str, Any] = {}
    if isinstance(event, Transition) and not isinstance(event, PhaseStarted):  # a phase starts in what runs already
        changes = {"status": status(event.state), "waiting": "budget" if event.state == "exhausted" else None}
    match event:
        case PhaseStarted(phase=phase) if phase:
            return changes | {"phase": phase}
        case AttemptStarted():
            return changes | {"iteration": event.iteration}
        case BudgetExtended():
            return changes | {"max_iterations": event.limits.max_iterations}
        case PhaseFailed():
            return changes | {"last_error": event.error_message}
        case TurnFailed():
            return changes | {"last_error": f"{event.agent}: {event.failure.code}: {event.failure.detail}".rstrip(": ")}
        case _:
            return changes


OVERVIEW = Projection(
    name="overview", tables=("overview", "overview_labels", "overview_turns"), schema=SCHEMA, apply=apply
)


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


def normal(words: str) -> str:
    """Words as they are compared: NFC, lower case, without NUL."""
    return unicodedata.normalize("NFC", words.replace("\0", "")).lower()


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
    (session_id, _, version, kind, word, title, origin, labels, created_at, updated_at, parent, forked_from, phase,
     iteration, most, last_error, waits) = row  # fmt: skip
    return {
        "id": session_id,
        "kind": kind,
        "status": word,
        "title": title,
        "version": version,
        "createdAt": iso(created_at),
        "updatedAt": iso(updated_at),
        "origin": origin,
        "labels": json.loads(labels),
        "parent": parent,
        "forkedFrom": forked_from,
        "lastError": last_error,
        "currentPhase": phase,
        "iteration": iteration,
        "maxIterations": most,
        "waiting": waits,
    }
