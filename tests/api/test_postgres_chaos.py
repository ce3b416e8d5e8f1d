"""Two servers and two workers on one PostgreSQL, killed at random while commands come in (contract-2 §14).

Nothing that was acknowledged is lost or doubled, readers miss no event, and every session ends.
"""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2 as httpx
import pytest

from adapters.proof.verify import verify
from adapters.store import open_store, reading
from adapters.store.port import StoreError
from tests.api.server import ROOT, Json, Server, delivery, until
from tests.kit.postgres import Cluster, require

READERS = 8
ENDED = ("success", "failed", "cancelled", "exhausted")


class WorkerNode:
    """`hansard worker` as a process, through all its lives."""

    def __init__(self, folder: Path, database: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
        ours = {"HANSARD_DATABASE": database, "HANSARD_DATA_DIR": str(folder), "HANSARD_LEASE_SECONDS": "3"}
        self._env, self._log = kept | ours | {"HANSARD_POLL_SECONDS": "0.1"}, folder / "worker.log"
        folder.mkdir(parents=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "api", "worker"]
            self._process = subprocess.Popen(command, cwd=ROOT, env=self._env, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(20)

    leave = kill


class Reader(threading.Thread):
    """Follows the log like a view, through every outage."""

    def __init__(self, url: str, done: threading.Event) -> None:
        super().__init__(daemon=True)
        self.positions: list[int] = []
        self._url, self._done = url, done

    def run(self) -> None:
        with closing(open_store(self._url)) as store:
            while True:
                last = self._done.is_set()
                try:
                    while page := store.log(after=self.positions[-1] if self.positions else 0, limit=50):
                        self.positions += [found.position for found in page]
                except StoreError:
                    last = False
                if last:
                    return
                self._done.wait(0.05)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    found = Cluster(require())
    yield found
    found.remove()


def submit(servers: list[Server], chance: random.Random, key: str) -> Json:
    """Send the command to any server until one acknowledges it."""

    def answered() -> Json | None:
        try:
            answer = chance.choice(servers).client.post(
                "/api/sessions", json=delivery(), headers={"Idempotency-Key": key}
            )
        except httpx.HTTPError:
            return None
        assert answer.status_code in (202, 429, 503), answer.text
        found: Json = answer.json()
        return found if answer.status_code == 202 else None

    return until(answered, what=f"an answer to {key}", seconds=120, pause=0.1)


def run(cluster: Cluster, folder: Path, *, sessions: int, kills: int, restarts: int, seed: int) -> None:
    url, chance, done = cluster.url("postgres"), random.Random(seed), threading.Event()  # noqa: S311 - a fixed seed
    settings = {"database": url, "lease_seconds": 3, "poll_seconds": 0.1}
    servers = [Server(folder / f"server-{number}", **settings) for number in (1, 2)]
    workers = [WorkerNode(folder / f"worker-{number}", url) for number in (1, 2)]
    nodes: list[Server | WorkerNode] = [*servers, *workers]
    with ExitStack() as cleaning, ThreadPoolExecutor(4) as threads:
        for node in nodes:
            cleaning.callback(node.leave)
        cleaning.callback(done.set)
        for server in servers:
            server.folder.mkdir()
        for node in nodes:
            node.start()
        readers = [Reader(url, done) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        keys = [f"key-{number}" for number in range(sessions)]
        pending = [
            threads.submit(submit, servers, random.Random(f"{seed}.{key}"), key)  # noqa: S311
            for key in keys
        ]
        harm = ["kill"] * kills + ["restart"] * restarts
        chance.shuffle(harm)
        for what in harm:
            threading.Event().wait(chance.uniform(0.1, 1.0))
            if what == "restart":
                cluster.stop(chance.choice((signal.SIGINT, signal.SIGQUIT)))
                cluster.start()
            else:
                node = chance.choice(nodes)
                node.kill()
                node.start()
        first = [each.result() for each in pending]
        until(
            lambda: all(_ended(servers[0], each["sessionId"]) for each in first),
            what="all ends",
            seconds=180,
            pause=0.5,
        )
        # The same keys on the other server give the same answers: nothing was lost, nothing done twice.
        assert [submit(servers[1:], chance, key) for key in keys] == first
        done.set()
        for reader in readers:
            reader.join(30)
    with reading(url) as log:
        verdict = verify(log)
        assert verdict.sound, verdict.faults
        started = [name for name in log.rows.streams() if name.startswith("delivery-")]
        assert sorted(started) == sorted(each["sessionId"] for each in first)
        for reader in readers:
            assert reader.positions == list(range(1, verdict.head + 1))
        assert log.rows.open_turns() == {}


def _ended(server: Server, session_id: str) -> bool:
    try:
        answer = server.client.get(f"/api/sessions/{session_id}")
    except httpx.HTTPError:
        return False
    return answer.status_code == 200 and answer.json()["session"]["status"] in ENDED


def test_a_few_kills_and_a_restart_of_the_database_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    run(cluster, tmp_path, sessions=10, kills=5, restarts=1, seed=1)


@pytest.mark.nightly
def test_two_hundred_kills_and_twenty_restarts_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    run(cluster, tmp_path, sessions=200, kills=200, restarts=20, seed=2)
