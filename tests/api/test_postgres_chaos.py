"""Two servers and two workers on one PostgreSQL, killed, frozen and cut off at random while commands come in.

Each is in a network namespace of its own, where the machine allows that. Nothing that was acknowledged is lost or
doubled, readers miss no event, every turn is recorded once, and every session ends.
"""

import hashlib
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple

import httpx2 as httpx
import pytest

from adapters.proof.verify import verify
from adapters.store.errors import StoreError
from adapters.store.location import open_store, reading
from adapters.store.port import Store
from domain.session.turns import Settled
from tests.api.server import Json, Server, delivery, until
from tests.kit.namespaces import Machine, Network, network
from tests.kit.postgres import USER, Cluster, require
from tests.kit.programs import Program, started
from tests.kit.surroundings import without_settings

READERS: Final = 8
ENDED: Final = ("success", "failed", "cancelled", "exhausted")
PASSWORD: Final = "of-the-database"
KEY: Final = "key of the caller"
PAGE: Final = 500
LONG: Final = 180.0
"""Seconds to wait on a busy machine."""


class Harm(NamedTuple):
    """How often what happens: processes killed, the database restarted, cables pulled, processes stopped in their
    tracks for a while."""

    kills: int
    restarts: int
    cuts: int = 0
    freezes: int = 0


class WorkerNode:
    """`hansard worker` as a process, through all its lives."""

    def __init__(self, folder: Path, database: str, *, within: Sequence[str] = ()) -> None:
        kept = without_settings()
        ours = {"HANSARD_DATABASE": database, "HANSARD_DATA_DIR": str(folder), "HANSARD_LEASE_SECONDS": "3"}
        self._env, self._log = kept | ours | {"HANSARD_POLL_SECONDS": "0.1"}, folder / "worker.log"
        self._within = within
        folder.mkdir(parents=True)
        self._process: Program | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, _: float = 0.0) -> None:
        with self._log.open("ab") as log:
            self._process = started(("worker",), env=self._env, output=log, within=self._within)

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
        self._store, self._done = open_store(url), done  # before any outage

    def run(self) -> None:
        with closing(self._store) as store:
            while True:
                last = self._done.is_set()
                try:
                    while page := store.log(after=self.positions[-1] if self.positions else 0, limit=50):
                        self.positions += [item.position for item in page]
                except StoreError:
                    last = False
                if last:
                    return
                self._done.wait(0.05)


@pytest.fixture
def net() -> Iterator[Network | None]:
    with network() as result:
        yield result


@pytest.fixture
def cluster(net: Network | None) -> Iterator[Cluster]:
    result = Cluster(require(), **({} if net is None else {"listen_addresses": net.address}))
    result.ask_for_passwords(PASSWORD)
    yield result
    result.remove()


class Team:
    """The nodes, their addresses and their failures."""

    def __init__(self, cluster: Cluster, net: Network | None, folder: Path, chance: random.Random) -> None:
        self._cluster, self._net, self._chance = cluster, net, chance
        self.url = cluster.url("postgres", password=PASSWORD)
        if net is not None:
            self.url = f"postgresql://{USER}:{PASSWORD}@{net.address}/postgres"
        keys = folder / "keys"
        keys.write_text(f"caller:{hashlib.sha256(KEY.encode()).hexdigest()}:admin\n")
        self.machines = [] if net is None else [net.machine(number) for number in range(1, 5)]
        self.servers = [self._server(folder / f"server-{number}", keys, number) for number in (0, 1)]
        workers = [WorkerNode(folder / f"worker-{number}", self.url, within=self._within(number)) for number in (2, 3)]
        self.nodes: list[Server | WorkerNode] = [*self.servers, *workers]

    def _within(self, number: int) -> tuple[str, ...]:
        return self.machines[number].command if self.machines else ()

    def _server(self, folder: Path, keys: Path, number: int) -> Server:
        host = self.machines[number].address if self.machines else "127.0.0.1"
        folder.mkdir()
        server = Server(
            folder,
            within=self._within(number),
            database=self.url,
            host=host,
            allowed_hosts=host,
            api_keys_file=keys,
            lease_seconds=3,
            poll_seconds=0.1,
        )
        server.client.headers["Authorization"] = f"Bearer {KEY}"
        return server

    def suffer(self, what: str) -> None:
        if what == "restarts":
            self._cluster.stop(self._chance.choice((signal.SIGINT, signal.SIGQUIT)))
            self._cluster.start()
        elif what == "cuts":
            self._cut(self._chance.choice(self.machines) if self.machines else None)
        elif what == "freezes":
            self._freeze(self._chance.choice(self.nodes).pid)
        else:
            node = self._chance.choice(self.nodes)
            node.kill()
            node.start(LONG)

    def _freeze(self, pid: int) -> None:
        """Sometimes longer than a lease: its turns then go to another worker, and its answers must not count twice."""
        os.kill(pid, signal.SIGSTOP)
        threading.Event().wait(self._chance.choice((1, 5)))
        os.kill(pid, signal.SIGCONT)

    def _cut(self, machine: Machine | None) -> None:
        """Shorter or longer than a lease; if longer, another worker gets its turns and its answers are late."""
        if self._net is not None and machine is not None:
            self._net.cut(machine)
            threading.Event().wait(self._chance.choice((1, 5)))
            self._net.join(machine)


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
        body: Json = answer.json()
        return body if answer.status_code == 202 else None

    return until(answered, what=f"an answer to {key}", seconds=LONG, pause=0.1)


