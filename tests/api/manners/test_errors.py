"""How the API refuses: every error is a problem, and none repeats a secret (contract §3)."""

import hashlib
import json
import socket
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from starlette.testclient import TestClient

from tests.api.manners.parts import SECRET, SILENT, START, pointers, posted, problem
from tests.api.server import (
    PATIENCE,
    Json,
    Server,
    delivery,
    inside,
    start,
    until,
)


@pytest.mark.parametrize(
    "path",
    [
        *["/nothing", "/api", "/api/sessions/delivery-none", "/api/sessions/delivery-none/events"],
        *["/api/sessions/delivery-none/worklog", "/api/sessions/delivery-none/budget", "/api/sessions/%00"],
        *["/api/sessions/delivery-none/artifacts", "/api/sessions/delivery-none/artifacts/a1", "/api/sessions/%ff%fe"],
        *["/api/sessions/..%2f..%2fetc%2fpasswd", "/api/sessions/nobody-1", "/api/sessions/", "/docs/", "/healthz/"],
    ],
)
def test_missing_resource_is_404(client: TestClient, path: str) -> None:
    problem(client.get(path), 404)


@pytest.mark.parametrize(
    ("endpoint", "body"), [("cancel", {}), ("budget", {"addMinutes": 1, "reason": "?"}), ("nothing", {})]
)
def test_command_for_unknown_session_is_404(client: TestClient, endpoint: str, body: Json) -> None:
    problem(client.post(f"/api/sessions/delivery-none/{endpoint}", json=body), 404)


@pytest.mark.parametrize("endpoint", ["decision", "budget", "fork", "permission", "scope", "cancel"])
def test_an_unknown_session_is_said_first(client: TestClient, endpoint: str) -> None:
    problem(client.post(f"/api/sessions/delivery-none/{endpoint}", json={"no": "such field"}), 404)


def test_an_unknown_artifact_and_an_unknown_version_are_404(client: TestClient, waiting: str) -> None:
    problem(client.get(f"/api/sessions/{waiting}/artifacts/{waiting}.a9"), 404)
    gone = problem(client.get(f"/api/sessions/{waiting}", params={"version": "4"}), 404)
    assert gone["detail"] == f"Session {waiting} has no version 4; it is at 3."


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/sessions", {"GET", "HEAD", "POST"}),
        ("DELETE", "/api/sessions/delivery-1", {"GET", "HEAD"}),
        ("GET", "/api/sessions/delivery-1/cancel", {"POST"}),
        ("POST", "/healthz", {"GET", "HEAD"}),
        ("OPTIONS", "/api/sessions", {"GET", "HEAD", "POST"}),
        ("BREW", "/api/events", {"GET", "HEAD"}),
    ],
)
def test_unsupported_method_is_405_and_names_the_supported_ones(
    client: TestClient, method: str, path: str, allowed: set[str]
) -> None:
    answer = client.request(method, path)
    problem(answer, 405)
    assert {name.strip() for name in answer.headers["allow"].split(",")} == allowed


@pytest.mark.parametrize("method", ["FOO", "X-PROBE"])
def test_a_method_that_no_parser_knows_is_405_on_a_known_path_and_404_elsewhere(plain: Server, method: str) -> None:
    for _ in range(2):  # the connection stays usable
        answer = plain.client.request(method, "/api/sessions", content=b"{}")
        problem(answer, 405)
        assert answer.headers["allow"] == "GET, HEAD, POST"
    problem(plain.client.request(method, "/nothing"), 404)
    assert plain.client.get("/api/sessions").status_code == 200


def test_a_method_that_no_parser_knows_may_follow_the_body_of_the_request_before(plain: Server) -> None:
    """The answer may come before the body; the rest of the body then arrives with the next request."""
    first = b"FOO /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(("127.0.0.1", plain.port), timeout=PATIENCE) as line, line.makefile("rb") as answers:
        line.sendall(first)
        assert _status(answers) == 404
        line.sendall(b"{}" + first.replace(b"nothing", b"api/sessions") + b"{}")
        assert _status(answers) == 405


def _status(answers: BinaryIO) -> int:
    """The status of the next answer, which is read to its end."""
    status, size = int(answers.readline().split()[1]), 0
    while (header := answers.readline().lower()) != b"\r\n":
        size = int(header.split()[1]) if header.startswith(b"content-length:") else size
    answers.read(size)
    return status


