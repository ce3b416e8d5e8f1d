"""The hub of all event streams: the newest events of the log, encoded once, and a bell for those who wait for more."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from domain.record import Recorded

KEPT = 4_096


@dataclass(frozen=True, slots=True)
class Frame:
    """An event, ready to be sent."""

    recorded: Recorded
    data: bytes

    @classmethod
    def of(cls, recorded: Recorded) -> "Frame":
        data = orjson.dumps(recorded.wire())
        return cls(recorded, b"id: %d\ndata: %b\n\n" % (recorded.position, data))


class Hub:
    """The newest frames, and a bell that rings for all who wait."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque(maxlen=KEPT)
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()
        self.position = self._before = 0
        self.clients = 0

    def begin(self, position: int) -> None:
        """Everything behind this position will be seen; what came before is read from the log."""
        self.position = self._before = position

    def seen(self, page: Sequence[Recorded]) -> None:
        """A page of the log, from the follower's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._add, tuple(page))

    def _add(self, page: Sequence[Recorded]) -> None:
        for recorded in page:
            if len(self._frames) == KEPT:
                self._before = self._frames[0].recorded.position
            self._frames.append(Frame.of(recorded))
        self.position = page[-1].position
        self._rung.set()
        self._rung = asyncio.Event()

    def since(self, position: int) -> list[Frame] | None:
        """The frames behind a position; None when it is too far back for what is kept."""
        if position < self._before:
            return None
        found: list[Frame] = []
        for frame in reversed(self._frames):
            if frame.recorded.position <= position:
                break
            found.append(frame)
        return found[::-1]

    def bell(self) -> asyncio.Event:
        return self._rung
