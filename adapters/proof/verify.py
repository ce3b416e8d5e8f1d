"""Verification: is the file sound, is every chain unbroken, does everything fold, do derived tables match?"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from adapters.proof.merkle import Tree
from adapters.proof.references import PositionOrder, mentioned
from adapters.store import DamagedEvent, StoreError
from adapters.store.mapper import decode
from adapters.store.port import PAGE, Log, Row, Rows
from adapters.store.sqlite.sealed import UNREADABLE
from domain.kinds import fold
from domain.session.record import Recorded, kind_of
from domain.session.redaction import REDACTED, TextRedacted
from domain.session.state import Session
from domain.session.turns import Settled, TurnAttemptFailed, TurnFailed, TurnRequested, TurnRetried
from domain.values.base import HansardError
from domain.values.time import milliseconds

MOST = 100
_DIGEST: Final = re.compile("[0-9a-f]{64}")

Turn = tuple[str, int, str, str, str, int, int | None]
"""Session, version of the request, work, agent, role, time of the request, deadline."""


class Unchecked(HansardError):
    """Something outside the log could not be checked; that says nothing about the log."""


@dataclass(frozen=True, slots=True)
class LogFault:
    """What is wrong, and where: a position of the log, or None for the file as a whole."""

    position: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class NamedRedaction:
    """A text that was removed from the log, and the event that says so."""

    digest: str
    session_id: str
    position: int
    actor: str
    reason: str


@dataclass(slots=True)
class Verification:
    """What a verification found; `root` is the tree head over all events (hex), `unchecked` why the views were not."""

    events: int = 0
    sessions: int = 0
    head: int = 0
    root: str = ""
    unchecked: str | None = None
    redacted: list[NamedRedaction] = field(default_factory=list)
    faults: list[LogFault] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.faults

    @property
    def first_bad(self) -> int | None:
        """The first position with a fault; None if none is known."""
        return min((fault.position for fault in self.faults if fault.position is not None), default=None)

    def blame(self, position: int | None, problem: str) -> None:
        if len(self.faults) < MOST:
            self.faults.append(LogFault(position, problem))


@dataclass(slots=True)
class _Seen:
    """What the events say, for comparison with the other tables."""

    heads: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    sessions: dict[str, Session | None] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    order: PositionOrder = field(default_factory=PositionOrder)
    changed: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    """Position and SHA-256 of each event that differs from the hashed one."""


def verify(store: Log, views: Callable[[], str | None] | None = None) -> Verification:
    """Everything that can be checked with the log alone. `views` reports what is wrong with the views, if given; it
    raises Unchecked if it cannot check them."""
    verdict = Verification()
    _guarded(verdict, lambda: _log(store, verdict))
    if views is not None and verdict.sound:
        _guarded(verdict, lambda: _views(verdict, views))
    return verdict


def _log(store: Log, verdict: Verification) -> None:
    """The log at one moment, because other processes may be writing."""
    seen = _Seen()
    with store.rows.frozen() as rows:
        steps = (_integrity, _events, _texts, _turns, _keys)
        for step in steps:
            _guarded(verdict, partial(step, rows, verdict, seen))


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


def _integrity(rows: Rows, verdict: Verification, _: _Seen) -> None:
    for problem in rows.integrity():
        verdict.blame(None, f"SQLite: {problem}")


def _events(rows: Rows, verdict: Verification, seen: _Seen) -> None:
    tree = Tree()
    for row in _readable(rows, verdict):
        if row.position != verdict.head + 1:
            verdict.blame(verdict.head + 1, _missing(verdict.head + 1, row.position - 1))
        verdict.events += 1
        verdict.head = row.position
        tree.add(row.hash)
        _chained(verdict, row, seen)
        _folded(verdict, row, seen)
    verdict.sessions, verdict.root = len(seen.heads), tree.root().hex()
    for (stream, version), (position, _) in seen.changed.items():
        verdict.blame(position, f"{stream} version {version} has been changed: its hash does not fit")
    given = rows.last_given()
    if given != verdict.head:
        verdict.blame(verdict.head + 1, f"positions up to {given} were given out, the log ends at {verdict.head}")


def _missing(first: int, last: int) -> str:
    if first == last:
        return f"the event of position {first} is missing"
    return f"the events of positions {first} to {last} are missing"


def _readable(rows: Rows, verdict: Verification) -> Iterator[Row]:
    """The readable rows; the others are reported one by one, up to the limit of faults."""
    after, page = 0, PAGE
    while len(verdict.faults) < MOST:
        try:
            for row in rows.events(after=after, page=page):
                after = row.position
                yield row
            return
        except StoreError as error:
            if page == 1:
                after += 1
                verdict.blame(after, str(error))
            page = 1


def _chained(verdict: Verification, row: Row, seen: _Seen) -> None:
    version, previous = seen.heads.get(row.stream, (0, b""))
    if row.version != version + 1:
        verdict.blame(row.position, f"version {row.version} of {row.stream} follows version {version}")
    if row.chained(previous) != row.hash:
        seen.changed[row.stream, row.version] = (row.position, hashlib.sha256(row.state).hexdigest())
    seen.heads[row.stream] = (row.version, row.hash)


def _folded(verdict: Verification, row: Row, seen: _Seen) -> None:
    try:
        recorded: Recorded = decode(row.stored(), row.position)
        before = seen.sessions.get(row.stream)
        seen.sessions[row.stream] = fold(kind_of(row.stream), [(recorded.event, recorded.metadata)], before)
    except Exception as error:  # whatever the rules raise for an event, it is a fault of the log and not of ours
        why = error.why if isinstance(error, DamagedEvent) else f"{type(error).__name__}: {error}"
        verdict.blame(row.position, f"{row.topic} of {row.stream} cannot be read: {why}")
        return
    for position, problem in seen.order.follow(recorded):
        verdict.blame(position, problem)
    for digest in mentioned(row.state):
        seen.texts.setdefault(digest, row.position)
    match recorded.event:
        case TextRedacted() as event:
            _redacted(verdict, recorded, event, seen)
        case TurnRequested() as event:
            place = (row.stream, row.version, event.work, event.agent, event.role)
            seen.turns[event.turn_id] = (*place, recorded.at, _instant(event.deadline))
        case TurnAttemptFailed() as event:
            _asked_again(seen, event.turn_id, event.fallback_agent, event.deadline)
        case TurnRetried() as event:
            _asked_again(seen, event.turn_id, event.agent, event.deadline)
        case TurnFailed():
            return  # a person may have it asked again
        case Settled() as event:
            seen.turns.pop(event.turn_id, None)
        case _:
            return


def _redacted(verdict: Verification, recorded: Recorded, event: TextRedacted, seen: _Seen) -> None:
    """The events that it names may have changed, but only into exactly what it says."""
    about = (recorded.session_id, recorded.position, recorded.causation.actor, event.reason)
    verdict.redacted.append(NamedRedaction(event.digest, *about))
    for each in event.events:
        _, now = seen.changed.get((recorded.session_id, each.version), (0, ""))
        if now == each.hash:
            del seen.changed[recorded.session_id, each.version]


def _asked_again(seen: _Seen, turn_id: str, agent: str | None, deadline: str | None) -> None:
    """Perhaps another agent is asked from now on, and until another time."""
    if turn_id in seen.turns:
        stream, version, work, before, role, at, _ = seen.turns[turn_id]
        seen.turns[turn_id] = (stream, version, work, agent or before, role, at, _instant(deadline))


def _instant(text: str | None) -> int | None:
    return None if text is None else milliseconds(text)


def _texts(rows: Rows, verdict: Verification, seen: _Seen) -> None:
    """Every text that is referred to must exist and match its digest."""
    missing = dict(seen.texts)
    redacted = {text.digest for text in verdict.redacted}
    for digest, content in rows.texts():
        gone = digest in redacted and content == REDACTED
        if not gone and hashlib.sha256(content.encode()).hexdigest() != digest:
            verdict.blame(seen.texts.get(digest), f"the text {digest} has been changed")
        missing.pop(digest, None)
    for digest, position in missing.items():
        verdict.blame(position, f"the text {digest} is missing")


def _turns(rows: Rows, verdict: Verification, seen: _Seen) -> None:
    """The lease table must wait for the same turns as the log."""
    outstanding = {turn for session in seen.sessions.values() if session for turn in session.outstanding}
    waited = {turn: found for turn, found in seen.turns.items() if turn in outstanding}
    leased = rows.open_turns()
    for turn in sorted(waited.keys() ^ leased.keys()):
        where = "the log" if turn in waited else "the lease table"
        verdict.blame(None, f"only {where} has {turn} as not settled")
    for turn in sorted(waited.keys() & leased.keys()):
        *ours, due = waited[turn]
        *theirs, leased_until = leased[turn]
        if ours != theirs or leased_until not in (None, due):  # imported turns have no deadline
            verdict.blame(None, f"the lease table says of {turn} something else than the log")


def _keys(rows: Rows, verdict: Verification, _: _Seen) -> None:
    """Nobody can check who was given a key, but an invalid digest was not written by us."""
    for name, digest, scope, expires in rows.api_keys():
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            verdict.blame(None, f"the key of {name} has no SHA-256 as its digest")
        if not (isinstance(scope, str) and scope) or not isinstance(expires, int | None):
            verdict.blame(None, f"the key of {name} has no valid scope or end")
