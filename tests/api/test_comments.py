"""Comments over HTTP: what a person remarks on a result, quoted from the commit that they saw."""

import subprocess
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.api.server import Json, events, inside, only, session
from tests.api.test_baseline import repository, run

OLD = "def total(prices):\n    return sum(prices)\n"
NEW = "def total(prices):\n    amount = sum(prices)\n    return round(amount, 2)\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("comments"), trust="all", sandbox="off") as result:
        yield result


@pytest.fixture(scope="module")
def made(client: TestClient, tmp_path_factory: pytest.TempPathFactory) -> Json:
    """A finished delivery that changes a file, adds another and deletes a third."""
    folder = repository(
        tmp_path_factory.mktemp("shop"),
        **{"shop.py": OLD, "gone.txt": "old\n", "other.txt": "o\n", "setup.ok": "", "a\nb.txt": "x\n"},
    )
    (folder / "picture.bin").write_bytes(b"\x89PNG\0\0")
    (folder / "link.py").symlink_to("shop.py")
    (folder / "latin.txt").write_bytes("caf\xe9\nend".encode("latin-1"))
    (folder / "long.txt").write_text("x" * 5_000 + "\n")
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost")
    for words in (("add", "-A"), (*identity, "commit", "-qm", "More")):
        subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True)
    return run(client, folder, "true", {"shop.py": NEW, "notes.txt": "one\ntwo\n"})


def comment(client: TestClient, made: Json, status: int = 201, **body: object) -> Json:
    answer = client.post(f"/api/sessions/{made['id']}/comments", json={"text": "Why?", **body})
    assert answer.status_code == status, answer.text
    result: Json = answer.json()
    return result


def comments(client: TestClient, made: Json, **query: object) -> list[Json]:
    items: list[Json] = client.get(f"/api/sessions/{made['id']}/comments", params=query).json()["items"]
    return items


def settle(client: TestClient, made: Json, name: str, expected: int = 200, **body: object) -> Json:
    answer = client.post(f"/api/sessions/{made['id']}/comments/{name}", json=body)
    assert answer.status_code == expected, answer.text
    result: Json = answer.json()
    return result


def test_lines_are_quoted_from_the_commit_that_was_seen(client: TestClient, made: Json) -> None:
    receipt = comment(client, made, path="shop.py", line=2, endLine=3, text="One line\r\nis enough.")
    assert receipt["version"] == session(client, made["id"])["version"]
    [item] = [each for each in comments(client, made) if each["commentId"] == receipt["commentId"]]
    assert item["quote"] == ["    amount = sum(prices)", "    return round(amount, 2)"]
    assert (item["path"], item["line"], item["endLine"], item["side"]) == ("shop.py", 2, 3, "new")
    assert (item["head"], item["status"], item["answers"]) == (made["result"]["head"], "open", [])
    assert item["text"] == "One line\nis enough."
    assert (item["now"], item["outdated"]) == ({"path": "shop.py", "line": 2, "endLine": 3}, False)
    event = only(events(client, made["id"]), "session.commented")[-1]
    assert {name: event[name] for name in ("commentId", "path", "quote", "by")} == {
        name: item[name] for name in ("commentId", "path", "quote", "by")
    }


@pytest.mark.parametrize(
    ("body", "line", "quote"),
    [
        ({"path": "shop.py", "line": 2, "side": "old"}, 2, ["    return sum(prices)"]),
        ({"path": "shop.py"}, None, []),
        ({"path": "picture.bin"}, None, []),
        ({"path": "latin.txt", "line": 1}, 1, ["caf\N{REPLACEMENT CHARACTER}"]),
        ({"path": "latin.txt", "line": 2, "endLine": 2}, 2, ["end"]),
        ({}, None, []),
    ],
)
def test_a_comment_is_about_lines_a_file_or_the_whole(
    client: TestClient, made: Json, body: Json, line: int | None, quote: list[str]
) -> None:
    name = comment(client, made, **body)["commentId"]
    [item] = [each for each in comments(client, made) if each["commentId"] == name]
    assert (item["path"], item["line"], item["endLine"], item["quote"]) == (body.get("path"), line, line, quote)


def test_an_earlier_commit_of_the_session_may_be_commented_on(client: TestClient, made: Json) -> None:
    base = made["result"]["base"]["commit"]
    name = comment(client, made, path="shop.py", line=2, head=base[:10])["commentId"]
    [item] = [each for each in comments(client, made) if each["commentId"] == name]
    assert (item["quote"], item["head"]) == (["    return sum(prices)"], base)
    assert (item["now"], item["outdated"]) == (None, True), "the work has replaced the line"


