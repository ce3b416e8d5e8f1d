"""What several tabs ask for at once is made once.

Every tab of a session hears of an event at the same moment and asks for the same thing.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

T = TypeVar("T")

MOST: Final = 64
"""Answers kept at once."""
LONGEST: Final = 512 * 1024
"""Characters or bytes of an answer that is kept; a longer one is shared only by those who wait for it."""


class Shared:
    """Answers that are functions of the log, kept until it moves. Belongs to one event loop."""

    def __init__(self) -> None:
        self._head = 0
        self._made: dict[Hashable, asyncio.Task[Any]] = {}

    async def of(self, head: int, key: Hashable, make: Callable[[], T]) -> T:
        """The answer as of a head of the log; made in a thread. Raises what `make` raises, which is not kept."""
        if head > self._head:
            self._head, self._made = head, {}
        made = self._made
        if head < self._head or (key not in made and len(made) >= MOST):
            return await asyncio.to_thread(make)
        if key not in made:
            made[key] = asyncio.create_task(asyncio.to_thread(make))
            made[key].add_done_callback(lambda task: _forget(made, key, task))
        answer: T = await asyncio.shield(made[key])
        return answer


def _forget(made: dict[Hashable, "asyncio.Task[Any]"], key: Hashable, task: "asyncio.Task[Any]") -> None:
    """What failed is tried again; what is long is not held on to."""
    failed = task.cancelled() or task.exception() is not None
    if failed or (isinstance(task.result(), str | bytes) and len(task.result()) > LONGEST):
        del made[key]
