"""The events that findings are made of. Of a history these alone are read, once, then only what is new: a page that
shows the findings of twenty thousand events while an agent works would otherwise read all of them with each event.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from domain.session.record import Recorded, redacted_sessions
from domain.session.redaction import TextRedacted
from projections.record.moments import TOPICS, tells

KEPT_SESSIONS: Final = 64
KEPT_EVENTS: Final = 20_000
"""Limits of what is in memory: sessions, and their kept events in total."""
_READ: Final = (*TOPICS, TextRedacted.TOPIC)


class SortedHistories(Protocol):
    """The log, by session and by the names of events."""

    def history(
        self, session_id: str, *, after: int = 0, upto: int | None = None, topics: Sequence[str] | None = None
    ) -> Sequence[Recorded]: ...


@dataclass(slots=True)
class _FindingHistory:
    version: int = 0
    events: list[Recorded] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, history: Iterable[Recorded], version: int) -> None:
        self.events += [recorded for recorded in history if tells(recorded.event)]
        self.version = version


class FindingEvents:
    """Keeps what tells of findings, by session. Safe for many threads."""

    def __init__(self, log: SortedHistories, *, sessions: int = KEPT_SESSIONS, events: int = KEPT_EVENTS) -> None:
        self._log, self._sessions, self._events = log, sessions, events
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _FindingHistory] = OrderedDict()

    def forget(self, session_id: str | None) -> None:
        """Drop what is kept of a session from which a text was taken out, or of all (None)."""
        with self._lock:
            for each in list(self._kept) if session_id is None else [session_id]:
                self._kept.pop(each, None)

    def of(self, session_id: str, version: int) -> Sequence[Recorded]:
        """Return those up to that version, in order. Raises what the log raises for an unreadable event."""
        with self._lock:
            cached = self._kept.setdefault(session_id, _FindingHistory())
            self._kept.move_to_end(session_id)
        with cached.lock:
            if cached.version < version:
                self._grow(session_id, cached, version)
            result = cached.events[: bisect_right(cached.events, version, key=lambda recorded: recorded.version)]
        self._limit()
        return result

    def _grow(self, session_id: str, cached: _FindingHistory, version: int) -> None:
        history = self._log.history(session_id, after=cached.version, upto=version, topics=_READ)
        if cached.version and redacted_sessions(history):
            cached.version, cached.events = 0, []
            history = self._log.history(session_id, upto=version, topics=_READ)
        cached.add(history, version)

    def _limit(self) -> None:
        """Keep the most recently used."""
        with self._lock:
            held = sum(len(cached.events) for cached in self._kept.values())
            while len(self._kept) > 1 and (len(self._kept) > self._sessions or held > self._events):
                held -= len(self._kept.popitem(last=False)[1].events)
