"""Server shutdown: immediate, graceful, and with nothing half done (P28)."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.listening import SCENARIO, Listener, filled, path
from tests.api.server import PATIENCE, Server, delivery, serving, session, start

GENEROUS = 2.0
"""Seconds; the benchmarks allow one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("shutdown")
    filled(folder, 800)
    with serving(folder) as result:
        yield result


async def ending(server: Server, session_id: str, *, readers: int, lazy: int) -> tuple[float, list[str]]:
    """Seconds to shut down with this many open streams, and the data the readers got."""
    asleep = [await Listener.open(server.port, "/api/events", reads=False) for _ in range(lazy)]
    listeners = [await Listener.open(server.port, path(session_id)) for _ in range(readers - 1)]
    for listener in listeners:
        await listener.has(3)
    listeners.append(await Listener.open(server.port, "/api/events"))
    await listeners[-1].has(800)  # by then the earlier clients have read all they can
    took = await asyncio.to_thread(server.stop)
    for listener in listeners:
        await listener.ended()
    for listener in asleep:
        listener.close()
    return took, [listener.text().replace(": alive\n\n", "") for listener in listeners]


@pytest.mark.alone
@pytest.mark.parametrize(
    ("readers", "lazy"), [pytest.param(50, 0, id="all read"), pytest.param(10, 10, id="half of them take nothing")]
)
def test_streams_end_politely_and_at_once(server: Server, readers: int, lazy: int) -> None:
    """Readers get the last chunk and are asked to reconnect in a second; clients that do not read their
    5 MB are cut and delay no others. The process exits with 0."""
    session_id = start(server.client, delivery(scenario=SCENARIO))
    took, value = asyncio.run(ending(server, session_id, readers=readers, lazy=lazy))
    server.start()
    assert took < GENEROUS
    assert [text.endswith("}\n\nretry: 1000\n\n") for text in value] == [True] * readers


@pytest.mark.alone
def test_a_command_on_its_way_is_answered(server: Server) -> None:
    """The request head arrives before the shutdown, the body after it, when the streams are gone."""
    session_id = start(server.client, delivery(scenario=SCENARIO))
    body = b'{"addMinutes": 1, "reason": "last words"}'

    async def scene() -> tuple[bytes, float]:
        listener = await Listener.open(server.port, path(session_id))
        await listener.has(3)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST /api/sessions/{session_id}/budget HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        stopping = asyncio.create_task(asyncio.to_thread(server.stop))
        await listener.ended()
        writer.write(body)
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        writer.close()
        return answer, await stopping

    answer, took = asyncio.run(scene())
    assert answer.startswith(b"HTTP/1.1 200 ") and b'"version":4' in answer
    assert took < GENEROUS
    server.start()
    assert session(server.client, session_id)["version"] >= 4


def test_connections_after_shutdown_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
