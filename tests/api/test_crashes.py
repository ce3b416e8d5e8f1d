"""kill -9 under load: answered commands are stored once, and the rest are retried (promise P1)."""

import contextlib
import os
import random
import sqlite3
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import httpx2 as httpx
import pytest
from eventsourcing.persistence import StoredEvent

from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.store.sql.compression import unpack
from adapters.store.sqlite.views import SqliteViews
from domain.session.record import Recorded
from domain.session.turns import Settled, TurnRequested
from projections.catalogue import dump
from projections.follow import Follower
from tests.adapters.stores_under_test import chain
from tests.api.server import PATIENCE, Json, Server, delivery, serving, until

WAYS = 16
PAUSE = 0.05
"""Seconds between two tries."""
LONGEST_RESTART = 2.0
"""Seconds from the start of the process to a ready server."""
TIMED_KILLS = 100
"""Only the long form measures time; in a default run it would measure the machine."""
TICKS = os.sysconf("SC_CLK_TCK")
SILENT = delivery({"planner": [{"text": "late", "delayMs": 86_400_000}]})
BUSY = delivery()
STARTED = "delivery.session_started"
EFFECTS = {
    "sessions": STARTED,
    "budget": "delivery.budget_extended",
    "cancel": "delivery.session_finished",
}
"""Endpoint, and the event that each of its commands records exactly once."""


@dataclass(frozen=True)
class Answered:
    """An answered command."""

    key: str
    endpoint: str
    session_id: str
    status: int
    body: Json


