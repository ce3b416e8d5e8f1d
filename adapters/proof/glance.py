"""A quick look at a log and its views, without reading all of it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from adapters.store.errors import StoreError
from adapters.store.location import reading
from adapters.store.sqlite.sealed_log import UNREADABLE, read_only
from adapters.store.sqlite.views import damage_of, is_unavailable
from domain.values.sentences import Sentence, sentence_of

# A quick look at a log and its views, without reading all of it.
NEWEST: Final = 500
"""Events at the end of the log that are read."""
_PROBLEMS: Final = (
    "SELECT 'event', position, error FROM unreadable UNION ALL"
    " SELECT 'view ' || view, failed_at, error FROM progress WHERE error IS NOT NULL ORDER BY 1, 2 LIMIT 100"
)


def glance(log: str, views: Path) -> list[str]:
    """The parts of the log (by its URL) that could not be read while it was followed, which views have stopped,
    whether the file is sound and its end can be read. Changes nothing; empty when nothing is known.
    """
    return [*_told_by(views), *_at_the_end(log)]


def _told_by(views: Path) -> Iterator[str]:
    if not views.is_file():
        return
    if (damage := damage_of(views)) is not None:
        yield Sentence("fault_views_damaged", path=views, detail=damage)
        return
    try:
        with closing(read_only(views)) as connection:
            problems = connection.execute(_PROBLEMS).fetchall()
    except UNREADABLE as error:
        if is_unavailable(error):  # else they have another schema and are rebuilt
            yield Sentence("fault_views_unreadable", path=views, detail=error)
    else:
        yield from (f"{subject} at position {position}: {error}" for subject, position, error in problems)


def _at_the_end(log: str) -> Iterator[str]:
    try:
        with reading(log) as store:
            yield from (
                Sentence("fault_log_damaged", detail=" ".join(fault.split()))
                for fault in store.rows.integrity(quick=True)
            )
            store.log(after=max(0, store.head() - NEWEST), limit=NEWEST)
    except StoreError as error:
        yield sentence_of(error)
