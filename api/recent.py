"""A cache of recent results."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The answers to the latest questions. Safe for many threads; two that ask at the same time may both compute the
    answer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def of(self, question: Hashable, make: Callable[[], T]) -> T:
        """The answer, computed if it is not cached."""
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
                return self._kept[question]
        made = make()
        with self._lock:
            self._kept[question] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made
