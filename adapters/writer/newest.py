"""The newest events of the log as this process has committed them: this process does not read and decode them again."""

from collections import deque
from collections.abc import Sequence
from itertools import islice
from threading import Lock
from typing import Final

from adapters.store.port import PAGE, Store
from domain.session.record import Omitted, Recorded, Sight
from domain.session.turns import TurnRequested

KEPT: Final = 1_000
KEPT_REQUESTS: Final = 300
"""How many events are kept, and how many requests for turns, which workers look for one by one."""


class NewestEvents:
    """A log for those who follow it: what is not kept is read from the store. Safe for many threads.

    The kept events have neighbouring positions. Where another process has written in between, only later ones are kept.
    """

    def __init__(self, store: Store, *, most: int = KEPT) -> None:
        self._store = store
        self._events = deque[Recorded](maxlen=most)
        self._requests = dict[tuple[str, int], Recorded]()
        self._epoch: int | None = None
        self._lock = Lock()

    def keep(self, committed: Sequence[Recorded]) -> None:
        """Events that were just committed, in the order of the log."""
        with self._lock:
            if self._events and committed and committed[0].position != self._events[-1].position + 1:
                self._forget()
            for recorded in committed:
                if isinstance(recorded.event, TurnRequested):
                    self._requests[recorded.session_id, recorded.version] = recorded
                self._events.append(recorded)
            while len(self._requests) > KEPT_REQUESTS:
                del self._requests[next(iter(self._requests))]

    def forget(self, _: str | None) -> None:
        """Drop everything: the newest events of any session may quote a text that was taken out of one."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._events.clear()
        self._requests.clear()

    def request(self, session_id: str, version: int) -> Recorded | None:
        """The request of a turn, if it is kept."""
        return self._requests.get((session_id, version))

    def head(self) -> int:
        """The newest position, 0 for an empty log."""
        return self._store.head()

    def sight(self, *positions: int) -> Sight:
        """The end of the log and the marks of its events, always from the store. Where it has gone back, nothing that
        was kept before is read again."""
        sight = self._store.sight(*positions)
        with self._lock:
            if self._epoch not in (None, sight.epoch):
                self._forget()
            self._epoch = sight.epoch
        return sight

    def gone_back(self, since: int) -> int:
        """Drop everything, and note that the log has gone back; its epoch now."""
        self.forget(None)
        return self._store.gone_back(since)

    def log(self, *, after: int = 0, limit: int = PAGE, omitted: Omitted | None = None) -> Sequence[Recorded]:
        """The events after a position, at most `limit`, perhaps without some fields."""
        with self._lock:
            skipped = after + 1 - self._events[0].position if self._events else -1
            if 0 <= skipped < len(self._events):
                return list(islice(self._events, skipped, skipped + limit))
        return self._store.log(after=after, limit=limit, omitted=omitted)
