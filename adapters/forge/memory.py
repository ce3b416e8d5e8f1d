"""Answers about people that hold for a minute, so that a list of their comments asks about each of them once."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

A = TypeVar("A")
SECONDS: Final = 60.0
_MOST: Final = 1_000


class Memory(Generic[A]):
    """Answers by key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, A]] = OrderedDict()

    async def of(self, key: str, ask: Callable[[], Awaitable[A]]) -> A:
        """The answer of the last minute, else a new one."""
        noted = self._answers.get(key)
        if noted is not None and self._clock() - noted[0] < SECONDS:
            return noted[1]
        answer = await ask()
        self._answers[key] = (self._clock(), answer)
        self._answers.move_to_end(key)
        while len(self._answers) > _MOST:
            self._answers.popitem(last=False)
        return answer
