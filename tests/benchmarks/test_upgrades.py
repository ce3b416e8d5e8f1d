"""How soon a server works again if its views have to be rebuilt, as after an upgrade."""

import contextlib
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import pytest

from adapters.store.sqlite.views import SqliteViews
from tests.adapters.audited import written as audited
from tests.api.server import Server, serving, until
from tests.benchmarks.measuring import Tell
from tests.benchmarks.test_speed import begin, written
from tests.kit.many_events import multiply

pytestmark = [pytest.mark.benchmark, pytest.mark.nightly]

EVENTS = 80_000
MORE = {"addMinutes": 1, "reason": "more"}


class Caller:
    """Sends a command again and again, from a thread; when the first was carried out, and the longest gap after it."""

    def __init__(self, server: Server) -> None:
        self._url, self._over = f"{server.url}/api/sessions/delivery-live/budget", threading.Event()
        self.answered: list[float] = []
        self._thread = threading.Thread(target=self._run)
        self.began = time.monotonic()
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(0.02):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.post(self._url, json=MORE, timeout=20).status_code == 200:
                    self.answered.append(time.monotonic())

    def stop(self) -> tuple[float, float]:
        self._over.set()
        self._thread.join()
        gaps = [later - earlier for earlier, later in zip(self.answered, self.answered[1:], strict=False)]
        return self.answered[0] - self.began, max(gaps)


def test_commands_run_while_views_are_rebuilt_after_an_upgrade(tmp_path: Path, tell: Tell) -> None:
    (tmp_path / "empty").mkdir()
    with serving(tmp_path / "empty") as empty:
        empty.stop()
        floor = empty.start()
    count = multiply(audited(tmp_path / "small", seed=7, steps=300), tmp_path / "hansard.db", EVENTS)
    with written(tmp_path) as (_, writer):
        begin(writer, "delivery-live")
    with serving(tmp_path) as server:
        until(lambda: server.client.get("/api/sessions").status_code == 200, what="the views", seconds=120)
        server.stop()
        with closing(SqliteViews(server.data / "views" / "views.db")) as views, views.transaction() as db:
            db.execute("UPDATE progress SET shape = 'of another release'")
        caller = Caller(server)
        server.start(patience=120)
        until(lambda: server.client.get("/api/sessions").status_code == 200, what="the views", seconds=120)
        lists = time.monotonic() - caller.began
        first, gap = caller.stop()
    tell(
        f"after an upgrade with {count:,} events: the first command {first:.1f} s after the process began (an empty log"
        f" is ready after {floor:.1f} s), lists after {lists:.1f} s; meanwhile at most {gap:.2f} s between two commands"
    )
    assert gap < 2
