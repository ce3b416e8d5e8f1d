"""A day's work of a server in minutes: what it holds does not grow with what it has done."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import pytest

from tests.api.server import Json, Server, delivery, serving, start, until
from tests.kit.programs import fresh

HOUR: Final = 40
"""Sessions of an hour of a busy day: three of four are reviews, the others deliveries."""
MOST_WAL: Final = 64 * 2**20


class Held(NamedTuple):
    """Memory in MB, file descriptors, threads, bytes of the write-ahead log, and the milliseconds of a command."""

    memory: float
    descriptors: int
    threads: int
    wal: int
    command: float


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A process of its own: one that was forked seems to grow as it parts from its parent."""
    with fresh(), serving(tmp_path) as result:
        yield result


def hour(server: Server) -> Held:
    """An hour's sessions, all at once, to their ends; then what the server holds."""
    times = []
    for number in range(HOUR):
        body: Json = {"kind": "review", "subject": f"A plan of {number} parts", "maxRounds": 1, "scenario": QUICK}
        began = time.perf_counter()
        start(server.client, body if number % 4 else delivery())
        times.append(1000 * (time.perf_counter() - began))
    until(lambda: not at_work(server), what="the end of an hour")
    place = Path("/proc", str(server.pid))
    rows = dict(line.split(":", 1) for line in (place / "smaps_rollup").read_text().splitlines()[1:])
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    return Held(
        memory=int(rows["Pss"].split()[0]) / 1024,
        descriptors=len([*(place / "fd").iterdir()]),
        threads=int(status["Threads"]),
        wal=server.database.with_name("hansard.db-wal").stat().st_size,
        command=median(times),
    )


QUICK: Json = {"replies": {}}


def at_work(server: Server) -> bool:
    page = server.client.get("/api/sessions", params={"limit": "100"}).json()["items"]
    return any(item["status"] in ("pending", "running", "reviewing") for item in page)


@pytest.mark.nightly
def test_what_a_server_holds_does_not_grow_with_a_days_work(server: Server) -> None:
    """Promise P29 for a day of 24 hours: half of the 1 MB an hour that it allows, once every cache is full; nothing
    else grows at all."""
    held = [hour(server) for _ in range(24)]
    warm, late = held[12:16], held[20:]
    said = "\n".join(map(str, held))
    assert median(each.memory for each in late) - median(each.memory for each in warm) < 4, said
    assert max(each.descriptors for each in late) <= max(each.descriptors for each in warm) + 4, said
    assert max(each.threads for each in late) <= max(each.threads for each in warm) + 2, said
    assert max(each.wal for each in held) < MOST_WAL, said
    assert min(each.command for each in late) < 1.5 * max(each.command for each in warm), said
