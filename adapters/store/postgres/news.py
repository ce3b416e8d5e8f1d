"""News of what other processes write to the log."""

import threading
import time
from collections.abc import Callable
from typing import Final

from adapters.store.errors import StoreError
from adapters.store.postgres.connection import Connections

CHANNEL: Final = "hansard"
_WAIT_SECONDS: Final = 0.5
LOOK_SECONDS: Final = 30.0
"""Between two looks: what is wrong with the database is known within a minute."""
_PAUSE: Final = 1.0


class Listening:
    """Calls `woken` in a separate thread, until `stop`; and `look` from time to time."""

    def __init__(self, connections: Connections, woken: Callable[[], None], look: Callable[[], None]) -> None:
        self._connections, self._woken, self._look = connections, woken, look
        self._next_look = time.monotonic() + LOOK_SECONDS
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listening", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._connections.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._listen()
            except StoreError:
                self._look_sometimes()
                self._stopped.wait(_PAUSE)

    def _look_sometimes(self) -> None:
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_SECONDS
            self._look()

    def _listen(self) -> None:
        with self._connections.lent() as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            self._woken()  # something may have been written before
            while not self._stopped.is_set() and not self._connections.is_worn(connection):
                self._look_sometimes()
                for _ in connection.raw.notifies(timeout=_WAIT_SECONDS, stop_after=1):
                    self._woken()
