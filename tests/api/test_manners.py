"""How the API behaves whoever asks: contract §3, sentence by sentence."""

import hashlib
import json
import socket
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import httpx2 as httpx
import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from api.actions.bodies import Body
from api.http.problems import PATTERNS
from api.openapi.components import STARTS
from api.openapi.operations import OPERATIONS
from api.routes.policies.bodies import TriageBody
from domain.kinds import TOPICS
from tests.api.server import (
    PATIENCE,
    Json,
    Server,
    delivery,
    ended,
    events,
    inside,
    only,
    serving,
    session,
    start,
    system,
    types,
    until,
)

SILENT = {"planner": [{"text": "late", "delayMs": 86_400_000}]}
"""A team that says nothing for a day: the session stays at version 3."""
START = delivery(SILENT)
SECRET = "sk-live-3c1f9d"


def _below(body: type[Body]) -> set[type[Body]]:
    return {found for direct in body.__subclasses__() for found in (direct, *_below(direct))}


BODIES = sorted(_below(Body), key=lambda body: body.__name__)
"""Every body that a endpoint takes, and every one inside of another."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("manners"), worker_slots=256, read_after_seconds=0.1) as found:
        yield found


@pytest.fixture
def waiting(client: TestClient) -> str:
    """A session that stands at version 3."""
    return start(client, START)


def problem(answer: httpx.Response, status: int) -> Json:
    """The answer's problem, which has to look like one (RFC 9457)."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: Json = answer.json()
    assert found["status"] == status
    assert found["type"] == f"/docs#problem-{status}"
    assert found["title"] and found["detail"] and isinstance(found["title"], str)
    assert "Traceback" not in answer.text
    assert 'File "' not in answer.text
    return found


def pointers(answer: httpx.Response) -> list[str]:
    """Of an answer 422: the fields that are wrong."""
    found = problem(answer, 422)["errors"]
    assert all(entry["detail"] for entry in found)
    return [entry["pointer"] for entry in found]


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


# -- errors are problems -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *["/nothing", "/api", "/api/sessions/delivery-none", "/api/sessions/delivery-none/events"],
        *["/api/sessions/delivery-none/worklog", "/api/sessions/delivery-none/budget", "/api/sessions/%00"],
        *["/api/sessions/delivery-none/artifacts", "/api/sessions/delivery-none/artifacts/a1", "/api/sessions/%ff%fe"],
        *["/api/sessions/..%2f..%2fetc%2fpasswd", "/api/sessions/nobody-1", "/api/sessions/", "/docs/", "/healthz/"],
    ],
)
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    problem(client.get(path), 404)


