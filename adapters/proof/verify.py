"""Verification: is the file sound, is every chain unbroken, does everything fold, do derived tables match?

The first phase reads the stored bytes (`stored_bytes.py`). The second is about what the events say: each must load
and follow the rules; the lease table must know the same turns. It goes session by session, so that memory does not
grow with the log.
"""

from collections.abc import Callable, Iterable, Set
from functools import partial

from adapters.proof.contents import check_contents
from adapters.proof.neighbours import check_keys, check_links, check_receipts
from adapters.proof.stored_bytes import check_events, check_texts
from adapters.proof.verdict import LogFault, Unchecked, Verification
from adapters.store.port import Log
from adapters.store.rows import Rows
from adapters.store.sqlite.sealed_log import UNREADABLE
from domain.values.base import HansardError
from domain.values.sentences import sentence_of


def verify(
    store: Log,
    views: Callable[[], str | None] | None = None,
    *,
    witness: Callable[[], Iterable[LogFault]] | None = None,
    covered: int = 0,
    allowed: Set[str] = frozenset(),
) -> Verification:
    """Check everything that can be checked with the log alone. `views` reports what is wrong with the views, if given;
    it raises Unchecked if it cannot check them, as does `witness`, which reports the events that are not those that the
    views were made from. `covered`: how many events a checkpoint covers; of them only quotes of
    the `allowed` texts may have been redacted."""
    verdict = Verification()
    _guarded(verdict, lambda: _log(store, verdict, covered, allowed))
    if witness is not None:
        _witness(verdict, witness)
    if views is not None and verdict.sound:
        _guarded(verdict, lambda: _views(verdict, views))
    return verdict


def verify_stored(store: Log) -> Verification:
    """The first phase alone: the stored bytes."""
    verdict = Verification()
    with store.rows.frozen() as rows:
        _stored(rows, verdict)
    return verdict


def _log(store: Log, verdict: Verification, covered: int, allowed: Set[str]) -> None:
    """Check the log at one moment, because other processes may be writing."""
    with store.rows.frozen() as rows:
        _guarded(verdict, partial(_integrity, rows, verdict))
        _stored(rows, verdict, covered, allowed)
        _guarded(verdict, partial(check_contents, rows, verdict))


def _stored(rows: Rows, verdict: Verification, covered: int = 0, allowed: Set[str] = frozenset()) -> None:
    _guarded(verdict, partial(check_events, rows, verdict, covered=covered, allowed=allowed))
    for step in (check_texts, check_receipts, check_keys, check_links):
        _guarded(verdict, partial(step, rows, verdict))


def _guarded(verdict: Verification, step: Callable[[], None]) -> None:
    """Unreadable events are faults; the rest is checked anyway."""
    try:
        step()
    except (HansardError, *UNREADABLE) as error:
        verdict.blame(None, sentence_of(error))


def _views(verdict: Verification, views: Callable[[], str | None]) -> None:
    try:
        trouble = views()
    except Unchecked as error:
        verdict.unchecked = str(error)
        return
    if trouble is not None:
        verdict.blame(None, trouble)


def _witness(verdict: Verification, witness: Callable[[], Iterable[LogFault]]) -> None:
    """Add what the views know. An event that does not fit its own hash has been named already."""
    named = {fault.position for fault in verdict.faults}
    try:
        for fault in witness():
            if fault.position not in named:
                verdict.blame(fault.position, fault.problem)
    except Unchecked as error:
        verdict.unchecked = str(error)


def _integrity(rows: Rows, verdict: Verification) -> None:
    for problem in rows.integrity():
        verdict.blame(None, f"{rows.engine}: {problem}")
