"""Verification: is the file sound, is every chain unbroken, does everything fold, is what follows from it the same?"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.audit.merkle import Tree
from adapters.store import SqliteStore
from adapters.store.entries import decode
from adapters.store.rows import Row
from domain.base import HansardError
from domain.record import Recorded, kind_of
from domain.session import Session
from domain.sessions import fold

MOST = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where: a position of the log, or None for the file as a whole."""

    position: int | None
    problem: str


@dataclass(slots=True)
class Verdict:
    """What a verification found; `root` is the tree head over all events (hex)."""

    events: int = 0
    sessions: int = 0
    head: int = 0
    root: str = ""
    faults: list[Fault] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.faults

    def blame(self, position: int | None, problem: str) -> None:
        if len(self.faults) < MOST:
            self.faults.append(Fault(position, problem))


def verify(store: SqliteStore, views: Callable[[], str | None] | None = None) -> Verdict:
    """Everything that can be checked with the log alone. `views` says what is wrong with the views, if asked to."""
    verdict = Verdict()
    for problem in store.rows.integrity():
        verdict.blame(None, f"SQLite: {problem}")
    try:
        sessions = _events(store, verdict)
        _texts(store, verdict)
        _turns(store, verdict, sessions)
    except HansardError as error:
        verdict.blame(None, str(error))
    trouble = views() if views is not None and verdict.sound else None
    if trouble is not None:
        verdict.blame(None, trouble)
    return verdict


def _events(store: SqliteStore, verdict: Verdict) -> dict[str, Session | None]:
    heads: dict[str, tuple[int, bytes]] = {}
    sessions: dict[str, Session | None] = {}
    tree = Tree()
    for row in store.rows.events():
        verdict.events += 1
        verdict.head = row.position
        tree.add(row.hash)
        version, previous = heads.get(row.stream, (0, b""))
        if row.version != version + 1:
            verdict.blame(row.position, f"version {row.version} of {row.stream} follows version {version}")
        if row.chained(previous) != row.hash:
            verdict.blame(row.position, f"{row.stream} version {row.version} has been changed: its hash does not fit")
        heads[row.stream] = (row.version, row.hash)
        sessions[row.stream] = _fold(verdict, row, sessions.get(row.stream))
    if store.rows.last_given() != verdict.head:
        verdict.blame(verdict.head, f"positions up to {store.rows.last_given()} were given out, the log ends before")
    verdict.sessions, verdict.root = len(heads), tree.root().hex()
    return sessions


def _fold(verdict: Verdict, row: Row, before: Session | None) -> Session | None:
    try:
        recorded: Recorded = decode(row.stored(), row.position)
        return fold(kind_of(row.stream), [(recorded.event, recorded.moment)], before)
    except Exception as error:  # whatever an event makes of the rules, it is a fault of the log and not of ours
        verdict.blame(row.position, f"{row.topic} of {row.stream} cannot be read: {type(error).__name__}: {error}")
        return before


def _texts(store: SqliteStore, verdict: Verdict) -> None:
    for digest, content in store.rows.texts():
        if hashlib.sha256(content.encode()).hexdigest() != digest:
            verdict.blame(None, f"the text {digest} has been changed")


def _turns(store: SqliteStore, verdict: Verdict, sessions: dict[str, Session | None]) -> None:
    """The lease table has to wait for what the log waits for."""
    waited = {turn for session in sessions.values() if session for turn in session.outstanding}
    differing = waited ^ store.rows.open_turns()
    for turn in sorted(differing):
        where = "the log" if turn in waited else "the lease table"
        verdict.blame(None, f"only {where} has {turn} as not settled")