@pytest.mark.parametrize(
    ("endpoint", "body"), [("cancel", {}), ("budget", {"addMinutes": 1, "reason": "?"}), ("nothing", {})]
)
def test_a_command_on_nobody_is_404(client: TestClient, endpoint: str, body: Json) -> None:
    problem(client.post(f"/api/sessions/delivery-none/{endpoint}", json=body), 404)


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
def test_a_method_that_a_endpoint_does_not_take_is_405_and_names_those_it_does(
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
    """The answer may be there before the body: then the rest of it arrives with the next request."""
    first = b"FOO /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n"
    with socket.create_connection(("127.0.0.1", plain.port), timeout=PATIENCE) as line, line.makefile("rb") as answers:
        line.sendall(first)
        assert _status(answers) == 404
        line.sendall(b"{}" + first.replace(b"nothing", b"api/sessions") + b"{}")
        assert _status(answers) == 405


def _status(answers: BinaryIO) -> int:
    """Of the next answer, which is read to its end."""
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


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_does_not_say_json_is_415(client: TestClient, kind: str) -> None:
    """A page of another origin can send these without being asked about (F13)."""
    problem(client.post("/api/sessions", content=json.dumps(START), headers={"Content-Type": kind}), 415)


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_json_however_it_is_spelt(client: TestClient, kind: str) -> None:
    answer = client.post("/api/sessions", content=json.dumps(START), headers={"Content-Type": kind})
    assert answer.status_code == 202


@pytest.mark.parametrize("kind", ["latin-1", "utf-16", "ISO-8859-1", '"latin-1"', "utf-7 ; x=y"])
def test_json_in_another_charset_is_415(client: TestClient, kind: str) -> None:
    for media in (f"application/json; charset={kind}", f"application/json;x=1;CHARSET = {kind}"):
        found = problem(client.post("/api/sessions", content=json.dumps(START), headers={"Content-Type": media}), 415)
        assert "UTF-8" in found["detail"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"', "utf-8; x=y"])
def test_utf_8_may_be_named(client: TestClient, charset: str) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}", "Content-Encoding": "identity"}
    assert client.post("/api/sessions", content=json.dumps(START), headers=headers).status_code == 202


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, identity"])
def test_a_body_that_is_packed_is_415(client: TestClient, encoding: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    found = problem(client.post("/api/sessions", content=json.dumps(START), headers=headers), 415)
    assert "Content-Encoding" in found["detail"]


def test_the_statuses_that_can_be_looked_for_are_told(client: TestClient) -> None:
    found = problem(client.get("/api/sessions", params={"status": "foo"}), 422)
    assert found["detail"].startswith("status: should be one of pending, running, success, failed, cancelled, active, ")
    [fault] = found["errors"]
    assert fault.items() >= {"pointer": "/status", "detail": found["detail"].removeprefix("status: ")}.items()
    assert (fault["code"], list(fault["params"])) == ("not_one_of", ["choices"])
    for status in found["detail"].partition("one of ")[2].split(", "):
        assert client.get("/api/sessions", params={"status": status}).status_code == 200


def test_a_body_that_is_too_large_is_413(client: TestClient) -> None:
    """The default limit is 1 MiB; one byte less is taken."""
    filler = delivery(SILENT, task="x")
    room = 1_048_576 - len(json.dumps(filler | {"title": ""}).encode())
    largest = json.dumps(filler | {"title": "t" * room}).encode()
    assert len(largest) == 1_048_576
    assert pointers(_posted(client, largest)) == ["/title"]
    problem(_posted(client, largest + b" "), 413)


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
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::2]", "10.0.0.1"]
)
def test_a_host_that_is_not_ours_is_421(client: TestClient, host: str) -> None:
    """DNS rebinding."""
    problem(client.get("/api/sessions", headers={"Host": host}), 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:8000", "[::1]:8000", "127.0.0.1:9"])
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


def test_without_a_known_key_every_endpoint_is_401_where_keys_are_kept(tmp_path: Path) -> None:
    """The file holds hashes; it is read again when it changes. `/healthz` is open. The key's name is the actor."""
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


def test_a_line_that_was_taken_out_of_the_file_of_keys_counts_no_more(tmp_path: Path) -> None:
    """The key is refused within a second, until the line is back. A file that is away changes nothing."""
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
    """Values that were sent never come back in what is wrong with them, whatever is wrong."""
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
    broken = _posted(client, f'{{"task": "{SECRET}'.encode())
    problem(broken, 400)
    assert SECRET not in broken.text
    refused = client.get("/api/sessions", headers={"Host": "evil.example", "Authorization": f"Bearer {SECRET}"})
    assert SECRET not in refused.text


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"task": None}, "/task"),
        ({"task": " \n"}, "/task"),
        ({"task": 7}, "/task"),
        ({"filePaths": []}, "/filePaths"),
        ({"filePaths": "src/a.py"}, "/filePaths"),
        ({"filePaths": ["ok.py", "../out.py"]}, "/filePaths/1"),
        ({"filePaths": ["ok.py", ""]}, "/filePaths/1"),
        ({"filePaths": ["  "]}, "/filePaths/0"),
        ({"filePaths": ["/etc/passwd"]}, "/filePaths/0"),
        ({"maxIterations": 0}, "/maxIterations"),
        ({"maxIterations": 21}, "/maxIterations"),
        ({"maxIterations": True}, "/maxIterations"),
        ({"maxIterations": "3"}, "/maxIterations"),
        ({"maxIterations": 2.5}, "/maxIterations"),
        ({"maxMinutes": 181}, "/maxMinutes"),
        ({"maxMinutes": 0}, "/maxMinutes"),
        ({"maxAttempts": 21}, "/maxAttempts"),
        ({"maxTokens": 0}, "/maxTokens"),
        ({"validationCommands": ["true", " "]}, "/validationCommands/1"),
        ({"validationCommands": ["true && false"]}, "/validationCommands/0"),
        ({"validationCommands": []}, "/validationCommands"),
        ({"validationCommands": ["true", 7]}, "/validationCommands/1"),
        ({"validationCommands": [["true", 7]]}, "/validationCommands/0/1"),
        ({"testCommand": {"run": "true"}}, "/testCommand"),
        ({"workspace": "relative"}, "/workspace"),
        ({"workspace": "/no/such/folder"}, "/workspace"),
        ({"scenario": {"replies": {"dev": []}}}, "/scenario/replies/dev"),
        ({"scenario": {"reply": {}}}, "/scenario/reply"),
        ({"labels": ["x" * 65]}, "/labels/0"),
        ({"labels": ["  "]}, "/labels/0"),
        ({"scenario": {"replies": {"": ["ok"]}}}, "/scenario/replies/"),
        ({"scenario": {"replies": {"dev": [{"files": {"": "1"}}]}}}, "/scenario/replies/dev/0/files/"),
        (
            {"scenario": {"replies": {"dev": [{"files": {"~/" + "x" * 1_024: "1"}}]}}},
            "/scenario/replies/dev/0/files/~0~1" + "x" * 1_024,
        ),
        ({"kind": "seance"}, "/kind"),
        ({"kind": None}, "/kind"),
        ({"file_paths": ["a"]}, "/file_paths"),
        ({"surprise": 1}, "/surprise"),
        ({"a/b~c": 1}, "/a~1b~0c"),
    ],
    ids=lambda found: str(found)[:80],
)
def test_an_invalid_field_is_422_with_its_pointer(client: TestClient, fields: Json, pointer: str) -> None:
    assert pointer in pointers(client.post("/api/sessions", json=START | fields))


def test_all_invalid_fields_are_named_at_once(client: TestClient) -> None:
    answer = client.post("/api/sessions", json={"task": "", "maxMinutes": 0, "surprise": 1})
    assert {"/task", "/maxMinutes", "/surprise"} == set(pointers(answer))


@pytest.mark.parametrize("body", [b"[]", b"7", b'"text"', b"null"])
def test_a_body_that_is_no_object_is_422(client: TestClient, body: bytes) -> None:
    assert pointers(_posted(client, body)) == [""]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"reason": "?"}, ""),
        ({"addMinutes": 1}, "/reason"),
        ({"addMinutes": 1, "reason": " "}, "/reason"),
        ({"addMinutes": 0, "reason": "?"}, "/addMinutes"),
        ({"addMinutes": 1, "addRounds": 1, "reason": "?"}, "/addRounds"),
        ({"addMinutes": "1", "reason": "?"}, "/addMinutes"),
        ({"addIterations": 21, "reason": "?"}, "/addIterations"),
        ({"addHours": 1, "reason": "?"}, "/addHours"),
    ],
    ids=str,
)
def test_an_extension_says_what_and_why(client: TestClient, waiting: str, body: Json, pointer: str) -> None:
    assert pointer in pointers(client.post(f"/api/sessions/{waiting}/budget", json=body))
    assert session(client, waiting)["version"] == 3


