"""What each event changes in the row of its session. Channels are no sessions and have none."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.delivery import events as delivery
from domain.delivery.chart import status as delivery_status
from domain.discussion import events as discussion
from domain.kinds import KINDS
from domain.orchestration import events as orchestration
from domain.orchestration.chart import status as orchestration_status
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnFailed, TurnRequested
from domain.values.base import DomainEvent
from projections.engine.ports import Database
from projections.record.session import title_of
from projections.sessions.words import normal

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS overview (session_id TEXT PRIMARY KEY, created BIGINT NOT NULL,"
    " position BIGINT NOT NULL, version BIGINT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, title TEXT NOT NULL,"
    " origin TEXT NOT NULL, labels TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, parent TEXT,"
    " forked_from TEXT, phase TEXT, iteration BIGINT, max_iterations BIGINT, round BIGINT, max_rounds BIGINT,"
    " last_round BIGINT, strategy TEXT, score DOUBLE PRECISION, recommendation TEXT, last_error TEXT, waiting TEXT,"
    " words TEXT NOT NULL)",
    "CREATE UNIQUE INDEX IF NOT EXISTS overview_created ON overview (created)",
    "CREATE INDEX IF NOT EXISTS overview_created_at ON overview (created_at)",
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

Columns = dict[str, Any]


@dataclass(slots=True)
class _Stretch:
    """What a stretch of the log changes: columns by session, and turns by session and name (None: they ended)."""

    columns: dict[str, Columns] = field(default_factory=dict)
    turns: dict[tuple[str, str], tuple[object, ...] | None] = field(default_factory=dict)


def apply(db: Database, events: Sequence[Recorded]) -> None:
    stretch = _Stretch()
    for recorded in events:
        if recorded.kind not in KINDS:
            continue
        beginning = _beginning(recorded.event)
        if beginning is not None:
            _insert(db, recorded, beginning)
        else:
            _go_on(stretch, recorded)
    for session_id, columns in stretch.columns.items():
        places = ", ".join(f"{column} = ?" for column in columns)
        db.execute(f"UPDATE overview SET {places} WHERE session_id = ?", (*columns.values(), session_id))
    _keep_turns(db, stretch)


def _go_on(stretch: _Stretch, recorded: Recorded) -> None:
    _follow_turns(stretch, recorded)
    columns = stretch.columns.setdefault(recorded.session_id, {})
    columns.update(_changes(recorded.event), position=recorded.position, version=recorded.version)
    columns["updated_at"] = recorded.at


# -- a session begins ----------------------------------------------------------------------------------------------


def _beginning(event: DomainEvent) -> Columns | None:
    """The columns with which a session of each kind begins; `task` and `labels` stand for what is made of them."""
    match event:
        case delivery.SessionStarted():
            given = {"phase": event.state, "iteration": 0, "max_iterations": event.limits.max_iterations}
            return _common(event, event.task, delivery_status(event.state)) | given
        case orchestration.SessionStarted():
            opening = event.opening
            rounds = {"round": 0, "max_rounds": opening.max_rounds, "last_round": opening.max_rounds}
            return _common(opening, opening.prompt, orchestration_status(event.state)) | rounds
        case discussion.SessionStarted():
            topic = event.topic
            parent = topic.parent.session_id if topic.parent else None
            own = {"round": 0, "max_rounds": topic.max_rounds, "strategy": topic.strategy, "parent": parent}
            return _common(topic, topic.subject.head, event.state) | own
        case _:
            return None


def _common(opening: Any, task: str, status: str) -> Columns:
    """`opening` is whatever has the title, origin and labels of a start request: each kind has its own."""
    return {
        "task": task,
        "given_title": opening.title,
        "origin": opening.origin,
        "labels": opening.labels,
        "status": status,
    }


def _insert(db: Database, recorded: Recorded, beginning: Columns) -> None:
    task, given, labels = (beginning.pop(name) for name in ("task", "given_title", "labels"))
    row = beginning | {
        "session_id": recorded.session_id,
        "created": recorded.position,
        "position": recorded.position,
        "version": recorded.version,
        "kind": recorded.kind,
        "title": title_of(given, task),
        "labels": json.dumps(list(labels), ensure_ascii=False),
        "created_at": recorded.at,
        "updated_at": recorded.at,
        "words": normal(f"{recorded.session_id}\n{given}\n{task[:SEARCHED]}"),
    }
    places = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO overview ({', '.join(row)}) VALUES ({places})", tuple(row.values()))
    for label in dict.fromkeys(labels):
        db.execute("INSERT INTO overview_labels VALUES (?, ?)", (label, recorded.position))


# -- and goes on ---------------------------------------------------------------------------------------------------


def _follow_turns(stretch: _Stretch, recorded: Recorded) -> None:
    match recorded.event:
        case TurnRequested() as event:
            stretch.turns[recorded.session_id, event.turn_id] = (
                recorded.session_id,
                event.turn_id,
                recorded.version,
                event.work,
                event.agent,
                event.role,
                event.phase,
                event.round,
                recorded.at,
            )
        case Settled() as event:
            stretch.turns[recorded.session_id, event.turn_id] = None


def _keep_turns(db: Database, stretch: _Stretch) -> None:
    ended = [turn for turn, row in stretch.turns.items() if row is None]
    for turn in ended:
        db.execute("DELETE FROM overview_turns WHERE session_id = ? AND turn_id = ?", turn)
    open_now = [row for row in stretch.turns.values() if row is not None]
    db.insert("INSERT INTO overview_turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", open_now)


def _changes(event: DomainEvent) -> Columns:
    """The columns that an event changes, beside those that every event does."""
    match event:
        case SessionForked():  # it reports to nobody
            return {"forked_from": event.source, "parent": None}
        case TurnFailed():
            return {"last_error": f"{event.agent}: {event.failure.code}: {event.failure.detail}".rstrip(": ")}
        case delivery.DeliveryEvent():
            return _of_delivery(event)
        case orchestration.OrchestrationEvent():
            return _of_orchestration(event)
        case discussion.DiscussionEvent():
            return _of_discussion(event)
        case _:
            return {}


def _of_delivery(event: delivery.DeliveryEvent) -> Columns:
    changes: Columns = {}
    if isinstance(event, delivery.PhaseStarted):  # it starts in what runs already
        return {"phase": event.phase} if event.phase else {}
    if isinstance(event, delivery.Transition):
        waiting = "budget" if event.state == "exhausted" else None
        changes = {"status": delivery_status(event.state), "waiting": waiting}
    match event:
        case delivery.AttemptStarted():
            return changes | {"iteration": event.iteration}
        case delivery.BudgetExtended():
            return changes | {"max_iterations": event.limits.max_iterations}
        case delivery.PhaseFailed():
            return changes | {"last_error": event.error_message}
        case _:
            return changes


def _of_orchestration(event: orchestration.OrchestrationEvent) -> Columns:
    """A run that used up its rounds waits for more of them, as a delivery does (K-46)."""
    changes: Columns = {}
    if isinstance(event, orchestration.Transition):
        changes = {"status": orchestration_status(event.state), "waiting": None}
    match event:
        case orchestration.RoundStart():
            return changes | {"round": event.round}
        case orchestration.CheckpointReached():
            return changes | {"waiting": "checkpoint"}
        case orchestration.PartialReached(reason="rounds"):
            return changes | {"waiting": "budget"}
        case orchestration.Continued() | orchestration.RoundsAdded():
            return changes | {"max_rounds": event.last_round, "last_round": event.last_round}
        case _:
            return changes


def _of_discussion(event: discussion.DiscussionEvent) -> Columns:
    changes: Columns = {}
    if isinstance(event, discussion.Transition):
        waiting = "decision" if event.state == "waiting_for_decision" else None
        changes = {"status": event.state, "waiting": waiting}
    match event:
        case discussion.RoundAdded():
            return changes | {"round": event.round}
        case discussion.Assessed():
            return changes | {"score": event.metrics.overall_score, "recommendation": event.metrics.recommendation}
        case discussion.AgentFailed():
            return changes | {"last_error": event.error}
        case _:
            return changes
