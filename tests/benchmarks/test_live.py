"""What live clients cost the server, compared with the same work without them (`-m benchmark`)."""

import asyncio
import json
import os
import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.api.listening import SCENARIO, Listener, filled, path
from tests.api.server import Server, delivery, serving, session, start, until
from tests.benchmarks.measuring import Line, Tell, resident_bytes

pytestmark = pytest.mark.benchmark

CLIENTS, RATE, SECONDS = 200, 10, 12
TABS = 10
BODY = json.dumps({"addMinutes": 1, "reason": "more"}).encode()


def cpu_seconds(pid: int) -> float:
    """What a process has had of a core so far, in user and system mode (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def silent(server: Server) -> str:
    """A session that waits for its planner, at version 3."""
    session_id = start(server.client, delivery(scenario=SCENARIO))
    until(lambda: session(server.client, session_id)["version"] == 3, what="the planner's turn")
    return session_id


async def written(server: Server, session_id: str, seconds: float = SECONDS) -> float:
    """Ten events a second through HTTP; the share of a core that the server had meanwhile."""
    line = await Line.open(server.port)
    before, began = cpu_seconds(server.pid), time.perf_counter()
    for number in range(int(seconds * RATE)):
        await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        status, answer = await line.post(f"/api/sessions/{session_id}/budget", BODY)
        assert status == 200, answer
    await asyncio.sleep(max(0.0, began + seconds - time.perf_counter()))
    share = (cpu_seconds(server.pid) - before) / (time.perf_counter() - began)
    await line.close()
    return share


async def opened(server: Server, places: Sequence[str], already: int) -> list[Listener]:
    listeners = [await Listener.open(server.port, place) for place in places]
    for listener in listeners:
        await listener.has(already)
    return listeners


def test_two_hundred_clients_cost_less_than_a_quarter_of_a_core(tmp_path: Path, tell: Tell) -> None:
    """Half of them follow the session, half the log; each gets every event once, in order."""

    async def scene(server: Server) -> tuple[float, float]:
        session_id = silent(server)
        await written(server, session_id, 2)
        alone = await written(server, session_id)
        already = session(server.client, session_id)["version"]
        listeners = await opened(server, [path(session_id), "/api/events"] * (CLIENTS // 2), already)
        share = await written(server, session_id)
        for listener in listeners:
            await listener.has(already + SECONDS * RATE)
        texts = {tuple(listener.ids()) for listener in listeners}
        assert texts == {tuple(range(1, already + SECONDS * RATE + 1))}
        for listener in listeners:
            listener.close()
        return alone, share

    with serving(tmp_path) as server:
        alone, share = asyncio.run(scene(server))
    tell(
        f"live: {CLIENTS} clients at {RATE} events/s take {share:.1%} of a core,"
        f" {alone:.1%} of it for the {RATE} commands/s themselves"
    )
    assert share < 0.25


def test_the_server_ends_within_a_second_with_two_hundred_streams_open(tmp_path: Path, tell: Tell) -> None:
    """Five lives; every stream is taken leave of, and resumed without loss in the next one."""

    async def life(server: Server, session_id: str) -> float:
        count = session(server.client, session_id)["version"]
        listeners = await opened(server, [path(session_id)] * CLIENTS, count)
        took = await asyncio.to_thread(server.stop)
        for listener in listeners:
            await listener.ended()
        assert {listener.text().endswith("}\n\nretry: 1000\n\n") for listener in listeners} == {True}
        assert {tuple(listener.ids()) for listener in listeners} == {tuple(range(1, count + 1))}
        return took

    with serving(tmp_path) as server:
        session_id = silent(server)
        times = []
        for number in range(5):
            if number:
                server.start()
            times.append(asyncio.run(life(server, session_id)))
    tell(f"shutdown with {CLIENTS} streams: {statistics.median(times):.2f} s, longest of 5 {max(times):.2f} s")
    assert statistics.median(times) < 1.0


def test_clients_that_never_read_cost_little_memory(tmp_path: Path, tell: Tell) -> None:
    """Fifty take nothing of 10 MB: a bounded buffer each, and none once they have been cut (P25)."""

    async def scene(server: Server) -> tuple[int, int, int]:
        idle = resident_bytes(server.pid)
        eager = await opened(server, ["/api/events"], 1_800)
        one = resident_bytes(server.pid)
        lazy = [await Listener.open(server.port, "/api/events", reads=False) for _ in range(50)]
        eager += await opened(server, ["/api/events"], 1_800)
        most = resident_bytes(server.pid)
        await asyncio.to_thread(until, lambda: _clients(server) == 2, what="the lazy to be cut")
        for listener in (*lazy, *eager):
            listener.close()
        return idle, one, most

    filled(tmp_path, 1_800)
    with serving(tmp_path, sse_heartbeat_seconds=2.0) as server:
        idle, one, most = asyncio.run(scene(server))
    tell(
        f"50 clients that never read: +{(most - one) / 1e6:.0f} MB"
        f" ({idle / 1e6:.0f} MB idle, {one / 1e6:.0f} MB after one that reads), cut after three heartbeats"
    )
    assert most - one < 100_000_000


def _clients(server: Server) -> float:
    result = re.search(r"^hansard_stream_clients (\S+)$", server.client.get("/metrics").text, re.MULTILINE)
    assert result is not None, "the metric stands there"
    return float(result[1])


class Tab:
    """A page as its script behaves: after an event, it waits a little and requests the changes."""

    def __init__(self, server: Server, session_id: str) -> None:
        self._server, self._id = server, session_id
        self.asked = 0

    async def follow(self) -> None:
        version = session(self._server.client, self._id)["version"]
        listener = await Listener.open(self._server.port, path(self._id, f"?after={version}"))
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        try:
            while True:
                await listener.has(listener.count + 1)
                await asyncio.sleep(0.4)
                version = await self._renewed(reader, writer, version)
        finally:
            listener.close()
            writer.close()

    async def _renewed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, since: int) -> int:
        writer.write(f"GET /sessions/{self._id}/at?since={since} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 200 "), head
        size = int(head.partition("content-length: ")[2].split("\r\n")[0])
        self.asked += 1
        return int(json.loads(await reader.readexactly(size))["newest"])


def test_ten_tabs_cost_less_than_a_quarter_of_a_core(tmp_path: Path, tell: Tell) -> None:
    """Hardly more than one: what they ask for at once is made once."""

    async def scene(server: Server, session_id: str, count: int) -> tuple[float, float]:
        tabs = [Tab(server, session_id) for _ in range(count)]
        tasks = [asyncio.create_task(tab.follow()) for tab in tabs]
        await written(server, session_id, 2)
        before = sum(tab.asked for tab in tabs)
        share = await written(server, session_id)
        asked = (sum(tab.asked for tab in tabs) - before) / SECONDS
        for task in tasks:
            assert not task.done(), "every tab follows to the end"
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # what was closed is gone when the loop ends
        return share, asked

    with serving(tmp_path) as server:
        session_id = silent(server)
        none, _ = asyncio.run(scene(server, session_id, 0))
        one, _ = asyncio.run(scene(server, session_id, 1))
        ten, asked = asyncio.run(scene(server, session_id, TABS))
    tell(f"tabs: {TABS} take {ten:.1%} of a core ({asked:.0f} requests/s), one {one:.1%}, none {none:.1%}")
    assert ten - none < 0.25
