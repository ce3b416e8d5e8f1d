"""News of what other processes write to the log."""

import threading
from collections.abc import Callable
from typing import Final

from adapters.store.errors import StoreError
from adapters.store.postgres.connection import Connections

CHANNEL: Final = "hansard"
_LOOK_SECONDS: Final = 0.5
_PAUSE: Final = 1.0


class Listening:
    """Calls `woken` in a separate thread, until `stop`."""

    def __init__(self, url: str, woken: Callable[[], None]) -> None:
        self._connections, self._woken = Connections(url, size=1), woken
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
                self._stopped.wait(_PAUSE)

    def _listen(self) -> None:
        with self._connections.lent() as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            self._woken()  # something may have been written before
            while not self._stopped.is_set():
                for _ in connection.raw.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                    self._woken()
