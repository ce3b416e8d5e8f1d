"""The worklog of a session in Markdown, as of any version (shape of cli-jaw's file, behaviour §1.12).

Each event adds rows; of a section that can change the newest row counts, so that the log as it stood at version N is
made of the rows up to N.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from domain.session.record import Recorded, kind_of
from domain.session.turns import TurnRequested
from projections.engine.ports import Database, Projection
from projections.record.worklog import delivery, discussion, orchestration
from projections.record.worklog.before import LOG, Before
from projections.record.worklog.parts import Row

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS worklog (session_id TEXT NOT NULL, version BIGINT NOT NULL, ordinal BIGINT NOT NULL,"
    " section TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (session_id, version, ordinal))",
    "CREATE TABLE IF NOT EXISTS worklog_turns (session_id TEXT NOT NULL, turn_id TEXT NOT NULL, phase TEXT,"
    " iteration BIGINT NOT NULL, lane BIGINT NOT NULL, PRIMARY KEY (session_id, turn_id))",
    "CREATE TABLE IF NOT EXISTS worklog_standing (session_id TEXT NOT NULL, section TEXT NOT NULL, body TEXT NOT NULL,"
    " PRIMARY KEY (session_id, section))",
)


class _Shape(NamedTuple):
    """How a kind of session is written down: the rows of an event, and the text that rows make."""

    rows: Callable[[Before, Recorded], Iterator[Row]]
    text: Callable[[Sequence[Row]], str]


_SHAPES = {
    "delivery": _Shape(delivery.rows, delivery.text),
    "orchestration": _Shape(orchestration.rows, orchestration.text),
    "review": _Shape(discussion.rows, discussion.text),
    "debate": _Shape(discussion.rows, discussion.text),
}


def apply(db: Database, events: Sequence[Recorded]) -> None:
    before = Before(db)
    rows = [row for recorded in events for row in _rows(before, recorded)]
    db.insert("INSERT INTO worklog VALUES (?, ?, ?, ?, ?)", rows)
    before.keep()


def _rows(before: Before, recorded: Recorded) -> Iterator[tuple[str, int, int, str, str]]:
    shape = _SHAPES.get(recorded.kind)
    if shape is None:
        return
    session_id = recorded.session_id
    if isinstance(recorded.event, TurnRequested):
        before.remember(session_id, recorded.event)
    for ordinal, (section, body) in enumerate(list(shape.rows(before, recorded))):
        if before.says(session_id, section, body):
            yield session_id, recorded.version, ordinal, section, body


WORKLOG = Projection(
    name="worklog", tables=("worklog", "worklog_turns", "worklog_standing"), schema=SCHEMA, apply=apply, version=3
)


def render(db: Database, session_id: str, upto_version: int | None = None, *, newest: int | None = None) -> str | None:
    """The worklog as it stood after event `upto_version` (now, if not given), with so many of its newest entries (all
    of them, if not given); None if no session began there."""
    shape = _SHAPES.get(kind_of(session_id))
    if shape is None:
        return None
    upto = 2**62 if upto_version is None else upto_version
    first = 0 if newest is None else _first(db, session_id, upto, newest)
    rows = db.execute(
        "SELECT section, body FROM worklog WHERE session_id = ? AND version <= ?"
        " AND (version >= ? OR section NOT LIKE 'log%') ORDER BY version, ordinal",
        (session_id, upto, first),
    ).fetchall()
    found = list(_begun(rows)) if first else [(section, body) for section, body in rows]
    return shape.text(found) if any(section == "task" for section, _ in found) else None


def _first(db: Database, session_id: str, upto: int, newest: int) -> int:
    """The version from which on there are so many entries, each of which begins with a heading; 0: there are fewer."""
    row = db.execute(
        "SELECT version FROM worklog WHERE session_id = ? AND version <= ? AND section LIKE 'log%'"
        " AND body LIKE '### %' ORDER BY version DESC, ordinal DESC LIMIT 1 OFFSET ?",
        (session_id, upto, newest - 1),
    ).fetchone()
    return 0 if row is None else int(row[0])


def _begun(rows: Iterable[Row]) -> Iterator[Row]:
    """Without what belongs to an entry that began earlier."""
    places = set()
    for section, body in rows:
        if section.startswith(LOG) and body.startswith("### "):
            places.add(section)
        if not section.startswith(LOG) or section in places:
            yield section, body
