"""The newest end of the log as this process wrote it: whoever follows closely is spared reading it back."""

import threading
from collections import deque
from collections.abc import Iterable

from domain.record import Recorded

KEPT = 2_000


class Recent:
    """A stretch of the log without gaps, up to the newest event that this process has written. For many threads.

    What others wrote behind it is not known here: `behind` gives what is known, and only the file knows the end.
    """

    def __init__(self, size: int = KEPT) -> None:
        self._lock = threading.Lock()
        self._events: deque[Recorded] = deque(maxlen=size)

    def add(self, committed: Iterable[Recorded]) -> None:
        """Events that the file has, in order."""
        with self._lock:
            for recorded in committed:
                if self._events and recorded.position != self._events[-1].position + 1:
                    self._events.clear()  # others wrote in between
                self._events.append(recorded)

    def behind(self, position: int, limit: int) -> list[Recorded]:
        """The next events behind a position, at most so many; empty where the stretch does not say."""
        with self._lock:
            if not self._events or not self._events[0].position <= position + 1 <= self._events[-1].position:
                return []
            first = position + 1 - self._events[0].position
            last = min(first + limit, len(self._events)) if limit >= 0 else len(self._events)
            return [self._events[place] for place in range(first, last)]