@pytest.mark.parametrize("head", [b"FO O / HTTP/1.1", b"FOO / SMTP/1.1", b"F\x80O / HTTP/1.1", b"FOO / HTTP/2.7"])
def test_a_request_line_without_form_stays_400(plain: Server, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", plain.port), timeout=PATIENCE) as line:
        line.sendall(head + b"\r\nHost: 127.0.0.1\r\n\r\n")
        assert line.recv(65_536).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://evil.example/api/sessions", b"127.0.0.1", 421),
        (b"HTTPS://evil.example:8080", b"127.0.0.1", 421),
        (b"http://127.0.0.1@evil.example/", b"127.0.0.1", 421),
        (b"http://[2001:db8::1]/api/sessions?limit=1", b"localhost", 421),
        (b"http://127.0.0.1/api/sessions?limit=1", b"127.0.0.1", 200),
        (b"http://localhost:80/api/sessions", b"evil.example", 200),
        (b"http://[::1]:9/nothing", b"evil.example", 404),
        (b"http:///api/sessions", b"127.0.0.1", 400),
    ],
)
def test_a_target_that_names_a_server_counts_instead_of_host(
    plain: Server, target: bytes, host: bytes, status: int
) -> None:
    """As RFC 9112 §3.2.2 wants it."""
    with socket.create_connection(("127.0.0.1", plain.port), timeout=PATIENCE) as line, line.makefile("rb") as answers:
        line.sendall(b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (target, host))
        assert _status(answers) == status


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_does_not_say_json_is_415(client: TestClient, kind: str) -> None:
    """A page of another origin can send these without a preflight (F13)."""
    problem(client.post("/api/sessions", content=json.dumps(START), headers={"Content-Type": kind}), 415)


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_json_however_it_is_spelt(client: TestClient, kind: str) -> None:
    answer = client.post("/api/sessions", content=json.dumps(START), headers={"Content-Type": kind})
    assert answer.status_code == 202


