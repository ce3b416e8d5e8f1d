"""The inbox: everything that waits for a person's word, oldest first (contract §2, behaviour §2.8).

One row for every session that may come to wait; only those that wait now have `waiting`, the position since when.
"""

import json
from collections.abc import Sequence
from typing import Any

from domain.discussion import events as discussion
from domain.orchestration import events as orchestration
from domain.session.forks import SessionForked
from domain.session.record import Recorded
from domain.values.base import Invalid
from domain.values.time import iso
from projections.engine.ports import Database, Projection
from projections.record.markdown import shortened
from projections.record.session import title_of
from projections.sessions import cursor_of, position_of

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS inbox (session_id TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL,"
    " parent TEXT, about TEXT, version BIGINT NOT NULL, waiting BIGINT, since BIGINT, reason TEXT NOT NULL,"
    " stop_reason TEXT, convergence TEXT, synthesis TEXT, summary TEXT, choices TEXT, feedback TEXT, expires_at TEXT)",
    "CREATE UNIQUE INDEX IF NOT EXISTS inbox_waiting ON inbox (waiting) WHERE waiting IS NOT NULL",
)
HEAD = 2_000
"""Characters of a synthesis or summary; the session has the whole."""
DEFAULT_LIMIT, MOST = 50, 200
CHECKPOINT = ("continue", "reset")
"""The doors that lead on from a checkpoint."""

_STOPS = {
    discussion.Converged: "converged",
    discussion.Stalled: "stalled",
    discussion.LimitReached: "limit",
    discussion.AgentFailed: "error",
}
_NOT_WAITING = {"waiting": None, "since": None, "choices": None, "summary": None}


_Changes = dict[str, dict[str, Any]]
"""Columns that a stretch of the log changes, by session."""


def apply(db: Database, events: Sequence[Recorded]) -> None:
    changes: _Changes = {}
    for recorded in events:
        if recorded.kind in ("review", "debate", "orchestration"):
            _follow(db, recorded, changes)
    for session_id, changed in changes.items():
        places = ", ".join(f"{column} = ?" for column in changed)
        db.execute(f"UPDATE inbox SET {places} WHERE session_id = ?", (*changed.values(), session_id))


def _follow(db: Database, recorded: Recorded, changes: _Changes) -> None:
    """The version is always the newest: it is what a decision answers."""
    changed = changes.setdefault(recorded.session_id, {})
    changed["version"] = recorded.version
    match recorded.event:
        case discussion.SessionStarted(topic=topic):
            about = topic.parent
            place = (about.session_id, about.about) if about else (None, None)
            _begin(db, recorded, title_of(topic.title, topic.subject.head), place, "decision")
        case orchestration.SessionStarted(opening=opening):
            _begin(db, recorded, title_of(opening.title, opening.prompt), (None, None), "checkpoint")
        case (
            discussion.Decided()
            | discussion.Expired()
            | discussion.Cancelled()
            | orchestration.Completed()
            | orchestration.WasReset()
        ):
            db.execute("DELETE FROM inbox WHERE session_id = ?", (recorded.session_id,))
        case discussion.DiscussionEvent() as event:
            changed.update(_said(recorded, event))
        case orchestration.OrchestrationEvent() as event:
            changed.update(_went(recorded, event))
        case SessionForked():
            changed.update({"parent": None, "about": None})


def _begin(db: Database, recorded: Recorded, title: str, place: tuple[str | None, str | None], reason: str) -> None:
    db.execute(
        "INSERT INTO inbox (session_id, kind, title, parent, about, version, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (recorded.session_id, recorded.kind, title, *place, recorded.version, reason),
    )


def _said(recorded: Recorded, event: discussion.DiscussionEvent) -> dict[str, Any]:
    match event:
        case discussion.Assessed():
            return {"convergence": event.metrics.model_dump_json(by_alias=True)}
        case discussion.Synthesized():
            return {"synthesis": shortened(event.synthesis.head, HEAD)}
        case discussion.DecisionRequested():
            return {
                "waiting": recorded.position,
                "since": recorded.at,
                "choices": json.dumps(event.choices),
                "feedback": json.dumps(_summary(event.feedback), ensure_ascii=False),
                "expires_at": event.expires_at,
            }
        case _:
            reasons = [reason for kind, reason in _STOPS.items() if isinstance(event, kind)]
            return {"stop_reason": reasons[0]} if reasons else {}


def _summary(feedback: dict[str, Any]) -> dict[str, Any]:
    """The feedback in short; `points` counts its issues or concerns."""
    points = feedback.get("issues") or feedback.get("concerns") or []
    words = feedback.get("summary") or "; ".join(str(point) for point in feedback.get("concerns") or ())
    return {
        "verdict": feedback.get("verdict"),
        "summary": shortened(str(words), HEAD),
        "points": len(points),
        "error": feedback.get("error"),
    }


def _went(recorded: Recorded, event: orchestration.OrchestrationEvent) -> dict[str, Any]:
    """A run waits at its checkpoint until any event leads it on."""
    match event:
        case orchestration.CheckpointReached():
            return {
                "waiting": recorded.position,
                "since": recorded.at,
                "choices": json.dumps(CHECKPOINT),
                "summary": shortened(event.summary.head, HEAD),
            }
        case orchestration.Transition():
            return _NOT_WAITING
        case _:
            return {}


INBOX = Projection(name="inbox", tables=("inbox",), schema=SCHEMA, apply=apply)


_COLUMNS = (
    "waiting, session_id, kind, reason, title, parent, about, since, version, choices, stop_reason, convergence,"
    " feedback, synthesis, summary, expires_at"
)
_FIELDS = (
    "waiting", "sessionId", "kind", "reason", "title", "parent", "about", "since", "version", "choices", "stopReason",
    "convergence", "feedback", "synthesis", "summary", "expiresAt",
)  # fmt: skip
_JSON = ("choices", "convergence", "feedback")


def page(db: Database, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None) -> dict[str, Any]:
    """`{"items", "nextCursor"}`, oldest first. `reason` is `decision` or `checkpoint`; what the other of both has is
    null. Raises Invalid for a cursor that was not given out here, or a limit outside 1 … 200."""
    if not 1 <= limit <= MOST:
        raise Invalid({"/limit": f"should be between 1 and {MOST}"})
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM inbox WHERE waiting > ? ORDER BY waiting LIMIT ?",
        (0 if cursor is None else position_of(cursor), limit + 1),
    ).fetchall()
    more = len(rows) > limit
    return {
        "items": [_item(row) for row in rows[:limit]],
        "nextCursor": cursor_of(rows[limit - 1][0]) if more else None,
    }


def _item(row: Any) -> dict[str, Any]:
    found = dict(zip(_FIELDS, row, strict=True))
    del found["waiting"]
    read = {name: None if found[name] is None else json.loads(found[name]) for name in _JSON}
    return found | read | {"since": iso(found["since"])}