def test_what_is_wrong_is_said_in_words_that_help(client: TestClient) -> None:
    """No patterns, no names of Python's types; of a value's alternatives only those that it could have been."""
    wrong = {
        "task": " ",
        "testCommand": ["a", 3],
        "validationCommands": [7, [], "cd x", " "],
        "scenario": "x",
        "review": 3,
        "labels": "x",
        "workspace": "",
    }
    found = problem(client.post("/api/sessions", json=START | wrong), 422)["errors"]
    assert {entry["pointer"]: entry["detail"] for entry in found} == {
        "/task": "should not be blank",
        "/testCommand/1": "should be a string",
        "/validationCommands/0": "should be a string or a list",
        "/validationCommands/1": "should not be empty",
        "/validationCommands/3": "should not be blank",
        "/scenario": "should be an object",
        "/review": "should be an object",
        "/labels": "should be a list",
        "/workspace": "should not be empty",
    }


def test_every_pattern_of_a_body_has_a_sentence() -> None:
    def patterns(found: Any) -> set[str]:
        below = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
        own = {found["pattern"]} if isinstance(found, dict) and isinstance(found.get("pattern"), str) else set()
        return own.union(*map(patterns, below))

    bodies = [about.body for about in OPERATIONS.values() if isinstance(about.body, type)]
    used = set().union(*(patterns(body.model_json_schema()) for body in (*STARTS, *bodies)))
    assert used == set(PATTERNS)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_null_is_a_field_that_is_left_out_wherever_one_may_be(body: type[Body]) -> None:
    """But for the `kind` of a start, which says what body it is; where a field is needed null is as wrong as ever."""
    optional, needed = _fields(body)
    without = _taken(body, {})
    assert [name for name in optional if _taken(body, {name: None}) != without] == []
    assert _taken(body, dict.fromkeys(optional)) == without
    wrong = _taken(body, dict.fromkeys(needed))
    assert needed <= ({name for name, _ in wrong} if isinstance(wrong, set) else set())


def test_a_start_with_nulls_is_the_start_without_them(client: TestClient, waiting: str) -> None:
    nulls = ("title", "labels", "origin", "maxIterations", "maxAttempts", "maxTokens", "testCommand", "workspace")
    review = {"enabled": False, "profile": None}
    found = session(client, start(client, START | dict.fromkeys(nulls) | {"review": review}))
    other = session(client, waiting)
    own = {"id", "createdAt", "updatedAt", "outstandingTurns", "budget", "artifactRefs"}
    assert {name: value for name, value in found.items() if name not in own} == {
        name: value for name, value in other.items() if name not in own
    }
    assert found["budget"]["maxIterations"] == other["budget"]["maxIterations"] == 6


def test_a_command_with_nulls_is_repeated_as_it_was_sent(client: TestClient, waiting: str) -> None:
    path, ours = f"/api/sessions/{waiting}/cancel", key()
    first = client.post(path, json={"reason": None}, headers=ours)
    assert first.status_code == 200
    again = client.post(path, json={"reason": None}, headers=ours)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    problem(client.post(path, json={}, headers=ours), 422)


def test_null_is_taken_at_the_endpoints_of_workers_and_messages(client: TestClient) -> None:
    nothing = client.post("/api/turns/claim", json={"agents": ["Nobody"], "roles": None, "waitSeconds": None})
    assert nothing.status_code == 204
    origin = str(uuid.uuid4())
    sent = {"prompt": "hello", "origin": origin, "title": None, "labels": None, "maxRounds": None, "triage": None}
    assert client.post("/api/message", json=sent).json()["action"] == "started"
    prompt = client.post("/api/policies/prompt", json={"name": "plan", "strategy": None, "language": None})
    assert prompt.json() == client.post("/api/policies/prompt", json={"name": "plan"}).json()


def test_a_blank_body_is_400_and_none_at_all_is_an_empty_object(client: TestClient, waiting: str) -> None:
    blank = problem(_posted(client, b" \n", f"/api/sessions/{waiting}/cancel"), 400)
    assert blank["detail"] == "The body is blank; send a JSON object, or no body at all."
    assert client.post(f"/api/sessions/{waiting}/cancel").status_code == 200


def test_a_start_is_bound_to_no_version(client: TestClient) -> None:
    """There is none before it."""
    found = problem(client.post("/api/sessions", json=START, headers={"If-Match": '"1"'}), 412)
    assert found["currentVersion"] == 0
    assert client.post("/api/sessions", json=START, headers={"If-Match": "*"}).status_code == 202


def test_a_refusal_is_409_with_the_state_and_what_is_allowed_now(client: TestClient, waiting: str) -> None:
    client.post(f"/api/sessions/{waiting}/cancel", json={})
    refused = problem(client.post(f"/api/sessions/{waiting}/cancel", json={}), 409)
    sentence = "A delivery in the state cancelled cannot be cancelled. Nothing is allowed now."
    assert refused["detail"] == sentence
    assert refused["allowed"] == []


def test_what_breaks_inside_is_500_and_says_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError(SECRET)

    with inside(tmp_path) as client:
        monkeypatch.setattr("projections.sessions.overview.page", breaks)
        answer = client.get("/api/sessions")
        problem(answer, 500)
        assert SECRET not in answer.text and "ZeroDivision" not in answer.text
        monkeypatch.undo()
        assert client.get("/api/sessions").status_code == 200


