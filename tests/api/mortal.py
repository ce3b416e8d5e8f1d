"""A server that is killed with SIGKILL again and again, and a client that goes on with it."""

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Final
from uuid import uuid4

import httpx2 as httpx

from tests.api.server import PATIENCE, Server, until

MOST_TRIES: Final = 200
LOOK: Final = 0.002
"""Seconds between two looks at the log."""


class Mortal:
    """A server that is killed, and started again for whoever asks next."""

    def __init__(self, server: Server) -> None:
        self.server, self.deaths = server, 0
        self._dead, self._over, self._dying = threading.Event(), threading.Event(), threading.Lock()

    def dies(self) -> None:
        """Be killed now, if it is alive."""
        with self._dying, suppress(AssertionError, ProcessLookupError):
            pid = self.server.pid
            if not self._dead.is_set():
                self._dead.set()
                os.kill(pid, signal.SIGKILL)
                self.deaths += 1

    @contextmanager
    def dies_at_each_event(self) -> Iterator[None]:
        """Be killed after each event that is recorded."""
        with self._meanwhile(self._looks):
            yield

    @contextmanager
    def dies_at_random(self, seed: int, seconds: float) -> Iterator[None]:
        """Be killed at any time, so many seconds after the first event since the last kill at most."""
        chance = random.Random(seed)  # noqa: S311 - no secret

        def kills() -> None:
            with closing(sqlite3.connect(self.server.database)) as log:
                seen = _newest(log)
                while not self._over.wait(LOOK):
                    if _newest(log) > seen and not self._over.wait(chance.uniform(0, seconds)):
                        seen = _newest(log)
                        self.dies()

        with self._meanwhile(kills):
            yield

    @contextmanager
    def _meanwhile(self, work: Callable[[], None]) -> Iterator[None]:
        thread = threading.Thread(target=work)
        self._over.clear()
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _looks(self) -> None:
        with closing(sqlite3.connect(self.server.database)) as log:
            seen = _newest(log)
            while not self._over.wait(LOOK):
                newest = _newest(log)
                if newest > seen and not self._dead.is_set():
                    seen = newest
                    self.dies()

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """What it does not answer because it was killed is asked again under the same key."""
        with _Patient(self) as client:
            yield client

    def reborn(self) -> None:
        """Start it again if it was killed."""
        while self._dead.is_set():
            self.server.kill()
            self._dead.clear()
            try:
                self.server.start()
            except AssertionError:  # killed again before it was ready
                if not self._dead.is_set():
                    raise

    def until(self, holds: Any, what: str) -> Any:
        """Wait for it, over as many lives as it takes."""

        def seen() -> Any:
            self.reborn()
            try:
                return holds()
            except (httpx.TransportError, KeyError, TypeError):
                return None

        return until(seen, what=what, seconds=90)


class _Patient(httpx.Client):
    def __init__(self, mortal: Mortal) -> None:
        super().__init__(base_url=mortal.server.url, timeout=PATIENCE)
        self._mortal = mortal

    def request(self, method: str, url: Any, **more: Any) -> httpx.Response:
        key = {"Idempotency-Key": str(uuid4())} if method == "POST" else {}
        more["headers"] = key | dict(more.get("headers") or {})
        for _ in range(MOST_TRIES):
            self._mortal.reborn()
            with suppress(httpx.TransportError):
                return super().request(method, url, **more)
            time.sleep(LOOK)
        raise AssertionError(f"{method} {url}: never answered")


def _newest(log: sqlite3.Connection) -> int:
    return int(log.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])
