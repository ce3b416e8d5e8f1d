"""Every view there is."""

import json
from collections.abc import Iterable

from projections import reports
from projections.engine.ports import Database, Projection, Views
from projections.sessions.fold import OVERVIEW

PROJECTIONS: tuple[Projection, ...] = (
    OVERVIEW,
    *reports.PROJECTIONS,
)


# All views as bytes, so that live views can be compared with rebuilt ones (P13).


def dump(views: Views, projections: Iterable[Projection] = PROJECTIONS) -> bytes:
    """Canonical JSON of every table at one moment: `{"table": [[column, …], …]}`, tables and rows sorted."""
    with views.reading() as db:
        tables = sorted(table for projection in projections for table in projection.tables)
        parts = [f"{json.dumps(table)}:[{','.join(_rows(db, table))}]" for table in tables]
    return ("{" + ",".join(parts) + "}").encode()


def _rows(db: Database, table: str) -> list[str]:
    rows = db.execute(f"SELECT * FROM {table}").fetchall()
    # No view has bytes, but a damaged one may.
    return sorted(json.dumps(list(row), ensure_ascii=False, separators=(",", ":"), default=repr) for row in rows)