def test_a_server_that_takes_no_more_is_503_with_retry_after(tmp_path: Path) -> None:
    """While another process holds the log one command is at hand and one waits: there is no room for a third."""
    with inside(tmp_path, max_waiting=1) as client, ThreadPoolExecutor(2) as pool:
        ids = [start(client, START) for _ in range(3)]
        other = sqlite3.connect(tmp_path / "hansard.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        taken = []
        for count, session_id in enumerate(ids[:2], start=1):
            taken.append(pool.submit(client.post, f"/api/sessions/{session_id}/cancel", json={}))
            until(partial(_at_hand, client, count), what="a command at hand")
        refused = client.post(f"/api/sessions/{ids[2]}/cancel", json={})
        other.execute("ROLLBACK")
        other.close()
        assert [future.result().status_code for future in taken] == [200, 200]
        problem(refused, 503)
        assert int(refused.headers["retry-after"]) >= 1
        assert session(client, ids[2])["version"] == 3


def test_every_answer_carries_the_headers_of_a_careful_server(client: TestClient, waiting: str) -> None:
    for answer in (
        client.get(f"/api/sessions/{waiting}"),
        client.get("/nothing"),
        client.post("/api/sessions", json={}),
        client.get("/api/sessions", headers={"Host": "evil.example"}),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers


# -- one strict decoder --------------------------------------------------------------------------------------------


def _nested(depth: int) -> bytes:
    """A start request whose deepest value lies so many levels down."""
    inner = b"[" * (depth - 1) + b"]" * (depth - 1)
    return json.dumps(START).encode()[:-1] + b', "extra": ' + inner + b"}"


@pytest.mark.parametrize(
    "body",
    [
        b'{"task": "a", "task": "b"}',
        b'{"scenario": {"replies": {"dev": ["a"], "dev": ["b"]}}}',
        b'{"maxMinutes": NaN}',
        b'{"maxMinutes": Infinity}',
        b'{"maxMinutes": 1e999}',
        b'{"maxTokens": 9007199254740993}',
        b'{"task": "a\\u0000b"}',
        b'{"task": "a\x00b"}',
        b'{"task": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"task": "\xed\xa0\x80"}',
        b'{"task": "\xff"}',
        '{"task": "a"}'.encode("utf-16"),
        b'\xef\xbb\xbf{"task": "a"}',
        b'{"task": "a",}',
        b"{'task': 'a'}",
        b'{"task": "a"} {"task": "b"}',
        b'{"task": "a"',
        b"not json",
        b" ",
        _nested(65),
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:48]),
)
def test_what_is_not_strictly_json_is_400(client: TestClient, body: bytes) -> None:
    problem(_posted(client, body), 400)


def test_depth_64_is_still_read(client: TestClient) -> None:
    assert pointers(_posted(client, _nested(64))) == ["/extra"]


def test_every_text_that_json_can_say_comes_back_as_it_was(client: TestClient) -> None:
    task = 'Ω "quotes" \\ / \u2028 \u202e \U0001f600 로그인\ttab\r\nline'
    found = session(client, start(client, START | {"task": task, "labels": ["ünï", "😀"]}))
    assert (found["task"], found["labels"]) == (task, ["ünï", "😀"])


# -- idempotency ---------------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_first_answer_byte_for_byte(client: TestClient) -> None:
    ours = key()
    first = client.post("/api/sessions", json=START, headers=ours)
    again = client.post("/api/sessions", json=START, headers=ours)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.content == again.content
    assert first.headers["location"] == again.headers["location"] == f"/api/sessions/{first.json()['sessionId']}"
    assert first.headers["etag"] == again.headers["etag"] == '"3"'
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


def test_the_first_answer_stays_the_first_whatever_happened_since(client: TestClient, waiting: str) -> None:
    ours, path = key(), f"/api/sessions/{waiting}/budget"
    first = client.post(path, json={"addMinutes": 1, "reason": "a"}, headers=ours)
    client.post(path, json={"addMinutes": 2, "reason": "b"})
    again = client.post(path, json={"addMinutes": 1, "reason": "a"}, headers=ours)
    assert (again.status_code, again.content) == (200, first.content)
    assert session(client, waiting)["budget"]["maxMinutes"] == 48
    client.post(f"/api/sessions/{waiting}/cancel", json={})
    late = client.post(path, json={"addMinutes": 1, "reason": "a"}, headers=ours)
    assert (late.status_code, late.content, late.headers["idempotency-replayed"]) == (200, first.content, "true")


@pytest.mark.parametrize("other", [b'{"addMinutes": 2, "reason": "a"}', b'{"addMinutes":1,"reason":"a"}'])
def test_the_same_key_with_another_body_is_422(client: TestClient, waiting: str, other: bytes) -> None:
    ours, path = key(), f"/api/sessions/{waiting}/budget"
    assert _posted(client, b'{"addMinutes": 1, "reason": "a"}', path, **ours).status_code == 200
    assert pointers(_posted(client, other, path, **ours)) == [""]
    assert session(client, waiting)["version"] == 4


def test_another_sessions_endpoint_is_another_request(client: TestClient, waiting: str) -> None:
    ours, other = key(), start(client, START)
    assert client.post(f"/api/sessions/{waiting}/cancel", json={}, headers=ours).status_code == 200
    assert pointers(client.post(f"/api/sessions/{other}/cancel", json={}, headers=ours)) == [""]
    assert session(client, other)["status"] == "running"


def test_a_refused_answer_is_an_answer_too(client: TestClient, waiting: str) -> None:
    """409, 412 and 404 are given again in the same words, even when the command would be allowed now."""
    finished = start(client, START)
    client.post(f"/api/sessions/{finished}/cancel", json={})
    refused = key() | {"If-Match": '"1"'}
    cases: list[tuple[int, str, dict[str, str]]] = [
        (409, f"/api/sessions/{finished}/cancel", key()),
        (412, f"/api/sessions/{waiting}/cancel", refused),
        (404, "/api/sessions/delivery-none/cancel", key()),
    ]
    for status, path, ours in cases:
        first = client.post(path, json={}, headers=ours)
        problem(first, status)
        assert "idempotency-replayed" not in first.headers
        for _ in range(3):
            again = client.post(path, json={}, headers=ours)
            problem(again, status)
            assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    assert session(client, waiting)["version"] == 3


@pytest.mark.parametrize("words", ["", "x" * 256, "a b", "ключ", "a\tb"])
def test_a_key_that_is_none_is_400(client: TestClient, words: str) -> None:
    problem(client.post("/api/sessions", json=START, headers=[(b"Idempotency-Key", words.encode())]), 400)


def test_a_key_of_255_characters_is_one(client: TestClient) -> None:
    ours = {"Idempotency-Key": (str(uuid.uuid4()) + "~" * 255)[:255]}
    bodies = {client.post("/api/sessions", json=START, headers=ours).content for _ in range(2)}
    assert len(bodies) == 1


def test_concurrent_duplicates_are_carried_out_once(client: TestClient) -> None:
    """30 keys, 8 at once each: one effect, one answer, the other seven replayed (P7)."""
    rounds, ways = 30, 8
    with ThreadPoolExecutor(ways) as pool:
        for _ in range(rounds):
            ours, barrier = key(), threading.Barrier(ways)
            answers = _together(pool, ways, partial(_after, barrier, client, "/api/sessions", START, ours))
            assert {answer.status_code for answer in answers} == {202}
            assert len({answer.content for answer in answers}) == 1
            assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
            started = events(client, answers[0].json()["sessionId"])
            assert started[0]["commandId"] == ours["Idempotency-Key"]


def test_concurrent_refused_duplicates_have_one_answer(client: TestClient, waiting: str) -> None:
    client.post(f"/api/sessions/{waiting}/cancel", json={})
    path, ways = f"/api/sessions/{waiting}/cancel", 8
    with ThreadPoolExecutor(ways) as pool:
        for _ in range(20):
            ours, barrier = key(), threading.Barrier(ways)
            answers = _together(pool, ways, partial(_after, barrier, client, path, {}, ours))
            assert {answer.status_code for answer in answers} == {409}
            assert len({answer.content for answer in answers}) == 1
            assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1


def test_a_key_is_remembered_over_a_restart(plain: Server) -> None:
    """Accepted and refused alike, after kill -9 and after a polite stop."""
    ours, theirs, label = key(), key(), str(uuid.uuid4())
    body = START | {"labels": [label]}
    first = plain.client.post("/api/sessions", json=body, headers=ours)
    missing = plain.client.post("/api/sessions/delivery-none/cancel", json={}, headers=theirs)
    problem(missing, 404)
    for end in (plain.kill, plain.stop):
        end()
        plain.start()
        again = plain.client.post("/api/sessions", json=body, headers=ours)
        assert (again.status_code, again.content) == (202, first.content)
        assert again.headers["idempotency-replayed"] == "true"
        gone = plain.client.post("/api/sessions/delivery-none/cancel", json={}, headers=theirs)
        assert (gone.content, gone.headers["idempotency-replayed"]) == (missing.content, "true")
        other = plain.client.post("/api/sessions", json=body | {"title": "x"}, headers=ours)
        assert pointers(other) == [""]
    assert len(plain.client.get("/api/sessions", params={"label": label}).json()["items"]) == 1


def test_a_key_is_its_owners_own(tmp_path: Path) -> None:
    """Two principals may choose the same key; neither sees the other's answer (P7)."""
    keys = tmp_path / "keys"
    keys.write_text("".join(f"{name}:{hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("ci", "ops")))
    with inside(tmp_path, api_keys_file=keys) as client:
        ours = key()
        answers = [
            client.post("/api/sessions", json=START, headers=ours | {"Authorization": f"Bearer {name}"})
            for name in ("ci", "ops", "ci", "ops")
        ]
        assert [answer.status_code for answer in answers] == [202] * 4
        assert ["idempotency-replayed" in answer.headers for answer in answers] == [False, False, True, True]
        assert answers[0].content == answers[2].content != answers[1].content == answers[3].content


@pytest.fixture(scope="module")
def replica(plain: Server) -> Iterator[Server]:
    """A second server on the same log."""
    with serving(plain.folder, worker_slots=64) as found:
        yield found


def test_another_replica_gives_the_same_answer(plain: Server, replica: Server) -> None:
    """Also when both are asked at the same moment: one effect, one answer; accepted and refused alike."""
    with ThreadPoolExecutor(8) as pool:
        clients = [plain.client, replica.client] * 4
        for _ in range(10):
            ours, barrier = key(), threading.Barrier(8)
            asked = [pool.submit(_after, barrier, client, "/api/sessions", START, ours) for client in clients]
            answers = [future.result() for future in asked]
            assert {(answer.status_code, answer.content) for answer in answers} == {(202, answers[0].content)}
            assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
            path = f"/api/sessions/{answers[0].json()['sessionId']}/cancel"
            assert plain.client.post(path, json={}).status_code == 200
            theirs, barrier = key(), threading.Barrier(8)
            asked = [pool.submit(_after, barrier, client, path, {}, theirs) for client in clients]
            refused = [future.result() for future in asked]
            assert {(answer.status_code, answer.content) for answer in refused} == {(409, refused[0].content)}
            assert sum("idempotency-replayed" not in answer.headers for answer in refused) == 1


def test_of_two_replicas_exactly_one_moves_a_version_on(plain: Server, replica: Server) -> None:
    session_id = start(plain.client, START)
    path, body = f"/api/sessions/{session_id}/budget", {"addMinutes": 1, "reason": "?"}
    with ThreadPoolExecutor(8) as pool:
        for version in range(3, 13):
            barrier, bound = threading.Barrier(8), {"If-Match": f'"{version}"'}
            clients = [plain.client, replica.client] * 4
            asked = [pool.submit(_after, barrier, client, path, body, bound) for client in clients]
            assert sorted(future.result().status_code for future in asked) == [200] + [412] * 7


# -- versions ------------------------------------------------------------------------------------------------------


def test_a_command_is_carried_out_only_at_the_version_it_names(client: TestClient, waiting: str) -> None:
    path = f"/api/sessions/{waiting}/budget"
    stale = client.post(path, json={"addMinutes": 1, "reason": "?"}, headers={"If-Match": '"2"'})
    found = problem(stale, 412)
    assert found["currentVersion"] == 3
    assert session(client, waiting)["version"] == 3
    current = client.post(path, json={"addMinutes": 1, "reason": "?"}, headers={"If-Match": '"3"'})
    assert (current.status_code, current.headers["etag"]) == (200, '"4"')
    anyway = client.post(path, json={"addMinutes": 1, "reason": "?"}, headers={"If-Match": "*"})
    assert anyway.json()["version"] == 5


@pytest.mark.parametrize("tag", ["3", '"03"', '"x"', 'W/"3"', '"-1"', '""', '"3", "4"'])
def test_a_version_that_cannot_be_one_is_400(client: TestClient, waiting: str, tag: str) -> None:
    problem(client.post(f"/api/sessions/{waiting}/cancel", json={}, headers={"If-Match": tag}), 400)
    assert session(client, waiting)["version"] == 3


def test_of_many_who_saw_the_same_version_exactly_one_wins(client: TestClient, waiting: str) -> None:
    """Promise P6."""
    path, ways = f"/api/sessions/{waiting}/budget", 16
    with ThreadPoolExecutor(ways) as pool:
        for version in range(3, 23):
            body, bound = {"addMinutes": 1, "reason": "?"}, {"If-Match": f'"{version}"'}
            barrier = threading.Barrier(ways)
            answers = _together(pool, ways, partial(_after, barrier, client, path, body, bound))
            assert sorted(answer.status_code for answer in answers) == [200] + [412] * (ways - 1)
            assert {a.json()["currentVersion"] for a in answers if a.status_code == 412} == {version + 1}


def test_every_command_answers_version_and_position(client: TestClient) -> None:
    answer = client.post("/api/sessions", json=START)
    found = answer.json()
    assert set(found) == {"sessionId", "kind", "version", "position"}
    assert (found["kind"], found["version"]) == ("delivery", 3)
    last = events(client, found["sessionId"])[-1]
    assert (last["version"], last["position"]) == (found["version"], found["position"])
    cancelled = client.post(f"/api/sessions/{found['sessionId']}/cancel", json={}).json()
    assert cancelled["version"] > 3 and cancelled["position"] > found["position"]


def test_an_unchanged_session_is_304(client: TestClient, waiting: str) -> None:
    path = f"/api/sessions/{waiting}"
    first = client.get(path)
    assert first.headers["etag"] == '"3"'
    for tag in ('"3"', 'W/"3"', '"1", "3"', "*"):
        same = client.get(path, headers={"If-None-Match": tag})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"3"'), tag
    assert client.get(path, headers={"If-None-Match": '"2"'}).status_code == 200
    client.post(f"{path}/budget", json={"addMinutes": 1, "reason": "?"})
    assert client.get(path, headers={"If-None-Match": '"3"'}).status_code == 200


def test_a_session_can_be_seen_as_it_stood_at_any_version(client: TestClient) -> None:
    """Also its worklog and its budget; a past version never changes."""
    review = json.dumps({"blockingIssues": [{"id": "1", "title": "Logging", "detail": "?"}], "fixPlan": ["Add it."]})
    session_id = start(client, delivery({"reviewer": [review]}, maxIterations=2))
    last = ended(client, session_id)["version"]
    position = events(client, session_id)[-1]["position"]
    seen = [session(client, session_id, version=version) for version in range(1, last + 1)]
    assert [found["version"] for found in seen] == list(range(1, last + 1))
    assert [found["status"] for found in seen] == ["running"] * (last - 3) + ["failed"] * 3
    assert sorted({found["iteration"] for found in seen}) == [0, 1, 2]
    assert seen == [session(client, session_id, version=version) for version in range(1, last + 1)]
    fresh = {"Read-After": str(position)}
    assert client.get(f"/api/sessions/{session_id}", params={"version": "5"}).headers["etag"] == '"5"'
    logs = [
        client.get(f"/api/sessions/{session_id}/worklog", params={"version": str(v)}, headers=fresh).text
        for v in (1, last)
    ]
    assert "Add a login page" in logs[0] and "Logging" not in logs[0]
    assert "Logging" in logs[1]
    spans = [
        len(client.get(f"/api/sessions/{session_id}/budget", params={"version": str(v)}, headers=fresh).json()["items"])
        for v in (1, last)
    ]
    assert spans[0] < spans[1]


@pytest.mark.parametrize("version", ["0", "-1", "x", "1.5", "01", "", "9" * 30])
def test_a_version_that_is_no_number_is_422(client: TestClient, waiting: str, version: str) -> None:
    assert pointers(client.get(f"/api/sessions/{waiting}", params={"version": version})) == ["/version"]


# -- reading after writing -----------------------------------------------------------------------------------------


def _seen_after(client: TestClient, label: str, fresh: dict[str, str]) -> Json | None:
    """Never what was before: where the views are not there in time (a tenth of a second here), it is said so."""
    answer = client.get("/api/sessions", params={"label": label}, headers=fresh)
    assert answer.status_code in (200, 503)
    found: Json = answer.json()
    return found if answer.status_code == 200 else None


def test_read_after_sees_what_was_written(client: TestClient) -> None:
    """Promise P12: the list comes from the views, which follow the log."""
    for number in range(40):
        answer = client.post("/api/sessions", json=START | {"labels": [f"read-{number}"]}).json()
        fresh = {"Read-After": str(answer["position"])}
        [found] = until(partial(_seen_after, client, f"read-{number}", fresh), what="the views")["items"]
        assert found["id"] == answer["sessionId"]


def test_read_after_beyond_the_end_of_the_log_is_422_at_once(client: TestClient) -> None:
    head = client.get("/readyz").json()["head"]
    answer = client.get("/api/sessions", headers={"Read-After": str(head + 1_000_000)})
    assert pointers(answer) == ["/Read-After"]
    assert str(head + 1_000_000) in answer.json()["detail"]


@pytest.mark.parametrize("position", ["x", "-1", "", "1.0", "9" * 40])
def test_read_after_nonsense_is_400(client: TestClient, position: str) -> None:
    problem(client.get("/api/sessions", headers={"Read-After": position}), 400)


# -- collections ---------------------------------------------------------------------------------------------------


def test_a_list_is_read_page_by_page_newest_first(client: TestClient) -> None:
    """Sessions that begin meanwhile disturb nothing: no page repeats or misses one."""
    label, made = str(uuid.uuid4()), []
    for _ in range(7):
        made.append(client.post("/api/sessions", json=START | {"labels": [label]}).json())
    fresh = {"Read-After": str(made[-1]["position"])}
    found, cursor = [], None
    while True:
        page = client.get("/api/sessions", params=_query(label=label, limit="3", cursor=cursor), headers=fresh).json()
        assert set(page) == {"items", "nextCursor"}
        found += [item["id"] for item in page["items"]]
        start(client, START | {"labels": [label]})
        if (cursor := page["nextCursor"]) is None:
            break
    assert found == [answer["sessionId"] for answer in reversed(made)]


def test_a_sessions_events_are_read_page_by_page(client: TestClient) -> None:
    session_id = start(client, delivery())
    last = ended(client, session_id)["version"]
    found, after = [], "0"
    while after is not None:
        page = client.get(f"/api/sessions/{session_id}/events", params={"after": after, "limit": "7"}).json()
        assert len(page["items"]) <= 7
        found += page["items"]
        after = page["nextCursor"]
    assert [event["version"] for event in found] == list(range(1, last + 1))
    beyond = client.get(f"/api/sessions/{session_id}/events", params={"after": str(last)}).json()
    assert beyond == {"items": [], "nextCursor": None}


def test_the_whole_log_is_read_by_position_and_filtered(client: TestClient, waiting: str) -> None:
    found, after = [], "0"
    while after is not None:
        page = client.get("/api/events", params={"after": after, "limit": "200"}).json()
        found += page["items"]
        after = page["nextCursor"]
    positions = [event["position"] for event in found]
    assert positions == sorted(set(positions))
    assert [event["version"] for event in found if event["sessionId"] == waiting] == [1, 2, 3]
    starts = client.get("/api/events", params={"type": "delivery.session_started", "limit": "500"}).json()["items"]
    assert types(starts) == ["session_started"] * len(starts) != []
    assert only(starts, "delivery.session_started") == only(found, "delivery.session_started")[: len(starts)]
    assert client.get("/api/events", params={"kind": "delivery", "limit": "1"}).json()["items"][0] == found[0]


@pytest.mark.parametrize(
    ("path", "query", "pointer"),
    [
        ("/api/sessions", {"lmit": "3"}, "/lmit"),
        ("/api/sessions", {"limit": "0"}, "/limit"),
        ("/api/sessions", {"limit": "201"}, "/limit"),
        ("/api/sessions", {"limit": "ten"}, "/limit"),
        ("/api/sessions", {"cursor": "nonsense"}, "/cursor"),
        ("/api/sessions", {"cursor": "0"}, "/cursor"),
        ("/api/sessions", {"kind": "seance"}, "/kind"),
        ("/api/sessions", {"status": "foo"}, "/status"),
        ("/api/sessions", {"status": ""}, "/status"),
        ("/api/sessions", {"q": "x" * 1_001}, "/q"),
        ("/api/sessions/{}", {"versions": "1"}, "/versions"),
        ("/api/sessions/{}/events", {"version": "1"}, "/version"),
        ("/api/sessions/{}/events", {"after": "-1"}, "/after"),
        ("/api/sessions/{}/events", {"limit": "501"}, "/limit"),
        ("/api/sessions/{}/worklog", {"at": "1"}, "/at"),
        ("/api/sessions/{}/budget", {"limit": "1"}, "/limit"),
        ("/api/sessions/{}/artifacts", {"at": "1"}, "/at"),
        ("/api/events", {"type": "delivery.nothing"}, "/type"),
        ("/api/events", {"kind": "seance"}, "/kind"),
        ("/api/events", {"session": "1"}, "/session"),
        ("/api/sessions/{}", {"include": "event"}, "/include"),
    ],
    ids=str,
)
def test_a_query_that_is_not_understood_is_422(
    client: TestClient, waiting: str, path: str, query: dict[str, str], pointer: str
) -> None:
    """A filter that is misspelt must not be ignored."""
    assert pointers(client.get(path.format(waiting), params=query)) == [pointer]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("sessions?kind=delivery&kind=review", "kind: should be given once"),
        ("sessions/{}?version=1&version=2", "version: should be given once"),
        ("sessions?q=%00", "q: holds U+0000"),
        ("sessions?label=a%00b", "label: holds U+0000"),
        ("events?kind=x", "kind: should be one of delivery, orchestration, review, debate"),
    ],
)
def test_a_query_that_would_be_read_by_half_is_422(client: TestClient, waiting: str, query: str, detail: str) -> None:
    answer = client.get(f"/api/{query.format(waiting)}")
    name, _, said = detail.partition(": ")
    assert problem(answer, 422)["detail"] == detail
    [fault] = answer.json()["errors"]
    assert fault.items() >= {"pointer": f"/{name}", "detail": said}.items()


def test_the_types_that_can_be_looked_for_are_told(client: TestClient) -> None:
    found = problem(client.get("/api/events", params={"type": "foo"}), 422)
    assert found["detail"] == f"type: should be one of {', '.join(TOPICS)}"


def test_sessions_are_found_by_words_status_and_label(client: TestClient) -> None:
    mark = uuid.uuid4().hex
    answer = client.post("/api/sessions", json=START | {"task": f"50%_off {mark}", "labels": ["a", "b", "a"]}).json()
    fresh = {"Read-After": str(answer["position"])}
    for query in ({"q": f"50%_OFF {mark.upper()}"}, {"q": mark, "status": "running"}, {"q": mark, "label": "b"}):
        [found] = client.get("/api/sessions", params=query, headers=fresh).json()["items"]
        assert (found["id"], found["labels"]) == (answer["sessionId"], ["a", "b"])
    for query in ({"q": f"50x_off {mark}"}, {"q": mark, "status": "failed"}, {"q": mark, "label": "c"}):
        assert client.get("/api/sessions", params=query, headers=fresh).json()["items"] == []


# -- HEAD, and how the service is ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/api/sessions", "/api/sessions/{}", "/api/sessions/{}/events", "/healthz", "/readyz"]
)
def test_head_is_get_without_a_body(plain: Server, path: str) -> None:
    session_id = start(plain.client, START)
    place = path.format(session_id)
    whole, head = plain.client.get(place), plain.client.head(place)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers.get("etag") == whole.headers.get("etag")


