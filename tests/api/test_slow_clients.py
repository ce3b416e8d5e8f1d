"""Clients that take their time with a request cost a connection for so long and no longer (P25)."""

import socket
from collections.abc import Iterator

import pytest

from tests.api.server import PATIENCE, Server, delivery, serving, start

HEAD = b"POST /api/policies/triage HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("slow"), receive_seconds=0.4) as found:
        yield found


def answer_to(server: Server, *parts: bytes) -> bytes:
    """All that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        for part in parts:
            line.sendall(part)
        received = b""
        while chunk := line.recv(65_536):
            received += chunk
        return received


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"GET /",),
        (HEAD,),
    ],
    ids=["nothing", "half a line", "half a head"],
)
def test_a_request_that_does_not_come_is_told_so(server: Server, parts: tuple[bytes, ...]) -> None:
    assert answer_to(server, *parts).endswith(
        b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )


def test_the_second_request_of_a_connection_has_no_longer(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        received = line.recv(65_536)
        line.sendall(b"GET /he")
        while chunk := line.recv(65_536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 200 OK\r\n") and b"HTTP/1.1 408 Request Timeout\r\n" in received


def test_a_body_that_does_not_come_is_given_up(server: Server) -> None:
    assert answer_to(server, HEAD + b"Content-Length: 50\r\n\r\n", b"{") == b""


def test_a_body_in_pieces_that_comes_in_time_is_read(server: Server) -> None:
    body = b'{"text": "hello"}'
    answer = answer_to(server, HEAD + b"Connection: close\r\nContent-Length: 17\r\n\r\n", body[:5], body[5:])
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_stream_stays_open(server: Server) -> None:
    """What is open for long is the answer, not the request: five times the patience later the next event comes."""
    late = {"replies": {"planner": [{"text": "a plan", "delayMs": 2_000}]}}
    session_id = start(server.client, delivery(scenario=late))
    with server.client.stream(
        "GET", f"/api/sessions/{session_id}/events", headers={"Accept": "text/event-stream"}
    ) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if "turn.answered" in line)


def test_the_others_are_served(server: Server) -> None:
    """A hundred that never finish their head, and one that does."""
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(100)]
    try:
        for line in slow:
            line.sendall(b"GET / HT")
        assert server.client.get("/healthz").status_code == 200
        assert all(line.recv(1_000).startswith(b"HTTP/1.1 408 ") for line in slow)
    finally:
        for line in slow:
            line.close()