def test_a_very_long_line_is_quoted_in_part(client: TestClient, made: Json) -> None:
    name = comment(client, made, path="long.txt", line=1)["commentId"]
    [item] = [each for each in comments(client, made) if each["commentId"] == name]
    assert len(item["quote"][0]) == 1_000 and item["quote"][0].endswith("…")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"path": "shop.py", "line": 4}, "/line"),
        ({"path": "shop.py", "line": 3, "side": "old"}, "/line"),
        ({"path": "shop.py", "line": 0}, "/line"),
        ({"path": "shop.py", "line": 2, "endLine": 9}, "/endLine"),
        ({"path": "shop.py", "line": 2, "endLine": 1}, "/endLine"),
        ({"path": "shop.py", "line": 1, "endLine": 201}, "/endLine"),
        ({"path": "shop.py", "endLine": 2}, "/endLine"),
        ({"line": 2}, "/line"),
        ({"path": "nope.py", "line": 1}, "/path"),
        ({"path": "notes.txt", "line": 1, "side": "old"}, "/path"),
        ({"path": "link.py", "line": 1}, "/path"),
        ({"path": "picture.bin", "line": 1}, "/path"),
        ({"path": "a\nb.txt", "line": 1}, "/path"),
        ({"path": "../shop.py", "line": 1}, "/path"),
        ({"path": "/etc/passwd", "line": 1}, "/path"),
        ({"path": "./shop.py", "line": 1}, "/path"),
        ({"path": ".", "line": 1}, "/path"),
        ({"path": "*.py", "line": 1}, "/path"),
        ({"path": ":/shop.py", "line": 1}, "/path"),
        ({"path": "x" * 4_097, "line": 1}, "/path"),
        ({"text": " \n"}, "/text"),
        ({"text": "a\x1b[31mb"}, "/text"),
        ({"text": "a\x85b"}, "/text"),
        ({"text": "x" * 16_001}, "/text"),
        ({"head": "main"}, "/head"),
        ({"side": "left"}, "/side"),
        ({"quote": ["x = 1"]}, "/quote"),
        ({"by": "person:eve"}, "/by"),
    ],
)
def test_what_is_not_there_is_named_and_not_recorded(client: TestClient, made: Json, body: Json, pointer: str) -> None:
    before = session(client, made["id"])["version"]
    problem = comment(client, made, 422, **body)
    assert [each["pointer"] for each in problem["errors"]] == [pointer]
    assert session(client, made["id"])["version"] == before


@pytest.mark.parametrize("head", ["d" * 40, "deadbeef"])
def test_a_commit_of_another_session_is_a_conflict(client: TestClient, made: Json, head: str) -> None:
    before = session(client, made["id"])["version"]
    assert "not a commit of" in comment(client, made, 409, path="shop.py", line=1, head=head)["detail"]
    assert session(client, made["id"])["version"] == before


def test_a_session_that_is_not_there_has_no_comments(client: TestClient) -> None:
    nobody = {"id": "delivery-nobody"}
    comment(client, nobody, 404)
    assert client.get("/api/sessions/delivery-nobody/comments").status_code == 404


def test_the_same_key_makes_one_comment(client: TestClient, made: Json) -> None:
    headers, body = {"Idempotency-Key": "once"}, {"text": "Once.", "path": "shop.py", "line": 1}
    answers = [client.post(f"/api/sessions/{made['id']}/comments", json=body, headers=headers).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert len([each for each in comments(client, made) if each["text"] == "Once."]) == 1


def test_a_comment_is_settled_and_insisted_on(client: TestClient, made: Json) -> None:
    name = comment(client, made, text="Settle this.")["commentId"]
    settle(client, made, name, status="resolved")
    assert settle(client, made, name, 422, status="open")["errors"][0]["pointer"] == "/reason"
    settle(client, made, name, status="open", reason="It is not.")
    settle(client, made, name, 409, status="open", reason="Again.")
    settle(client, made, name, status="withdrawn")
    [item] = [each for each in comments(client, made) if each["commentId"] == name]
    assert (item["status"], item["text"]) == ("withdrawn", "Settle this.")
    settle(client, made, name, 409, status="resolved")
    settle(client, made, "c999", 404, status="resolved")
    settle(client, made, name, 422, status="fixed")


def test_comments_come_in_pages_and_as_of_a_version(client: TestClient, made: Json) -> None:
    names = [comment(client, made, text=f"Page {n}.")["commentId"] for n in range(3)]
    address = f"/api/sessions/{made['id']}/comments"
    everything = comments(client, made, limit=200)
    first = client.get(address, params={"limit": 2}).json()
    rest = client.get(address, params={"limit": 200, "cursor": first["nextCursor"]}).json()
    assert first["items"] + rest["items"] == everything
    assert rest["nextCursor"] is None
    before = session(client, made["id"])["version"] - 1
    assert [each["commentId"] for each in comments(client, made, limit=200, version=before)][-1] == names[-2]


def test_a_comment_is_shown_as_the_persons(client: TestClient, made: Json) -> None:
    comment(client, made, path="shop.py", line=1, text="A **word** of mine.")
    address = f"/api/sessions/{made['id']}/worklog"
    english, korean = (client.get(address, headers={"Accept-Language": each}).text for each in ("en", "ko"))
    by = comments(client, made, limit=200)[-1]
    assert by["by"] == "unauthenticated"
    head, found, entry = english.rpartition(f"### Comment {by['commentId']} by a person")
    assert head and found and "shop.py:1" in entry and "of mine" in entry
    assert f"### 사람의 의견 {by['commentId']}" in korean


def test_a_review_has_no_result_of_its_own(client: TestClient) -> None:
    body = {"kind": "review", "subject": "A plan.", "maxRounds": 1}
    started = client.post("/api/sessions", json=body).json()
    answer = client.post(f"/api/sessions/{started['sessionId']}/comments", json={"text": "Why?"})
    assert answer.status_code == 409 and answer.json()["code"] == "has_no_result_to_comment_on"
