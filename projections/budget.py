"""How a session's budget was used over time: one snapshot for every event that carries one (S4 §4.3, K-38)."""

from typing import Any

from domain.budget import Limits, Spent
from domain.delivery.events import BudgetExtended, DeliveryEvent, SessionStarted
from domain.instant import iso
from domain.record import Recorded
from domain.session import spend
from domain.turns import TurnAnswered, TurnFailed
from projections.ports import Database, Projection

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS budget (session_id TEXT NOT NULL, version BIGINT NOT NULL, at BIGINT NOT NULL,"
    " type TEXT NOT NULL, phase TEXT, iteration BIGINT NOT NULL, elapsed_ms BIGINT NOT NULL,"
    " remaining_iterations BIGINT NOT NULL, reason TEXT, max_iterations BIGINT NOT NULL, max_minutes BIGINT NOT NULL,"
    " tokens BIGINT, cost_micros BIGINT, unknown_turns BIGINT NOT NULL, PRIMARY KEY (session_id, version))",
    "CREATE TABLE IF NOT EXISTS budget_state (session_id TEXT PRIMARY KEY, max_iterations BIGINT NOT NULL,"
    " max_minutes BIGINT NOT NULL, tokens BIGINT, cost_micros BIGINT, unknown_turns BIGINT NOT NULL)",
)


def apply(db: Database, recorded: Recorded) -> None:
    session_id = recorded.session_id
    match recorded.event:
        case TurnAnswered() | TurnFailed() as event:
            known = spend(_spent(db, session_id), event.usage, asked=bool(event.prompt.length))
            db.execute(
                "UPDATE budget_state SET tokens = ?, cost_micros = ?, unknown_turns = ? WHERE session_id = ?",
                (known.tokens, known.cost_micros, known.unknown, session_id),
            )
        case DeliveryEvent() as event:
            if isinstance(event, SessionStarted | BudgetExtended):
                _limit(db, session_id, event.limits)
            _snapshot(db, recorded, event)


def _spent(db: Database, session_id: str) -> Spent:
    row = db.execute(
        "SELECT tokens, cost_micros, unknown_turns FROM budget_state WHERE session_id = ?", (session_id,)
    ).fetchone()
    return Spent() if row is None else Spent(tokens=row[0], cost_micros=row[1], unknown=row[2])


def _limit(db: Database, session_id: str, limits: Limits) -> None:
    db.execute(
        "INSERT INTO budget_state (session_id, max_iterations, max_minutes, unknown_turns) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (session_id) DO UPDATE SET max_iterations = excluded.max_iterations,"
        " max_minutes = excluded.max_minutes",
        (session_id, limits.max_iterations, limits.max_minutes),
    )


def _snapshot(db: Database, recorded: Recorded, event: DeliveryEvent) -> None:
    """What is used and allowed comes from the events before; of a session whose start is unreadable there is none."""
    state = db.execute(
        "SELECT max_iterations, max_minutes, tokens, cost_micros, unknown_turns FROM budget_state WHERE session_id = ?",
        (recorded.session_id,),
    ).fetchone()
    if state is None:
        return
    db.execute(
        "INSERT INTO budget VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            recorded.session_id,
            recorded.version,
            recorded.at,
            event.TOPIC,
            event.phase,
            event.iteration,
            event.elapsed_ms,
            event.remaining_iterations,
            event.reason,
            *state,
        ),
    )


BUDGET = Projection(name="budget", tables=("budget", "budget_state"), schema=SCHEMA, apply=apply)


def snapshots(db: Database, session_id: str, upto_version: int | None = None) -> list[dict[str, Any]]:
    """The snapshots in order; `tokens` and `costMicros` are null as long as no agent has reported any."""
    rows = db.execute(
        "SELECT version, at, type, phase, iteration, elapsed_ms, remaining_iterations, reason, max_iterations,"
        " max_minutes, tokens, cost_micros, unknown_turns FROM budget WHERE session_id = ? AND version <= ?"
        " ORDER BY version",
        (session_id, 2**62 if upto_version is None else upto_version),
    ).fetchall()
    return [_entry(row) for row in rows]


_FIELDS = (
    "version", "at", "type", "phase", "iteration", "elapsedMs", "remainingIterations", "reason", "maxIterations",
    "maxMinutes", "tokens", "costMicros", "unknownTurns",
)  # fmt: skip


def _entry(row: Any) -> dict[str, Any]:
    return dict(zip(_FIELDS, row, strict=True)) | {"at": iso(row[1])}
