"""Says what finished sessions of one kind took, in one repository: the middle of their times and costs."""

from collections.abc import Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from projections.engine.ports import Database
from projections.reports.summary import LEDGER

FINISHED: Final = ("success", "done", "decided")
RESTS: Final = (*FINISHED, "failed", "partial", "checkpoint", "waiting_for_decision")
"""Statuses in which agents have stopped: from then on, a session only waits for a person."""
LOOKED, MOST = 1_000, 20
"""The newest sessions of a kind that are looked through, and those of them that are counted."""


class SimilarRuns(NamedTuple):
    """The number of sessions, and the middle of their milliseconds and millionths; None where no cost was reported."""

    sessions: int
    milliseconds: int
    cost_micros: int | None


def similar_runs(db: Database, kind: str, repository: str | None) -> SimilarRuns | None:
    """None where no session has finished there. A time ends where a person was first waited for."""
    same, values = ("repository IS NULL", ()) if repository is None else ("repository = ?", (repository,))
    rows = db.execute(
        f"SELECT session_id, created, created_at, cost_micros FROM (SELECT * FROM overview WHERE kind = ?"
        f" ORDER BY created DESC LIMIT {LOOKED}) newest WHERE {same} AND parent IS NULL AND forked_from IS NULL"
        f" AND status IN ({_places(FINISHED)}) ORDER BY created DESC LIMIT {MOST}",
        (kind, *values, *FINISHED),
    ).fetchall()
    if not rows:
        return None
    ends = _ends(db, rows)
    times = [ends[name] - began for name, _, began, _ in rows if name in ends]
    costs = [cost for *_, cost in rows if cost is not None]
    if not times:
        return None
    return SimilarRuns(len(rows), round(median(times)), round(median(costs)) if costs else None)


def _ends(db: Database, rows: Sequence[Any]) -> dict[str, int]:
    names = [row[0] for row in rows]
    found = db.execute(
        f"SELECT session_id, min(at) FROM {LEDGER.table} WHERE position >= ? AND session_id IN ({_places(names)})"
        f" AND status IN ({_places(RESTS)}) GROUP BY session_id",
        (min(row[1] for row in rows), *names, *RESTS),
    ).fetchall()
    return {str(name): int(at) for name, at in found}


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
