"""The newest end of the log as this process wrote it: whoever follows closely is spared reading it back."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from domain.record import Recorded

KEPT = 2_000


class Recent:
    """The log for whoever comes back until there is nothing more behind the last position. For many threads.

    What this process wrote last is remembered, as a stretch without gaps; the rest is read. Of a page that ends where
    the stretch does, only the next one says whether others have written behind it.
    """

    def __init__(self, read: Callable[..., Sequence[Recorded]], head: Callable[[], int], *, size: int = KEPT) -> None:
        self._read, self.head = read, head
        self._lock = threading.Lock()
        self._events: deque[Recorded] = deque(maxlen=size)

    def add(self, committed: Iterable[Recorded]) -> None:
        """Events that the file has, in order."""
        with self._lock:
            for recorded in committed:
                if self._events and recorded.position != self._events[-1].position + 1:
                    self._events.clear()  # others wrote in between
                self._events.append(recorded)

    def log(self, *, after: int = 0, limit: int = KEPT) -> Sequence[Recorded]:
        """The next events behind a position, at most so many; none only where the log has none."""
        return self._known(after, limit) or self._read(after=after, limit=limit)

    def _known(self, after: int, limit: int) -> list[Recorded]:
        with self._lock:
            if not self._events or not self._events[0].position <= after + 1 <= self._events[-1].position:
                return []
            first = after + 1 - self._events[0].position
            return [self._events[place] for place in range(first, min(first + limit, len(self._events)))]