def test_head_of_a_stream_ends(plain: Server) -> None:
    session_id = start(plain.client, START)
    head = plain.client.head(f"/api/sessions/{session_id}/events", headers={"Accept": "text/event-stream"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


def test_ready_says_how_far_the_views_are(client: TestClient, waiting: str) -> None:
    position = events(client, waiting)[-1]["position"]
    client.get("/api/sessions", headers={"Read-After": str(position)})
    found = client.get("/readyz").json()
    assert (found["status"], found["problems"]) == ("ready", [])
    assert found["head"] >= found["position"] >= position
    assert client.get("/healthz").json() == {"status": "ok"}
    figures = client.get("/metrics").text
    assert "hansard_log_head_position" in figures and 'hansard_turns{state="running"}' in figures


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("plain"), worker_slots=64) as found:
        yield found


# -- parts ---------------------------------------------------------------------------------------------------------


def _fields(body: type[Body]) -> tuple[set[str], set[str]]:
    """Those that may be left out, and those that are needed; in one of these null has a meaning (contract §5)."""
    fields = {field.alias or name: field.is_required() for name, field in body.model_fields.items()}
    if body in STARTS:
        del fields["kind"]
    needed = {name for name, required in fields.items() if required and (body, name) != (TriageBody, "text")}
    return {name for name, required in fields.items() if not required}, needed


def _taken(body: type[Body], sent: Json) -> Body | set[tuple[str, str]]:
    """What a body is read as, or the fields that are wrong with it, and how."""
    try:
        return body.model_validate(sent, by_name=False)
    except ValidationError as error:
        return {(str((*found["loc"], "")[0]), found["type"]) for found in error.errors()}


def _posted(client: TestClient, body: bytes, path: str = "/api/sessions", **headers: str) -> httpx.Response:
    return client.post(path, content=body, headers={"Content-Type": "application/json"} | headers)


def _query(**found: str | None) -> dict[str, str]:
    return {name: value for name, value in found.items() if value is not None}


def _together(pool: ThreadPoolExecutor, ways: int, ask: Callable[[], httpx.Response]) -> list[httpx.Response]:
    return [future.result() for future in [pool.submit(ask) for _ in range(ways)]]


def _after(
    barrier: threading.Barrier, client: httpx.Client, path: str, body: Json, headers: dict[str, str]
) -> httpx.Response:
    barrier.wait()
    return client.post(path, json=body, headers=headers)


def _at_hand(client: TestClient, count: int) -> bool:
    """Whether so many commands were taken in and are not answered yet."""
    writer = system(client).writer
    return bool(writer.waiting() + writer._deciding.locked() == count)
