"""The record of a session, folded from its history and cached: every view of it is read from here.

It is there at any version. Its lists only grow, in the order of versions: a reader at version N takes the entries up
to N.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from pydantic import TypeAdapter

from domain.session.record import Recorded, redacted_sessions
from projections.engine.ports import Histories
from projections.engine.snapshots import Snapshot, Snapshots, digest_of, read_as
from projections.record.artifacts import Artifact, artifact_of
from projections.record.budget import BudgetLine
from projections.record.trail import Trail
from projections.record.turns import Entry, Turns, entry_of, follow
from projections.record.worklog import Worklog, write

KEPT_SESSIONS: Final = 64
KEPT_EVENTS: Final = 200_000
"""Limits of the records in memory: their number, and their events in total."""
LONG: Final = 2_048
"""Events from which on a history is folded ahead."""
RECORD: Final = "record"


@dataclass(slots=True)
class Record:
    """Everything recorded of a session, up to `version`."""

    version: int = 0
    entries: list[Entry] = field(default_factory=list)
    turns: Turns = field(default_factory=dict)
    budget: BudgetLine = field(default_factory=BudgetLine)
    artifacts: list[Artifact] = field(default_factory=list)
    worklog: Worklog = field(default_factory=Worklog)
    trail: Trail = field(default_factory=Trail)

    def add(self, recorded: Recorded) -> None:
        """Apply one more event. `version` is set last, so readers never see half of it."""
        follow(self.turns, recorded)
        self.entries.append(entry_of(self.turns, recorded))
        self.budget.add(recorded)
        artifact = artifact_of(recorded)
        if artifact is not None:
            self.artifacts.append(artifact)
        write(self.worklog, self.turns, recorded)
        self.trail.add(recorded)
        self.version = recorded.version


def record_of(history: Sequence[Recorded]) -> Record:
    """The record of a history from its first event on."""
    record = Record()
    for recorded in history:
        record.add(recorded)
    return record


@cache
def _record() -> TypeAdapter[Record]:
    """Built for the first long session: many servers have none."""
    return TypeAdapter(Record)


@cache
def rules() -> str:
    """Hash of the folding code; snapshots of other releases are ignored."""
    return digest_of("domain", "projections")


@dataclass(slots=True)
class _Kept:
    record: Record = field(default_factory=Record)
    snapshot: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Records:
    """Records by session: each history is folded once, then only new events. Safe for many threads."""

    def __init__(
        self,
        log: Histories,
        snapshots: Snapshots | None = None,
        *,
        sessions: int = KEPT_SESSIONS,
        events: int = KEPT_EVENTS,
    ) -> None:
        self.log = log
        self._snapshots, self._sessions, self._events = snapshots, sessions, events
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def forget(self, session_id: str | None) -> None:
        """Drop the record of a session from which a text was taken out, or of all (None)."""
        with self._lock:
            for each in list(self._kept) if session_id is None else [session_id]:
                self._kept.pop(each, None)

    def of(self, session_id: str, version: int) -> Record:
        """The record, at least up to that version. Raises what the log raises for an unreadable event."""
        cached = self._of(session_id)
        if cached.record.version < version:
            with cached.lock:
                if cached.record.version < version:
                    self._grow(session_id, cached, version)
            self._forget()
        return cached.record

    def prepare(self, session_id: str, version: int) -> None:
        """Fold a long history before it is opened, and have a snapshot kept, unless there is one that is nearly
        as new: it is what makes a page of twenty thousand events open at once after a restart."""
        if self._snapshots and version >= LONG:
            newest = self._snapshots.newest(session_id, RECORD, rules())
            if version >= self._due(newest):
                self.of(session_id, version)

    def _due(self, newest: int) -> int:
        """The version from which on a snapshot is worth its writing."""
        every = self._snapshots.every if self._snapshots else 0
        return newest + max(every, newest // 4)

    def _grow(self, session_id: str, cached: _Kept, version: int) -> None:
        """Fold event by event, from the snapshot if there is one."""
        if self._snapshots and cached.record.version == 0:
            snapshot = self._snapshots.read(session_id, RECORD, rules())
            cached.record = (snapshot and read_as(_record().validate_json, snapshot)) or cached.record
            cached.snapshot = cached.record.version
        record = cached.record
        history = self.log.history(session_id, after=record.version, upto=version)
        if record.version and redacted_sessions(history):
            record, cached.snapshot = Record(), 0
            history = self.log.history(session_id, upto=version)
        for recorded in history:
            record.add(recorded)
        cached.record = record
        if self._snapshots and record.version >= self._due(cached.snapshot):
            cached.snapshot = record.version
            state = _record().dump_json(record, exclude_defaults=True).decode()
            self._snapshots.offer(Snapshot(session_id, RECORD, record.version, rules(), state))

    def _of(self, session_id: str) -> _Kept:
        with self._lock:
            cached = self._kept.setdefault(session_id, _Kept())
            self._kept.move_to_end(session_id)
            return cached

    def _forget(self) -> None:
        """Keep the most recently used records."""
        with self._lock:
            held = sum(cached.record.version for cached in self._kept.values())
            while len(self._kept) > 1 and (len(self._kept) > self._sessions or held > self._events):
                held -= self._kept.popitem(last=False)[1].record.version
