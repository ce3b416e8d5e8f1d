"""A server on a machine whose power fails, whose disk refuses to write, and whose clock jumps.

What was acknowledged is there, what was refused is not, time never runs backwards, and every turn is recorded once.
"""

import errno
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import httpx2 as httpx
import pytest

from adapters.proof.verify import verify
from adapters.store.location import open_store, reading
from domain.session.turns import Settled
from tests.api.server import Json, Server, delivery, ended, session, until
from tests.kit.machine import FailingMachine, after_power_cut

CLIENTS: Final = 4
YEAR: Final = 365 * 86_400.0


class Client(threading.Thread):
    """Starts one session after another until stopped; keeps the answers and their times."""

    def __init__(self, server: Server, machine: FailingMachine, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.acknowledged: dict[str, int] = {}
        """Sessions, with the disk's write position at the time of the answer."""
        self.statuses: Counter[int] = Counter()
        self._server, self._machine, self._stop_it = server, machine, stop

    def run(self) -> None:
        with httpx.Client(base_url=self._server.url, timeout=20) as client:
            while not self._stop_it.is_set():
                answer = client.post("/api/sessions", json=delivery())
                self.statuses[answer.status_code] += 1
                if answer.status_code == 202:
                    self.acknowledged[answer.json()["sessionId"]] = self._machine.written()
                else:
                    time.sleep(0.01)


@contextmanager
def clients(server: Server, machine: FailingMachine) -> Iterator[list[Client]]:
    stop = threading.Event()
    results = [Client(server, machine, stop) for _ in range(CLIENTS)]
    for client in results:
        client.start()
    try:
        yield results
    finally:
        stop.set()
        for client in results:
            client.join(30)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[FailingMachine]:
    with FailingMachine(tmp_path / "machine") as result:
        yield result


@pytest.fixture
def server(tmp_path: Path, machine: FailingMachine) -> Iterator[Server]:
    process = Server(tmp_path, within=machine.command)
    try:
        process.start()
        yield process
    finally:
        machine.accept()
        process.leave()


def acknowledged(clients: list[Client]) -> dict[str, int]:
    return {name: size for client in clients for name, size in client.acknowledged.items()}


def check(url: str) -> tuple[set[str], Counter[tuple[str, str]]]:
    """The sessions of a log that verifies, and how often each turn was recorded."""
    turns: Counter[tuple[str, str]] = Counter()
    with closing(open_store(url)) as store:  # as a server after the failure would: it recovers
        events = list(store.log(after=0, limit=1_000_000))
    latest: dict[str, int] = {}
    for event in events:
        assert event.at >= latest.get(event.session_id, 0), "time ran backwards"
        latest[event.session_id] = event.at
        if isinstance(event.event, Settled):
            turns[event.session_id, event.event.turn_id] += 1
    with reading(url) as log:
        verdict = verify(log)
    assert verdict.sound, verdict.faults
    return {name for name in latest if name.startswith("delivery-")}, turns


# -- power ---------------------------------------------------------------------------------------------------------


def cut_power(server: Server, machine: FailingMachine, folder: Path, *, seconds: float, cuts: int) -> None:
    with clients(server, machine) as result:
        time.sleep(seconds)
    server.kill()
    done, text, chance = machine.journal(), acknowledged(result), random.Random(7)  # noqa: S311 - the same cuts again
    assert len(text) > 10, [client.statuses for client in result]
    for number in range(cuts):
        last = chance.randrange(len(done) // 4, len(done))
        path = after_power_cut(done[: last + 1], folder / f"cut-{number}", chance)
        sessions, turns = check(f"sqlite:///{path}")
        lost = {name for name, size in text.items() if size <= done[last].end} - sessions
        assert not lost, f"cut after {last} of {len(done)}: {lost}"
        assert set(turns.values()) <= {1}


@pytest.mark.nightly
def test_power_cuts_lose_nothing_that_was_acknowledged(server: Server, machine: FailingMachine, tmp_path: Path) -> None:
    cut_power(server, machine, tmp_path, seconds=1.5, cuts=12)


@pytest.mark.nightly
def test_two_hundred_power_cuts_lose_nothing(server: Server, machine: FailingMachine, tmp_path: Path) -> None:
    cut_power(server, machine, tmp_path, seconds=4, cuts=200)


# -- disk ----------------------------------------------------------------------------------------------------------


def refuse_writes(server: Server, machine: FailingMachine, *, windows: int) -> None:
    chance, slowest = random.Random(11), 0.0  # noqa: S311
    with clients(server, machine) as result:
        for number in range(windows):
            time.sleep(chance.uniform(0.1, 0.3))
            before = machine.refused
            machine.refuse(errno.EIO if number % 2 else errno.ENOSPC)
            until(lambda before=before: machine.refused > before, what="a write that fails")  # type: ignore[misc]
            assert server.client.get("/api/sessions").status_code == 200, "reading goes on"
            time.sleep(chance.uniform(0.05, 0.4))
            machine.accept()
            began, sure = time.monotonic(), sum(len(client.acknowledged) for client in result)
            until(lambda sure=sure: sum(len(c.acknowledged) for c in result) > sure, what="recovery")  # type: ignore[misc]
            slowest = max(slowest, time.monotonic() - began)
    statuses = sum((client.statuses for client in result), Counter[int]())
    assert set(statuses) <= {202, 429, 503} and statuses[503] > 0, statuses
    assert slowest < 10
    text = acknowledged(result)
    for name in text:
        assert session(server.client, name)["kind"] == "delivery"
    ends = [ended(server.client, name, seconds=120)["status"] for name in list(text)[:5]]
    assert set(ends) == {"success"}
    server.kill()
    sessions, turns = check(f"sqlite:///{server.database}")
    assert (sessions, set(turns.values())) == (set(text), {1})


def test_while_the_disk_refuses_writes_nothing_is_acknowledged(server: Server, machine: FailingMachine) -> None:
    refuse_writes(server, machine, windows=3)


@pytest.mark.nightly
def test_through_sixty_windows_of_a_failing_disk(server: Server, machine: FailingMachine) -> None:
    refuse_writes(server, machine, windows=60)


# -- clock ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "jumps", [(3_600.0, -3_600.0, 0.0), pytest.param((12.7 * YEAR, 60.0, -86_400.0), marks=pytest.mark.nightly)]
)
@pytest.mark.nightly
def test_a_clock_that_jumps_never_turns_time_back(
    server: Server, machine: FailingMachine, jumps: tuple[float, ...]
) -> None:
    """A running server does not use the wall clock; every restart begins at another time."""
    started: list[Json] = []
    for jump in (0.0, *jumps):
        server.kill()
        machine.clock(jump)
        server.start()
        for _ in range(3):
            started.append(server.client.post("/api/sessions", json=delivery()).json())
        machine.clock(-jump)
    ends = [ended(server.client, each["sessionId"], seconds=60) for each in started]
    # time in which no process was there costs nothing; what is left of a jump may
    allowed = {("success", "no_change"), ("failed", "budget_exhausted")}
    assert {(each["status"], each["reason"]) for each in ends} <= allowed
    server.stop()
    with closing(open_store(f"sqlite:///{server.database}")) as store:
        assert max(event.at for event in store.log(after=0, limit=1_000_000)) / 1_000 > time.time() + jumps[0] - 60
    sessions, turns = check(f"sqlite:///{server.database}")
    assert sessions == {each["sessionId"] for each in started}
    assert set(turns.values()) == {1}
