"""Every view there is."""

import hashlib
import json
from collections.abc import Iterable, Iterator

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
    return b"".join(_pieces(views, projections))


def fingerprint(views: Views, projections: Iterable[Projection] = PROJECTIONS) -> str:
    """Return the SHA-256 of the dump, in the memory of one row."""
    digest = hashlib.sha256()
    for piece in _pieces(views, projections):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(views: Views, projections: Iterable[Projection]) -> Iterator[bytes]:
    with views.reading() as db:
        before = "{"
        for table in sorted(table for projection in projections for table in projection.tables):
            yield f"{before}{json.dumps(table)}:[".encode()
            yield from _rows(db, table)
            yield b"]"
            before = ","
        yield b"}"


def _rows(db: Database, table: str) -> Iterator[bytes]:
    """The rows, which the database sorts: it needs no memory for many."""
    first = db.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
    if first is None:
        return
    columns = ", ".join(str(number) for number in range(1, len(first) + 1))
    before = b""
    for row in db.execute(f"SELECT * FROM {table} ORDER BY {columns}"):
        # No view has bytes, but a damaged one may.
        yield before + json.dumps(list(row), ensure_ascii=False, separators=(",", ":"), default=repr).encode()
        before = b","
