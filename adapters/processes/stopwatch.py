"""Time of a run: how long it has worked, without the pauses in which it waits for a person."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

_LOOK: Final = 1.0
"""Seconds between two checks while a person decides."""


class Stopwatch:
    """Runs from its creation; stops while it is paused."""

    def __init__(self, *, wall: float, idle: float, time: Callable[[], float]) -> None:
        self.wall, self.idle, self._time = wall, idle, time
        self._began = self._latest = self._time()
        self._pauses, self._since = 0, 0.0

    def heard(self) -> None:
        """The agent gave a sign of life."""
        self._latest = self._since if self._pauses else self._time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        if not self._pauses:
            self._since = self._time()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                away = self._time() - self._since
                self._began, self._latest = self._began + away, self._latest + away

    def over(self) -> Literal["timeout", "idle"] | None:
        """The limit that is reached, or None."""
        if self._pauses or self._left() > 0:
            return None
        return "timeout" if self._wall_left() <= 0 else "idle"

    async def watch(self, work: "asyncio.Future[Any]") -> Literal["timeout", "idle"] | None:
        """Wait until the task is done or a limit is reached."""
        while not work.done():
            if (limit := self.over()) is not None:
                return limit
            wait = _LOOK if self._pauses else max(self._left(), 0.001)
            await asyncio.wait({work}, timeout=wait)
        return None

    def _wall_left(self) -> float:
        return self._began + self.wall - self._time()

    def _left(self) -> float:
        return min(self._wall_left(), self._latest + self.idle - self._time())