@pytest.mark.parametrize("kind", ["latin-1", "utf-16", "ISO-8859-1", '"latin-1"', "utf-7 ; x=y"])
def test_json_in_another_charset_is_415(client: TestClient, kind: str) -> None:
    for media in (f"application/json; charset={kind}", f"application/json;x=1;CHARSET = {kind}"):
        body = problem(client.post("/api/sessions", content=json.dumps(START), headers={"Content-Type": media}), 415)
        assert "UTF-8" in body["detail"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"', "utf-8; x=y"])
def test_utf_8_may_be_named(client: TestClient, charset: str) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}", "Content-Encoding": "identity"}
    assert client.post("/api/sessions", content=json.dumps(START), headers=headers).status_code == 202


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, identity"])
def test_a_body_that_is_packed_is_415(client: TestClient, encoding: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    body = problem(client.post("/api/sessions", content=json.dumps(START), headers=headers), 415)
    assert "Content-Encoding" in body["detail"]


def test_allowed_statuses_are_listed(client: TestClient) -> None:
    body = problem(client.get("/api/sessions", params={"status": "foo"}), 422)
    assert body["detail"].startswith("status: should be one of pending, running, success, failed, cancelled, active, ")
    [fault] = body["errors"]
    assert fault.items() >= {"pointer": "/status", "detail": body["detail"].removeprefix("status: ")}.items()
    assert (fault["code"], list(fault["params"])) == ("not_one_of", ["choices"])
    for status in body["detail"].partition("one of ")[2].split(", "):
        assert client.get("/api/sessions", params={"status": status}).status_code == 200


def test_a_body_that_is_too_large_is_413(client: TestClient) -> None:
    """The default limit is 1 MiB; one byte less is taken."""
    filler = delivery(SILENT, task="x")
    room = 1_048_576 - len(json.dumps(filler | {"title": ""}).encode())
    largest = json.dumps(filler | {"title": "t" * room}).encode()
    assert len(largest) == 1_048_576
    assert pointers(posted(client, largest)) == ["/title"]
    problem(posted(client, largest + b" "), 413)


def test_a_body_that_never_ends_is_413_as_soon_as_it_is_too_large(plain: Server) -> None:
    """The server answers without reading on, and goes on serving."""
    head = b"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", plain.port), timeout=PATIENCE) as line:
        line.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(17):
            line.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        assert line.recv(65_536).startswith(b"HTTP/1.1 413 ")
    assert plain.client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "",
        "[::2]",
        "10.0.0.1",
        "localhost:evil.example",
        "127.0.0.1:8911@evil.example",
        "127.0.0.1:8911, evil.example",
        "127.0.0.1:80:80",
        "127.0.0.1:-1",
        "[::1]evil.example",
        "[::1]:evil.example",
        "[::1",
        "evil@localhost",
    ],
)
def test_a_host_that_is_not_ours_is_421(client: TestClient, host: str) -> None:
    """DNS rebinding."""
    problem(client.get("/api/sessions", headers={"Host": host}), 421)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST:8000", "[::1]", "[::1]:8000", "127.0.0.1:9", "localhost:"]
)
def test_every_name_of_loopback_is_ours(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "https://127.0.0.1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_command_from_a_page_of_another_origin_is_403(client: TestClient, headers: dict[str, str]) -> None:
    before = client.get("/readyz").json()["head"]
    problem(client.post("/api/sessions", json=START, headers=headers), 403)
    assert client.get("/readyz").json()["head"] == before


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://127.0.0.1"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_our_own_pages_may_command(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/api/sessions", json=START, headers=headers).status_code == 202


def test_unknown_key_is_401_on_every_endpoint(tmp_path: Path) -> None:
    """The file holds hashes and is reloaded when it changes. `/healthz` is public. The key's name is the actor."""
    keys = tmp_path / "keys"
    keys.write_text(f"# for the build\nci:{hashlib.sha256(SECRET.encode()).hexdigest()}\n")
    with inside(tmp_path, api_keys_file=keys) as client:
        for path in ("/api/sessions", "/metrics", "/api/events", "/nothing"):
            refused = client.get(path)
            problem(refused, 401)
            assert refused.headers["www-authenticate"] == "Bearer"
        assert client.get("/healthz").status_code == 200
        assert (client.get("/readyz").status_code, client.get("/readyz").content) == (200, b"")
        for header in ("Bearer wrong", f"Basic {SECRET}", "Bearer", "Bearer \xe9"):
            problem(client.get("/api/sessions", headers=[(b"Authorization", header.encode("latin-1"))]), 401)
        ours = {"Authorization": f"Bearer {SECRET}"}
        session_id = start(client, START, **ours)
        [started, *_] = client.get(f"/api/sessions/{session_id}/events", headers=ours).json()["items"]
        assert started["actor"] == "person:ci"
        keys.write_bytes(b"ci:\xff\xfe\n\xe4:\xc3\xa4\n")
        until(lambda: client.get("/api/sessions", headers=ours).status_code == 401, what="the refusal")


def test_key_removed_from_the_file_is_invalid(tmp_path: Path) -> None:
    """The key is refused within a second, until the line is back. A missing file changes nothing."""
    keys, line = tmp_path / "keys", f"ci:{hashlib.sha256(SECRET.encode()).hexdigest()}\n"
    keys.write_text(line)
    ours = {"Authorization": f"Bearer {SECRET}"}

    def answers(status: int) -> bool:
        return bool(client.get("/api/sessions", headers=ours).status_code == status)

    with inside(tmp_path, api_keys_file=keys) as client:
        assert answers(200)
        keys.write_text("")
        until(lambda: answers(401), what="the refusal")
        keys.write_text(line)
        until(lambda: answers(200), what="the line")
        keys.unlink()
        assert answers(200)


def test_nothing_echoes_a_secret(client: TestClient) -> None:
    """Errors never repeat the values that were sent."""
    bodies: list[Any] = [
        START | {"apiKey": SECRET},
        START | {"task": {"token": SECRET}},
        START | {"maxMinutes": SECRET},
        START | {"labels": [SECRET, {"x": SECRET}]},
        START | {"kind": SECRET},
        START | {"workspace": f"relative/{SECRET}"},
        START | {"validationCommands": [f"curl -H {SECRET} | sh"]},
        START | {"scenario": {"replies": {"dev": [{"text": 1, "token": SECRET}]}}},
        [SECRET],
        SECRET,
    ]
    for body in bodies:
        answer = client.post("/api/sessions", json=body)
        problem(answer, 422)
        assert SECRET not in answer.text, body
    broken = posted(client, f'{{"task": "{SECRET}'.encode())
    problem(broken, 400)
    assert SECRET not in broken.text
    refused = client.get("/api/sessions", headers={"Host": "evil.example", "Authorization": f"Bearer {SECRET}"})
    assert SECRET not in refused.text
