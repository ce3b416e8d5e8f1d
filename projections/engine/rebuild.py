"""Rebuilds views from nothing: in one process, or out of parts that several processes have folded."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from projections.engine.fold import Folding, create, note, read
from projections.engine.ports import Database, EventLog

PAGE = 2_000
"""No reader waits for the first page; a session's row is written once for each page."""
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+)")


def refold(folding: Folding, db: Database, log: EventLog) -> None:
    """Empty every view, including parked ones, and fold the whole log from zero, inside the caller's transaction."""
    head, position = log.head(), 0
    with _emptied(folding, db):
        while position < head:
            page = read(log, after=position, limit=PAGE, omitted=folding.omitted)
            if page.end == position:
                break
            folding.fold(db, replace(page, mark=log.sight(page.end).marks[0]))
            position = page.end


def merge(folding: Folding, db: Database, parts: Sequence[str], log: EventLog, head: int) -> None:
    """Replace every view by copies of parts (schemas of the same database): each was folded from some sessions'
    events up to `head`, without problems."""
    with _emptied(folding, db):
        for projection in folding.projections:
            for table in projection.tables:
                for part in parts:
                    db.execute(f"INSERT INTO main.{table} SELECT * FROM {part}.{table}")
        note(db, folding.projections, head, log.sight(head).marks[0])


@contextmanager
def _emptied(folding: Folding, db: Database) -> Iterator[None]:
    """Empty tables without indexes: these are made in one go once there are all rows, which takes less time than
    keeping them up to date."""
    folding.empty(db)
    for projection in folding.projections:
        for statement in projection.schema:
            if (name := _INDEX.match(statement)) is not None:
                db.execute(f"DROP INDEX IF EXISTS {name[1]}")
    yield
    for projection in folding.projections:
        create(db, projection)
