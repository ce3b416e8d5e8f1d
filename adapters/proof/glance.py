"""A glance at a record, for those who look after it: what is known to be wrong without reading all of it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from adapters.store import StoreError
from adapters.store.sqlite.sealed import UNREADABLE, read_only, sealed
from adapters.store.sqlite.views import unavailable

NEWEST: Final = 500
"""Events at the end of the log that are read."""
_PROBLEMS: Final = (
    "SELECT 'event', position, error FROM unreadable UNION ALL"
    " SELECT 'view ' || view, failed_at, error FROM progress WHERE error IS NOT NULL ORDER BY 1, 2 LIMIT 100"
)


def glance(log: Path, views: Path) -> list[str]:
    """What whoever followed the log could not read, which views have stopped, and whether its end can be read. Changes
    nothing; empty when nothing is known."""
    return [*_told_by(views), *_at_the_end(log)]


def _told_by(views: Path) -> Iterator[str]:
    if not views.is_file():
        return
    try:
        with closing(read_only(views)) as connection:
            found = connection.execute(_PROBLEMS).fetchall()
    except UNREADABLE as error:
        if unavailable(error):  # else they are of another shape, and are made anew
            yield f"the views {views} cannot be read: {error}"
    else:
        yield from (f"{subject} at position {position}: {error}" for subject, position, error in found)


def _at_the_end(log: Path) -> Iterator[str]:
    try:
        with sealed(log) as store:
            store.log(after=max(0, store.head() - NEWEST), limit=NEWEST)
    except StoreError as error:
        yield str(error)
