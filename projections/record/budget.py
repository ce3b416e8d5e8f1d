"""How a session's budget was used over time (S4 §4.3, K-38): one snapshot for every event of the session's own kind.

A delivery has iterations and minutes, the other kinds have rounds; tokens and money are summed for all, with what was
discussed for the session.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.delivery import events as delivery
from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.budget import Spent
from domain.session.children import ChildClosed
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered, TurnFailed
from domain.values.time import iso
from projections.engine.ports import Database, Projection

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


@dataclass(slots=True)
class _State:
    """What is used and allowed, from the events before; of a session whose start is unreadable there is none."""

    started_at: int
    max_iterations: int | None = None
    max_minutes: int | None = None
    max_rounds: int | None = None
    tokens: int | None = None
    cost_micros: int | None = None
    unknown: int = 0

    def spend(self, spent: Spent) -> None:
        self.tokens, self.cost_micros, self.unknown = spent.tokens, spent.cost_micros, spent.unknown

    def row(self) -> tuple[int | None, ...]:
        """As it is kept, in the order of the columns (`astuple` would copy deeply, at ten times the cost)."""
        allowed = self.max_iterations, self.max_minutes, self.max_rounds
        return self.started_at, *allowed, self.tokens, self.cost_micros, self.unknown

    @property
    def spent(self) -> Spent:
        return Spent(tokens=self.tokens, cost_micros=self.cost_micros, unknown=self.unknown)


_States = dict[str, _State | None]


def apply(db: Database, events: Sequence[Recorded]) -> None:
    states: _States = {}
    rows = []
    for recorded in events:
        if recorded.session_id not in states:
            states[recorded.session_id] = _known(db, recorded.session_id)
        row = _snapshot(states, recorded)
        if row is not None:
            rows.append(row)
    db.insert(f"INSERT INTO budget VALUES ({', '.join('?' * 17)})", rows)
    db.insert(
        "INSERT INTO budget_state VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET"
        " max_iterations = excluded.max_iterations, max_minutes = excluded.max_minutes,"
        " max_rounds = excluded.max_rounds, tokens = excluded.tokens, cost_micros = excluded.cost_micros,"
        " unknown_turns = excluded.unknown_turns",
        [(session_id, *state.row()) for session_id, state in states.items() if state is not None],
    )


def _known(db: Database, session_id: str) -> _State | None:
    row = db.execute(
        "SELECT started_at, max_iterations, max_minutes, max_rounds, tokens, cost_micros, unknown_turns"
        " FROM budget_state WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    return None if row is None else _State(*row)


def _snapshot(states: _States, recorded: Recorded) -> tuple[object, ...] | None:
    """The snapshot that belongs to an event of the session's own kind; what turns cost only counts."""
    state, event = states[recorded.session_id], recorded.event
    match event:
        case TurnAnswered() | TurnFailed() if state:
            state.spend(state.spent.after(event.usage, asked=bool(event.prompt.length)))
        case ChildClosed(spent=more) if state:
            state.spend(state.spent + more)
        case delivery.DeliveryEvent():
            return _of_delivery(states, recorded, event)
        case orchestration.OrchestrationEvent() | discussion.DiscussionEvent():
            return _of_rounds(states, recorded, event)
    return None


def _of_delivery(states: _States, recorded: Recorded, event: delivery.DeliveryEvent) -> tuple[object, ...] | None:
    state = states[recorded.session_id]
    if isinstance(event, delivery.SessionStarted | delivery.BudgetExtended):
        state = states[recorded.session_id] = state or _State(recorded.at)
        state.max_iterations, state.max_minutes = event.limits.max_iterations, event.limits.max_minutes
    used = (event.phase, event.iteration, event.elapsed_ms, event.remaining_iterations, event.reason, None, None)
    return None if state is None else _row(recorded, used, state)


def _of_rounds(
    states: _States, recorded: Recorded, event: orchestration.OrchestrationEvent | discussion.DiscussionEvent
) -> tuple[object, ...] | None:
    """A round counts as used once it has begun. Nothing stops the clock: `elapsedMs` is since the start."""
    state, rounds = states[recorded.session_id], _rounds(event)
    if rounds:
        state = states[recorded.session_id] = state or _State(recorded.at)
        state.max_rounds = rounds
    if state is None:
        return None
    most = state.max_rounds or 0
    reason = "rounds" if isinstance(event, orchestration.PartialReached) and event.round >= most else None
    elapsed = max(0, recorded.at - state.started_at)
    return _row(recorded, (None, None, elapsed, None, reason, event.round, max(0, most - event.round)), state)


def _row(recorded: Recorded, used: tuple[object, ...], state: _State) -> tuple[object, ...]:
    allowed = (state.max_iterations, state.max_minutes, state.max_rounds)
    spent = (state.tokens, state.cost_micros, state.unknown)
    return (recorded.session_id, recorded.version, recorded.at, recorded.event.TOPIC, *used, *allowed, *spent)


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


BUDGET = Projection(
    name="budget",
    tables=("budget", "budget_state"),
    schema=SCHEMA,
    apply=apply,
    about=(
        TurnAnswered,
        TurnFailed,
        ChildClosed,
        delivery.DeliveryEvent,
        orchestration.OrchestrationEvent,
        discussion.DiscussionEvent,
    ),
)


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
