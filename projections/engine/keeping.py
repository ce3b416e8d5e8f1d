"""Keeping copies of what changed: a thread queues changes and handles them one by one.

For things outside the views (files, snapshots), so that a slow or full disk delays neither the views nor anyone who
waits for them. If something changes again before its turn, only the newest change is kept.
"""

import logging
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

RETRY: Final = 5.0
"""Seconds until a failed change is tried again."""

_log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class Keeper(Generic[K]):
    """`keep` is called for each thing that changed, in the order of the notifications.

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
    ) -> None:
        self._name, self._what, self._where = name, what, where
        self._keep, self._missed = keep, missed
        self._retry = retry_seconds
        self._changed: dict[K, None] = {}
        self._lock = threading.Lock()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def ending(self) -> bool:
        """Whether the thread should end: long work can wait for the next start."""
        return self._stopped.is_set()

    def tell(self, changed: Iterable[K]) -> None:
        """Report changes. Cheap, from any thread."""
        ids = dict.fromkeys(changed)
        if ids:
            with self._lock:
                self._changed |= ids
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
        behind, last = True, False
        while not last:
            last = self._stopped.is_set()
            behind = behind and not self._looked()
            again = bool(self.work_off()) or behind
            if not last:
                self._woken.wait(self._retry if again else None)
                self._woken.clear()

    def _looked(self) -> bool:
        try:
            self.tell(self._missed())
        except OSError:
            _log.exception("what is missing in %s cannot be looked for", self._where)
            return False
        return True

    def work_off(self) -> int:
        """Try all changes once. Returns how many failed; these are kept for the next time."""
        with self._lock:
            changed, self._changed = self._changed, {}
        failed = [each for each in changed if not self._tried(each)]
        with self._lock:
            self._changed |= dict.fromkeys(failed)
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
