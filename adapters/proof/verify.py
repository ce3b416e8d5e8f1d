"""Verification: is the file sound, is every chain unbroken, does everything fold, do derived tables match?"""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from adapters.proof.contents import check_contents
from adapters.proof.faults import Unchecked, Verification
from adapters.proof.stored import check_events, check_keys, check_receipts, check_texts
from adapters.store import StoreError, reading
from adapters.store.port import Log
from adapters.store.rows import Rows
from adapters.store.sqlite.rows import UNREADABLE, read_only
from adapters.store.sqlite.views import damage_of, is_unavailable
from domain.values.base import HansardError


def verify(store: Log, views: Callable[[], str | None] | None = None) -> Verification:
    """Everything that can be checked with the log alone. `views` reports what is wrong with the views, if given; it
    raises Unchecked if it cannot check them."""
    verdict = Verification()
    _guarded(verdict, lambda: _log(store, verdict))
    if views is not None and verdict.sound:
        _guarded(verdict, lambda: _views(verdict, views))
    return verdict


def verify_stored(store: Log) -> Verification:
    """The first phase alone: the stored bytes."""
    verdict = Verification()
    with store.rows.frozen() as rows:
        _stored(rows, verdict)
    return verdict


def _log(store: Log, verdict: Verification) -> None:
    """The log at one moment, because other processes may be writing."""
    with store.rows.frozen() as rows:
        _guarded(verdict, partial(_integrity, rows, verdict))
        _stored(rows, verdict)
        _guarded(verdict, partial(check_contents, rows, verdict))


def _stored(rows: Rows, verdict: Verification) -> None:
    for step in (check_events, check_texts, check_receipts, check_keys):
        _guarded(verdict, partial(step, rows, verdict))


def _guarded(verdict: Verification, step: Callable[[], None]) -> None:
    """Unreadable events are faults; the rest is checked anyway."""
    try:
        step()
    except (HansardError, *UNREADABLE) as error:
        verdict.blame(None, str(error))


def _views(verdict: Verification, views: Callable[[], str | None]) -> None:
    try:
        trouble = views()
    except Unchecked as error:
        verdict.unchecked = str(error)
        return
    if trouble is not None:
        verdict.blame(None, trouble)


def _integrity(rows: Rows, verdict: Verification) -> None:
    for problem in rows.integrity():
        verdict.blame(None, f"{rows.engine}: {problem}")


# A quick look at a log and its views, without reading all of it.


NEWEST: Final = 500
"""Events at the end of the log that are read."""
_PROBLEMS: Final = (
    "SELECT 'event', position, error FROM unreadable UNION ALL"
    " SELECT 'view ' || view, failed_at, error FROM progress WHERE error IS NOT NULL ORDER BY 1, 2 LIMIT 100"
)


def glance(log: str, views: Path) -> list[str]:
    """What could not be read of the log (by its URL) while it was followed, which views have stopped, whether the file
    is sound and its end can be read. Changes nothing; empty when nothing is known."""
    return [*_told_by(views), *_at_the_end(log)]


def _told_by(views: Path) -> Iterator[str]:
    if not views.is_file():
        return
    if (damage := damage_of(views)) is not None:
        yield f"the views {views} are damaged ({damage}); the next start builds them again"
        return
    try:
        with closing(read_only(views)) as connection:
            problems = connection.execute(_PROBLEMS).fetchall()
    except UNREADABLE as error:
        if is_unavailable(error):  # else they have another schema and are rebuilt
            yield f"the views {views} cannot be read: {error}"
    else:
        yield from (f"{subject} at position {position}: {error}" for subject, position, error in problems)


def _at_the_end(log: str) -> Iterator[str]:
    try:
        with reading(log) as store:
            yield from (f"the log is damaged: {' '.join(fault.split())}" for fault in store.rows.integrity(quick=True))
            store.log(after=max(0, store.head() - NEWEST), limit=NEWEST)
    except StoreError as error:
        yield str(error)
