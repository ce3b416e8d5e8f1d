"""Clients that send a request too slowly lose their connection after a limit (P25)."""

import json
import socket
from collections.abc import Iterator

import pytest

from tests.api.server import PATIENCE, Server, delivery, serving, start

HEAD = b"POST /api/policies/triage HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
FORM = b"POST /decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("slow"), receive_seconds=0.4) as result:
        yield result


def answer_to(server: Server, *parts: bytes) -> bytes:
    """Everything received until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        for part in parts:
            line.sendall(part)
        received = b""
        while chunk := line.recv(65_536):
            received += chunk
        return received


def problem(answer: bytes, status: int) -> str:
    """The problem in the only answer on a connection, after which it closes (RFC 9457)."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert first.startswith(f"HTTP/1.1 {status} ")
    assert headers["content-type"] == "application/problem+json"
    assert (headers["connection"], headers["content-length"]) == ("close", str(len(body)))
    assert headers["x-content-type-options"] == "nosniff"
    data = json.loads(body)
    assert set(data) == {"type", "title", "status", "detail", "code", "params"}
    assert (data["type"], data["status"]) == (f"/docs#problem-{status}", status)
    return str(data["detail"])


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"GET /",),
        (HEAD,),
        (HEAD + b"Content-Length: 50\r\n\r\n", b"{"),
        (FORM + b"Content-Length: 50\r\n\r\n", b"verb=cancel"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\n{"),
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "half a form", "half a chunk"],
)
def test_incomplete_request_gets_408(server: Server, parts: tuple[bytes, ...]) -> None:
    assert problem(answer_to(server, *parts), 408) == "The request took too long; it must arrive within 0.4 s."


@pytest.mark.parametrize(
    "parts",
    [
        (b"\x16\x03\x01\x00 hello\r\n\r\n",),
        (b"\x00\x01garbage",),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
        (HEAD.replace(b"\r\n", b"\n") + b"\n",),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\n{\n"),
        (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n",),
        (HEAD + b"Host: localhost\r\n\r\n",),
        (HEAD.replace(b"HTTP/1.1", b"HTTP/2.0") + b"\r\n",),
        (b"GET / HTTP/1.1\r\n\r\n",),
    ],
    ids=[
        "another protocol",
        "garbage",
        "no chunk",
        "bare LF",
        "bare LF in chunks",
        "two lengths",
        "a coding",
        "two hosts",
        "another version",
        "no host",
    ],
)
def test_other_protocols_get_400_at_once(server: Server, parts: tuple[bytes, ...]) -> None:
    assert problem(answer_to(server, *parts), 400) == "Malformed HTTP/1.1 request."


@pytest.mark.parametrize(
    "parts",
    [
        (HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(5_000)) + b"\r\n",),
        (HEAD + b"X: " + b"y" * 70_000 + b"\r\n\r\n",),
        (b"GET /?", *[b"y" * 10_000] * 7),
    ],
    ids=["many lines", "a long line", "a long address in pieces"],
)
def test_request_head_that_is_too_large_gets_431(server: Server, parts: tuple[bytes, ...]) -> None:
    detail = "The headers are too large: at most 100 lines and 65536 bytes."
    assert problem(answer_to(server, *parts), 431) == detail


def test_requests_may_follow_each_other_without_waiting(server: Server) -> None:
    """Invalid bytes after a complete request do not affect its answer."""
    one = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    body = b'{"text": "' + b"y" * 200_000 + b'"}'
    long = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    answer = answer_to(server, one + b"\r\n" + long + one[:20], one[20:] + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert answer_to(server, one + b"\r\n\x00garbage").startswith(b"HTTP/1.1 200 OK\r\n")


def test_an_offer_of_another_protocol_is_passed_over(server: Server) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    offer = one + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    answer = answer_to(server, offer + one + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == 2


@pytest.mark.parametrize("head", [HEAD, FORM], ids=["body", "form"])
def test_a_body_that_is_announced_too_large_is_not_waited_for(server: Server, head: bytes) -> None:
    """A client that asks first gets no 100 Continue."""
    answer = answer_to(server, head + b"Expect: 100-continue\r\nContent-Length: 3145729\r\n\r\n")
    assert problem(answer, 413).endswith(" bytes.")


def test_expect_continue_is_answered(server: Server) -> None:
    head = HEAD + b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 17\r\n\r\n"
    answer = answer_to(server, head, b'{"text": "hello"}')
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_slow_or_leaving_clients_are_not_logged(server: Server) -> None:
    """Each client leaves in the middle of a body or form, or is refused; the server still answers."""
    for head in (HEAD, FORM):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
            line.sendall(head + b"Content-Length: 50\r\n\r\n{")
        answer_to(server, head + b"Content-Length: 50\r\n\r\n{")
    assert server.client.get("/healthz").status_code == 200
    log = server.log.read_text()
    assert "Traceback" not in log and "ERROR" not in log


def test_second_request_on_a_connection_has_the_same_time_limit(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        received = line.recv(65_536)
        line.sendall(b"GET /he")
        while chunk := line.recv(65_536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 200 OK\r\n") and b"HTTP/1.1 408 Request Timeout\r\n" in received


def test_a_body_in_pieces_that_comes_in_time_is_read(server: Server) -> None:
    body = b'{"text": "hello"}'
    answer = answer_to(server, HEAD + b"Connection: close\r\nContent-Length: 17\r\n\r\n", body[:5], body[5:])
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_stream_stays_open(server: Server) -> None:
    """The answer may stay open, unlike the request: the next event arrives five times the limit later."""
    late = {"replies": {"planner": [{"text": "a plan", "delayMs": 2_000}]}}
    session_id = start(server.client, delivery(scenario=late))
    with server.client.stream(
        "GET", f"/api/sessions/{session_id}/events", headers={"Accept": "text/event-stream"}
    ) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if "turn.answered" in line)


def test_the_others_are_served(server: Server) -> None:
    """A hundred clients never finish their request head, and one does."""
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(100)]
    try:
        for line in slow:
            line.sendall(b"GET / HT")
        assert server.client.get("/healthz").status_code == 200
        assert all(line.recv(1_000).startswith(b"HTTP/1.1 408 ") for line in slow)
    finally:
        for line in slow:
            line.close()