@dataclass
class Load:
    """Clients that command without pause, each on its own sessions; every command is retried under its key until it
    is answered, over however many lives of the server."""

    url: str
    answered: list[Answered] = field(default_factory=list)
    retries: int = 0
    errors: list[BaseException] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        clients = [threading.Thread(target=self._client, args=(number,)) for number in range(WAYS)]
        for client in clients:
            client.start()
        try:
            yield
        finally:
            self._stop.set()
            for client in clients:
                client.join()
        assert self.errors == []

    def reach(self, count: int) -> None:
        until(lambda: len(self.answered) >= count or self.errors, what="answers", pause=0.001)

    def _client(self, number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - a seed makes every client the same every time
        try:
            with httpx.Client(base_url=self.url, timeout=PATIENCE) as client:
                while not self._stop.is_set():
                    self._session(client, chance)
        except BaseException as error:
            self.errors.append(error)

    def _session(self, client: httpx.Client, chance: random.Random) -> None:
        """Started, extended a few times and, unless it comes to an end by itself, cancelled."""
        body = BUSY if chance.random() < 0.1 else SILENT
        session_id = self._answer(client, "/api/sessions", body).session_id
        for _ in range(chance.randint(0, 3)):
            self._answer(client, f"/api/sessions/{session_id}/budget", {"addIterations": 1, "reason": "more"})
        if body is SILENT:
            self._answer(client, f"/api/sessions/{session_id}/cancel", {})

    def _answer(self, client: httpx.Client, endpoint: str, body: Json) -> Answered:
        key = str(uuid.uuid4())
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = client.post(endpoint, json=body, headers={"Idempotency-Key": key})
                if answer.status_code != 503:
                    break
            with self._lock:
                self.retries += 1
            self._stop.wait(PAUSE)
        assert answer.status_code in (200, 202, 409), answer.text
        data: Json = answer.json()
        session_id = data["sessionId"] if answer.status_code != 409 else endpoint.split("/")[3]
        answered = Answered(key, endpoint.rpartition("/")[2], session_id, answer.status_code, data)
        with self._lock:
            self.answered.append(answered)
        return answered


class Restart(NamedTuple):
    """Seconds until a server was ready: elapsed time, and CPU time, which depends less on the machine."""

    clock: float
    processor: float


def restarted(server: Server) -> Restart:
    clock = server.start()
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return Restart(clock, (int(fields[11]) + int(fields[12])) / TICKS)


def kill_again_and_again(server: Server, kills: int) -> tuple[Load, list[Restart]]:
    """Answer some commands, kill -9, restart, and repeat; return the clients and the restarts."""
    load, restarts = Load(server.url), []
    chance = random.Random(kills)  # noqa: S311 - a seed makes the test the same every time
    with load.running():
        for _ in range(kills):
            load.reach(len(load.answered) + chance.randint(1, 80))
            server.kill()
            restarts.append(restarted(server))
        load.reach(len(load.answered) + WAYS)
    until(lambda: _nothing_runs(server), what="the end of all sessions", pause=0.1)
    return load, restarts


def _nothing_runs(server: Server) -> bool:
    position = server.client.get("/readyz").json()["head"]
    fresh = {"Read-After": str(position)}
    page = server.client.get("/api/sessions", params={"status": "running"}, headers=fresh)
    return page.status_code == 200 and page.json()["items"] == []


def check(server: Server, load: Load) -> None:
    """Check everything a crash could have damaged, after the server has ended."""
    with contextlib.closing(open_store(f"sqlite:///{server.database}")) as store:
        whole = _log(store)
        _nothing_lost_or_doubled(load.answered, whole)
        _every_turn_settled_once(whole)
        _views_equal_a_rebuild(store, server.database)
    _no_gap_and_no_break(server.database)


def _log(store: Store) -> list[Recorded]:
    results: list[Recorded] = []
    while page := store.log(after=results[-1].position if results else 0):
        results += page
    return results


def _nothing_lost_or_doubled(answered: list[Answered], whole: list[Recorded]) -> None:
    """Every accepted command took effect once, at the version in its answer; refused ones had no effect."""
    effects = Counter((recorded.causation.command_id, recorded.event.TOPIC) for recorded in whole)
    caused: dict[tuple[str, str], list[Recorded]] = {}
    for recorded in whole:
        caused.setdefault((recorded.causation.command_id, recorded.session_id), []).append(recorded)
    for command in answered:
        mine = caused.get((command.key, command.session_id), [])
        if command.status == 409:
            assert mine == [], command
            continue
        assert effects[command.key, EFFECTS[command.endpoint]] == 1, command
        assert (mine[-1].version, mine[-1].position) == (command.body["version"], command.body["position"])
        versions = [recorded.version for recorded in mine]
        assert versions == list(range(versions[0], versions[0] + len(versions))), "a command is stored whole"
    keys = Counter(command.key for command in answered)
    assert max(keys.values()) == 1
    started = {recorded.causation.command_id for recorded in whole if recorded.event.TOPIC == STARTED}
    assert started <= set(keys), "whatever began was answered in the end"


def _every_turn_settled_once(whole: list[Recorded]) -> None:
    requested = Counter(recorded.event.turn_id for recorded in whole if isinstance(recorded.event, TurnRequested))
    settled = Counter(recorded.event.turn_id for recorded in whole if isinstance(recorded.event, Settled))
    assert requested == settled
    assert set(settled.values()) == {1}


def _views_equal_a_rebuild(store: Store, database: Path) -> None:
    """Promise P13."""
    with contextlib.closing(SqliteViews(database.with_name("node") / "views" / "views.db")) as views:
        follower = Follower(store, views)
        assert follower.position == store.head(), "the last life had caught up"
        live = dump(views)
        follower.rebuild()
        assert live == dump(views)
        assert len(live) > 1_000


def _no_gap_and_no_break(database: Path) -> None:
    """Versions have no gaps, positions rise, and each hash covers its row and the previous hash."""
    with contextlib.closing(sqlite3.connect(database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = raw.execute("SELECT stream, version, topic, state, hash FROM events ORDER BY position").fetchall()
    newest: dict[str, tuple[int, bytes]] = {}
    for stream, version, topic, state, stored in rows:
        before, previous = newest.get(stream, (0, b""))
        assert version == before + 1, stream
        assert stored == chain(previous, StoredEvent(stream, version, topic, unpack(state))), (stream, version)
        newest[stream] = (version, stored)


def story(folder: Path, kills: int) -> str:
    """Run the whole test and return the measurements as one sentence."""
    with serving(folder, worker_slots=32) as server:
        load, restarts = kill_again_and_again(server, kills)
        server.stop()
        check(server, load)
    times = [sorted(item) for item in zip(*restarts, strict=True)]
    if kills >= TIMED_KILLS:
        shared = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert times[0][-1] < LONGEST_RESTART * shared, times[0][-10:]
    commands = f"{len(load.answered)} commands answered, {load.retries} tries in vain, none lost or doubled"
    (clock, longest), (processor, most) = ((item[kills // 2], item[-1]) for item in times)
    measured = f"restart median {clock:.2f} s, longest {longest:.2f} s; of a processor {processor:.2f} s, {most:.2f} s"
    return f"{kills} kills: {commands}; {measured}"


@pytest.mark.parametrize("kills", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_few_kills_lose_and_double_nothing(
    tmp_path: Path, record_property: Callable[[str, object], None], kills: int
) -> None:
    record_property("measured", story(tmp_path, kills))


@pytest.mark.nightly
def test_a_hundred_kills_lose_and_double_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first start compiles the server, as an installation would, and is not timed.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    measured = story(tmp_path, TIMED_KILLS)
    with capsys.disabled():
        print(f"\n{measured}")  # noqa: T201 - the figures are the result
