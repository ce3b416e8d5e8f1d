"""Sessions as reports count them: those that began in a time, how they stand, and what they have cost."""

from typing import NamedTuple

from projections.engine.ports import LATEST, Database
from projections.reports.ledger import Filters
from projections.sessions.overview import ASKED, QUESTIONED


class Beginning(NamedTuple):
    """The beginning of a session, in milliseconds, and its title."""

    at: int
    title: str


def beginnings(db: Database, filters: Filters) -> dict[str, Beginning]:
    """The sessions that began in a time, by id."""
    since, until, kind, label = filters.since, filters.until, filters.kind, filters.label
    rows = db.execute(
        "SELECT session_id, created_at, title FROM overview WHERE created_at >= ? AND created_at < ?"
        " AND kind = coalesce(?, kind)"
        " AND (? IS NULL OR created IN (SELECT created FROM overview_labels WHERE label = ?)) ORDER BY created",
        (since or 0, LATEST if until is None else until, kind, label, label),
    ).fetchall()
    return {session_id: Beginning(at, title) for session_id, at, title in rows}


class Standing(NamedTuple):
    """A session in a report: when it began, how it stands, and what it has cost so far. `asks`: it waits for a person
    to decide, to allow something, or to let it go on."""

    session_id: str
    title: str
    at: int
    status: str
    waits_for: str | None
    cost_micros: int | None
    asks: bool
    is_fork: bool = False


def standings(db: Database, filters: Filters) -> list[Standing]:
    """The sessions that began in a time, oldest first."""
    since, until, kind, label = filters.since, filters.until, filters.kind, filters.label
    rows = db.execute(
        "SELECT session_id, title, created_at, status, waits_for, cost_micros,"
        f" CASE WHEN ({ASKED}) OR ({QUESTIONED}) THEN 1 ELSE 0 END,"
        " CASE WHEN forked_from IS NULL THEN 0 ELSE 1 END FROM overview"
        " WHERE created_at >= ? AND created_at < ? AND kind = coalesce(?, kind)"
        " AND (? IS NULL OR created IN (SELECT created FROM overview_labels WHERE label = ?)) ORDER BY created",
        (since or 0, LATEST if until is None else until, kind, label, label),
    ).fetchall()
    return [
        Standing(name, title, at, status, need, cost, bool(asks), bool(forked))
        for name, title, at, status, need, cost, asks, forked in rows
    ]
