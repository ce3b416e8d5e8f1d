"""Collects the hosts that a program was refused. It chooses them, so their number and their length are limited."""

import re
import threading
from typing import Final

from domain.values.network import MOST_REFUSED, RefusalReason, RefusedHost

_LONGEST: Final = 255
_STRANGE: Final = re.compile(r"[^a-z0-9._:\[\]-]")


class Refusals:
    """The refused hosts of one turn, in the order in which they were first refused. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, int, RefusalReason], int] = {}

    def add(self, host: str, port: int, reason: RefusalReason) -> bool:
        """Count the refusal. Returns whether it is the first of its kind. Beyond `MOST_REFUSED` kinds none is kept."""
        key = (_STRANGE.sub("?", host.lower()[:_LONGEST]), port, reason)
        with self._lock:
            is_new = key not in self._seen
            if is_new and len(self._seen) >= MOST_REFUSED:
                return False
            self._seen[key] = self._seen.get(key, 0) + 1
        return is_new

    def hosts(self) -> tuple[RefusedHost, ...]:
        """Returns what was refused so far."""
        with self._lock:
            seen = list(self._seen.items())
        return tuple(
            RefusedHost(host=host, port=port, reason=reason, count=count) for (host, port, reason), count in seen
        )
