"""How a session's budget was used over time (S4 §4.3, K-38): one snapshot for every event of the session's own kind.

A delivery has iterations and minutes, the other kinds have rounds; tokens and money are summed for all, with what was
discussed for the session.
"""

from typing import Any

from domain.budget import Limits, Spent, add
from domain.children import ChildClosed
from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.instant import iso
from domain.orchestration import events as orchestration
from domain.record import Recorded
from domain.session import spend
from domain.turns import TurnAnswered, TurnFailed
from projections.ports import Database, Projection

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS budget (session_id TEXT NOT NULL, version BIGINT NOT NULL, at BIGINT NOT NULL,"
    " type TEXT NOT NULL, phase TEXT, iteration BIGINT, elapsed_ms BIGINT NOT NULL, remaining_iterations BIGINT,"
    " reason TEXT, round BIGINT, remaining_rounds BIGINT, max_iterations BIGINT, max_minutes BIGINT,"
    " max_rounds BIGINT, tokens BIGINT, cost_micros BIGINT, unknown_turns BIGINT NOT NULL,"
    " PRIMARY KEY (session_id, version))",
    "CREATE TABLE IF NOT EXISTS budget_state (session_id TEXT PRIMARY KEY, started_at BIGINT NOT NULL,"
    " max_iterations BIGINT, max_minutes BIGINT, max_rounds BIGINT, tokens BIGINT, cost_micros BIGINT,"
    " unknown_turns BIGINT NOT NULL)",
)


def apply(db: Database, recorded: Recorded) -> None:
    session_id = recorded.session_id
    match recorded.event:
        case TurnAnswered() | TurnFailed() as event:
            _spend(db, session_id, spend(_spent(db, session_id), event.usage, asked=bool(event.prompt.length)))
        case ChildClosed(spent=more):
            _spend(db, session_id, _sum(_spent(db, session_id), more))
        case delivery.DeliveryEvent() as event:
            if isinstance(event, delivery.SessionStarted | delivery.BudgetExtended):
                _limit(db, recorded, event.limits)
            _snapshot(db, recorded, event)
        case orchestration.OrchestrationEvent() | discussion.DiscussionEvent() as event:
            rounds = _rounds(event)
            if rounds:
                _limit(db, recorded, None, rounds)
            _snapshot_of_rounds(db, recorded, event.round)


def _rounds(event: orchestration.OrchestrationEvent | discussion.DiscussionEvent) -> int | None:
    """The round after which it ends unless it is given more, where the event sets it."""
    match event:
        case orchestration.SessionStarted():
            return event.opening.max_rounds
        case orchestration.PlanMade() | orchestration.Continued() | orchestration.RoundsAdded():
            return event.last_round
        case discussion.SessionStarted():
            return event.topic.max_rounds
        case _:
            return None


def _spent(db: Database, session_id: str) -> Spent:
    row = db.execute(
        "SELECT tokens, cost_micros, unknown_turns FROM budget_state WHERE session_id = ?", (session_id,)
    ).fetchone()
    return Spent() if row is None else Spent(tokens=row[0], cost_micros=row[1], unknown=row[2])


def _spend(db: Database, session_id: str, spent: Spent) -> None:
    db.execute(
        "UPDATE budget_state SET tokens = ?, cost_micros = ?, unknown_turns = ? WHERE session_id = ?",
        (spent.tokens, spent.cost_micros, spent.unknown, session_id),
    )


def _sum(spent: Spent, more: Spent) -> Spent:
    """What a discussion cost counts for the session that wanted it."""
    return Spent(
        tokens=add(spent.tokens, more.tokens),
        cost_micros=add(spent.cost_micros, more.cost_micros),
        unknown=spent.unknown + more.unknown,
    )


def _limit(db: Database, recorded: Recorded, limits: Limits | None, rounds: int | None = None) -> None:
    iterations, minutes = (limits.max_iterations, limits.max_minutes) if limits else (None, None)
    db.execute(
        "INSERT INTO budget_state (session_id, started_at, max_iterations, max_minutes, max_rounds, unknown_turns)"
        " VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT (session_id) DO UPDATE SET max_iterations = excluded.max_iterations,"
        " max_minutes = excluded.max_minutes, max_rounds = excluded.max_rounds",
        (recorded.session_id, recorded.at, iterations, minutes, rounds),
    )


_State = tuple[int, int | None, int | None, int | None, int | None, int | None, int]


def _state(db: Database, session_id: str) -> _State | None:
    """What is used and allowed comes from the events before; of a session whose start is unreadable there is none."""
    row: _State | None = db.execute(
        "SELECT started_at, max_iterations, max_minutes, max_rounds, tokens, cost_micros, unknown_turns"
        " FROM budget_state WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    return row


def _snapshot(db: Database, recorded: Recorded, event: delivery.DeliveryEvent) -> None:
    state = _state(db, recorded.session_id)
    if state is not None:
        used = (event.phase, event.iteration, event.elapsed_ms, event.remaining_iterations, event.reason, None, None)
        _insert(db, recorded, used, state)


def _snapshot_of_rounds(db: Database, recorded: Recorded, number: int) -> None:
    """A round counts as used once it has begun. Nothing stops the clock: `elapsedMs` is since the start."""
    state = _state(db, recorded.session_id)
    if state is None:
        return
    started_at, most = state[0], state[3] or 0
    reason = "rounds" if isinstance(recorded.event, orchestration.PartialReached) and number >= most else None
    used = (None, None, max(0, recorded.at - started_at), None, reason, number, max(0, most - number))
    _insert(db, recorded, used, state)


def _insert(db: Database, recorded: Recorded, used: tuple[object, ...], state: _State) -> None:
    row = (recorded.session_id, recorded.version, recorded.at, recorded.event.TOPIC, *used, *state[1:])
    db.execute(f"INSERT INTO budget VALUES ({', '.join('?' * len(row))})", row)


BUDGET = Projection(name="budget", tables=("budget", "budget_state"), schema=SCHEMA, apply=apply)


def snapshots(db: Database, session_id: str, upto_version: int | None = None) -> list[dict[str, Any]]:
    """The snapshots in order. What the session's kind does not have is null, and so are `tokens` and `costMicros` as
    long as no agent has reported any."""
    rows = db.execute(
        "SELECT version, at, type, phase, iteration, elapsed_ms, remaining_iterations, reason, round, remaining_rounds,"
        " max_iterations, max_minutes, max_rounds, tokens, cost_micros, unknown_turns FROM budget"
        " WHERE session_id = ? AND version <= ? ORDER BY version",
        (session_id, 2**62 if upto_version is None else upto_version),
    ).fetchall()
    return [_entry(row) for row in rows]


_FIELDS = (
    "version", "at", "type", "phase", "iteration", "elapsedMs", "remainingIterations", "reason", "round",
    "remainingRounds", "maxIterations", "maxMinutes", "maxRounds", "tokens", "costMicros", "unknownTurns",
)  # fmt: skip


def _entry(row: Any) -> dict[str, Any]:
    return dict(zip(_FIELDS, row, strict=True)) | {"at": iso(row[1])}