def run(team: Team, *, sessions: int, harm: Harm, seed: int) -> None:
    chance, done = random.Random(seed), threading.Event()  # noqa: S311 - a fixed seed
    with ExitStack() as cleaning, ThreadPoolExecutor(4) as threads:
        for node in team.nodes:
            cleaning.callback(node.leave)
        cleaning.callback(done.set)
        for node in team.nodes:
            node.start(LONG)
        readers = [Reader(team.url, done) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        keys = [f"key-{number}" for number in range(sessions)]
        planned = [what for what, count in harm._asdict().items() for _ in range(count)]
        chance.shuffle(planned)
        pending: list[Future[Json]] = []
        for number, what in enumerate(planned, start=1):  # commands come in until the last of them
            for key in keys[len(pending) : sessions * number // len(planned)]:
                mine = random.Random(f"{seed}.{key}")  # noqa: S311
                pending.append(threads.submit(submit, team.servers, mine, key))
            threading.Event().wait(chance.uniform(0.1, 1.0))
            team.suffer(what)
        first = [each.result() for each in pending]
        until(
            lambda: all(_ended(team.servers[0], each["sessionId"]) for each in first),
            what="all ends",
            seconds=LONG,
            pause=0.5,
        )
        # The same keys on the other server give the same answers: nothing was lost, nothing done twice.
        assert [submit(team.servers[1:], chance, key) for key in keys] == first
        done.set()
        for reader in readers:
            reader.join(30)
    check(team.url, readers, {each["sessionId"] for each in first})


def check(url: str, readers: Sequence[Reader], acknowledged: set[str]) -> None:
    with reading(url) as log:
        verdict = verify(log)
        assert verdict.sound, verdict.faults
        assert {name for name in log.rows.streams() if name.startswith("delivery-")} == acknowledged
        for reader in readers:
            assert reader.positions == list(range(1, verdict.head + 1))
        assert log.rows.open_turns() == {}
    with closing(open_store(url)) as store:
        turns = Counter(settled(store))
    assert set(turns.values()) == {1}, [turn for turn, times in turns.items() if times > 1]
    assert len(turns) >= len(acknowledged)


def settled(store: Store) -> Iterator[tuple[str, str]]:
    """The ended turns, as often as the log records them."""
    position = 0
    while page := store.log(after=position, limit=PAGE):
        for item in page:
            if isinstance(item.event, Settled):
                yield item.session_id, item.event.turn_id
        position = page[-1].position


def _ended(server: Server, session_id: str) -> bool:
    try:
        answer = server.client.get(f"/api/sessions/{session_id}")
    except httpx.HTTPError:
        return False
    return answer.status_code == 200 and answer.json()["session"]["status"] in ENDED


@pytest.mark.filterwarnings("default::tests.kit.namespaces.NotIsolated")
@pytest.mark.parametrize(
    ("sessions", "kills"),
    [
        pytest.param(5, 2, id="two", marks=pytest.mark.nightly),
        pytest.param(10, 5, id="five", marks=pytest.mark.nightly),
    ],
)
def test_a_few_kills_a_cut_a_freeze_and_a_restart_of_the_database_lose_nothing(
    cluster: Cluster, net: Network | None, tmp_path: Path, sessions: int, kills: int
) -> None:
    team = Team(cluster, net, tmp_path, random.Random(1))  # noqa: S311
    run(team, sessions=sessions, harm=Harm(kills=kills, restarts=1, cuts=1, freezes=1), seed=1)


@pytest.mark.nightly
@pytest.mark.filterwarnings("default::tests.kit.namespaces.NotIsolated")
def test_two_hundred_kills_and_twenty_restarts_lose_nothing(
    cluster: Cluster, net: Network | None, tmp_path: Path
) -> None:
    team = Team(cluster, net, tmp_path, random.Random(2))  # noqa: S311
    run(team, sessions=200, harm=Harm(kills=200, restarts=20, cuts=20, freezes=20), seed=2)
