"""The newest events of the log as this process has committed them: this process does not read and decode them again."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from threading import Lock
from typing import Final

from adapters.store import Store
from adapters.store.port import PAGE
from domain.session.history import TextRedacted
from domain.session.record import Omitted, Recorded

KEPT: Final = 1_000
"""How many events are kept."""


class NewestEvents:
    """A log for those who follow it: what is not kept is read from the store. Safe for many threads.

    The kept events have neighbouring positions. Where another process has written in between, only later ones are kept.
    """

    def __init__(self, store: Store, *, most: int = KEPT) -> None:
        self._store, self._most = store, most
        self._events = deque[Recorded]()
        self._by_version = dict[tuple[str, int], Recorded]()
        self._lock = Lock()

    def keep(self, committed: Sequence[Recorded]) -> None:
        """Events that were just committed, in the order of the log."""
        with self._lock:
            if self._events and committed and committed[0].position != self._events[-1].position + 1:
                self._forget()
            for recorded in committed:
                if isinstance(recorded.event, TextRedacted):  # earlier events may still quote the text
                    self._forget()
                self._events.append(recorded)
                self._by_version[recorded.session_id, recorded.version] = recorded
            while len(self._events) > self._most:
                oldest = self._events.popleft()
                del self._by_version[oldest.session_id, oldest.version]

    def _forget(self) -> None:
        self._events.clear()
        self._by_version.clear()

    def find(self, session_id: str, version: int) -> Recorded | None:
        """One event, if it is kept."""
        return self._by_version.get((session_id, version))

    def head(self) -> int:
        """The newest position, 0 for an empty log."""
        return self._store.head()

    def log(self, *, after: int = 0, limit: int = PAGE, omitted: Omitted | None = None) -> Sequence[Recorded]:
        """The events after a position, at most `limit`, perhaps without some fields."""
        with self._lock:
            skipped = after + 1 - self._events[0].position if self._events else -1
            if 0 <= skipped < len(self._events):
                return list(islice(self._events, skipped, skipped + limit))
        return self._store.log(after=after, limit=limit, omitted=omitted)
