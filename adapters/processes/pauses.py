"""Time that does not count towards the limits of a run, because a person is asked meanwhile."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Pauses:
    """The pauses of one run; several may overlap. Belongs to one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open, self._since = 0, 0.0
        self.seconds = self.ended = 0.0
        """The total of all finished pauses, and when the last one ended (time of the loop)."""

    @property
    def lasts(self) -> bool:
        """True if there is one now."""
        return self._open > 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        if not self._open:
            self._since = self._loop.time()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self.ended = self._loop.time()
                self.seconds += self.ended - self._since
