"""The worklog of a session in Markdown, as of any version (shape of cli-jaw's file, behaviour §1.12).

Each event adds rows; of a section that can change the newest row counts, so that the log as it stood at version N is
made of the rows up to N.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from domain.record import Recorded, kind_of
from domain.turns import TurnRequested
from projections.ports import Database, Projection
from projections.worklog import delivery, discussion, orchestration
from projections.worklog.parts import Row

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS worklog (session_id TEXT NOT NULL, version BIGINT NOT NULL, ordinal BIGINT NOT NULL,"
    " section TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session_id, version, ordinal))",
    "CREATE TABLE IF NOT EXISTS worklog_turns (session_id TEXT NOT NULL, turn_id TEXT NOT NULL, phase TEXT,"
    " iteration BIGINT NOT NULL, lane BIGINT NOT NULL, PRIMARY KEY (session_id, turn_id))",
)


class _Shape(NamedTuple):
    """How a kind of session is written down: the rows of an event, and the text that rows make."""

    rows: Callable[[Database, Recorded], Iterator[Row]]
    text: Callable[[Iterable[Row]], str | None]


_SHAPES = {
    "delivery": _Shape(delivery.rows, delivery.text),
    "orchestration": _Shape(orchestration.rows, orchestration.text),
    "review": _Shape(discussion.rows, discussion.text),
    "debate": _Shape(discussion.rows, discussion.text),
}


def apply(db: Database, recorded: Recorded) -> None:
    shape = _SHAPES.get(recorded.kind)
    if shape is None:
        return
    if isinstance(recorded.event, TurnRequested):
        _remember(db, recorded.session_id, recorded.event)
    for ordinal, (section, body) in enumerate(list(shape.rows(db, recorded))):
        db.execute(
            "INSERT INTO worklog VALUES (?, ?, ?, ?, ?)",
            (recorded.session_id, recorded.version, ordinal, section, body),
        )


def _remember(db: Database, session_id: str, event: TurnRequested) -> None:
    """Where the turn belongs, for the event of its end."""
    db.execute(
        "INSERT INTO worklog_turns VALUES (?, ?, ?, ?, ?)",
        (session_id, event.turn_id, event.phase, event.iteration or event.round or 0, event.lane),
    )


WORKLOG = Projection(name="worklog", tables=("worklog", "worklog_turns"), schema=SCHEMA, apply=apply)


def render(db: Database, session_id: str, upto_version: int | None = None) -> str | None:
    """The worklog as it stood after event `upto_version` (now, if not given); None if no session began there."""
    shape = _SHAPES.get(kind_of(session_id))
    if shape is None:
        return None
    rows = db.execute(
        "SELECT section, body FROM worklog WHERE session_id = ? AND version <= ? ORDER BY version, ordinal",
        (session_id, 2**62 if upto_version is None else upto_version),
    ).fetchall()
    return shape.text([(section, body) for section, body in rows])
