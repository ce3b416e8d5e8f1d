"""Writes copies of what changed, one by one in a thread of its own.

For things outside the views (files, snapshots), so that a slow or full disk delays neither the views nor anyone who
waits for them. If something changes again before its turn, only the newest change is kept.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

RETRY: Final = 5.0
"""Seconds until a failed change is tried again."""
LONGEST: Final = 10
"""A change of a thing that never rests waits at most this many times its `rest`."""

_log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class Due(NamedTuple):
    """Since when a change waits for its turn, and until when at least, both by the monotonic clock in seconds."""

    since: float
    until: float


class ChangeQueue(Generic[K]):
    """`keep` is called for each thing that changed, in the order of the notifications, once it has not changed for
    `rest_seconds`, so that keeping does not slow down the work that changes it.

    If it raises an OSError, the change is tried again; on any other error it is dropped until the thing changes again.
    At the start, `missed` returns what changed while it was not running; if that raises an OSError, it is called again.
    `name` is the thread's name; `what` and `where` describe for the log what is kept of each thing and where.
    """

    def __init__(
        self,
        name: str,
        *,
        what: str,
        where: object,
        keep: Callable[[K], None],
        missed: Callable[[], Iterable[K]],
        retry_seconds: float = RETRY,
        rest_seconds: float = 0.0,
    ) -> None:
        self._name, self._what, self._where = name, what, where
        self._keep, self._missed = keep, missed
        self._retry, self._rest = retry_seconds, rest_seconds
        self._changed: dict[K, Due] = {}
        self._lock = threading.Lock()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._behind = True
        """Whether what was missed has still to be looked for."""

    @property
    def ending(self) -> bool:
        """Returns whether the thread should end: long work can wait for the next start."""
        return self._stopped.is_set()

    def tell(self, changed: Iterable[K]) -> None:
        """Report changes. Cheap, from any thread."""
        ids = dict.fromkeys(changed)
        if ids:
            now = time.monotonic()
            with self._lock:
                for each in ids:
                    since = self._changed[each].since if each in self._changed else now
                    self._changed[each] = Due(since, min(now, since + (LONGEST - 1) * self._rest) + self._rest)
            self._woken.set()

    def forget(self) -> None:
        """Drop every change that waits for its turn."""
        with self._lock:
            self._changed.clear()

    def look(self) -> None:
        """Look again for what was missed, as at the start."""
        self._behind = True
        self._woken.set()

    def start(self) -> None:
        """Work in a thread, starting with what was missed."""
        if self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after trying everything one last time."""
        if self._thread is not None:
            self._stopped.set()
            self._woken.set()
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        self._behind, last = True, False
        while not last:
            last = self._stopped.is_set()
            if self._behind:
                self._behind = False  # before looking: who asks again meanwhile is not lost
                self._behind = not self._looked() or self._behind
            again = bool(self._work_off(math.inf if last else time.monotonic())) or self._behind
            if not last:
                self._woken.wait(self._retry if again else self._until_next())
                self._woken.clear()

    def _until_next(self) -> float | None:
        """Seconds until the next change is due; None if there is none."""
        with self._lock:
            due = min((change.until for change in self._changed.values()), default=None)
        return None if due is None else max(0.0, due - time.monotonic())

    def _looked(self) -> bool:
        try:
            missed = list(self._missed())
        except OSError:
            _log.exception("what is missing in %s cannot be looked for", self._where)
            return False
        now = time.monotonic()
        with self._lock:
            self._changed |= dict.fromkeys(missed, Due(now, now))
        return True

    def work_off(self) -> int:
        """Try all changes once. Returns how many failed; these are kept for the next time."""
        return self._work_off(math.inf)

    def _work_off(self, until: float) -> int:
        """The same for changes that are due until then."""
        with self._lock:
            due = {each: change for each, change in self._changed.items() if change.until <= until}
            for each in due:
                del self._changed[each]
        failed = {each: change for each, change in due.items() if not self._tried(each)}
        with self._lock:
            self._changed |= failed
        return len(failed)

    def _tried(self, each: K) -> bool:
        try:
            self._keep(each)
        except OSError:
            _log.exception("%s of %s cannot be written to %s", self._what, each, self._where)
            return False
        except Exception:  # outermost handler: an error in one change does not stop the others
            _log.exception("%s of %s cannot be made", self._what, each)
        return True
