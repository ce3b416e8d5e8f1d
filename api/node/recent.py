"""Caches of a limited size, which forget what was not used for longest."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, MutableMapping
from typing import Any, Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


def remember(cache: OrderedDict[K, T], key: K, value: T, most: int) -> T:
    """Put the value into the cache as the newest of at most so many, and return it."""
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > most:
        cache.popitem(last=False)
    return value


def drop(cache: MutableMapping[str, Any], session_id: str | None) -> None:
    """Take a session out of a cache by session, or all of them (None)."""
    if session_id is None:
        cache.clear()
    else:
        cache.pop(session_id, None)


class Recent(Generic[T]):
    """The answers to the latest questions. Safe for many threads; two that ask at the same time may both compute the
    answer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._forgotten = 0
        """How often answers were dropped: what was computed before is not kept."""

    def of(self, question: Hashable, make: Callable[[], T]) -> T:
        """The answer, computed if it is not cached."""
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
                return self._kept[question]
            forgotten = self._forgotten
        made = make()
        with self._lock:
            return made if forgotten != self._forgotten else remember(self._kept, question, made, self._most)

    def forget(self, _: str | None) -> None:
        """Drop all answers: each may quote a text that was taken out of a session."""
        with self._lock:
            self._forgotten += 1
            self._kept.clear()
