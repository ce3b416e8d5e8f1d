"""What agents do right now: a short ring of frames per running turn, in memory only. What lasts is recorded events."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from adapters.agents.activity import Activity
from domain.values.time import iso

FRAMES: Final = 1_000
"""Frames that are kept of a turn; the oldest go first."""


class Frame(Activity):
    """An activity with its place in the turn, counted from 1, and its time (ISO)."""

    seq: int
    at: str


class Live:
    """The rings of the turns that run in this process. From any thread."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock, self._lock = clock, threading.Condition()
        self._rings: dict[str, deque[Frame]] = {}

    @contextmanager
    def turn(self, turn_id: str) -> Iterator[Callable[[Activity], None]]:
        """The listener of a turn, whose ring lasts as long as the turn runs."""
        ring: deque[Frame] = deque(maxlen=FRAMES)
        with self._lock:
            self._rings[turn_id] = ring
        try:
            yield lambda activity: self._add(ring, activity)
        finally:
            with self._lock:
                if self._rings.get(turn_id) is ring:
                    del self._rings[turn_id]
                self._lock.notify_all()

    def frames(self, turn_id: str, *, after: int = 0) -> tuple[Frame, ...] | None:
        """The frames with a higher number; None for a turn that does not run here."""
        with self._lock:
            ring = self._rings.get(turn_id)
            return None if ring is None else tuple(frame for frame in ring if frame.seq > after)

    def wait(self, turn_id: str, *, after: int, seconds: float) -> tuple[Frame, ...] | None:
        """The same, waiting until there are some or the turn has ended, at most so long."""
        with self._lock:
            self._lock.wait_for(lambda: self.frames(turn_id, after=after) != (), timeout=seconds)
        return self.frames(turn_id, after=after)

    def _add(self, ring: "deque[Frame]", activity: Activity) -> None:
        with self._lock:
            number = ring[-1].seq + 1 if ring else 1
            fields = {name: getattr(activity, name) for name in Activity.model_fields}
            ring.append(Frame(seq=number, at=iso(self._clock()), **fields))
            self._lock.notify_all()
