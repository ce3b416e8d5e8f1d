"""A leaked secret is removed from the log, which records that and can still be verified."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.audited import with_plain
from tests.api.server import Server, delivery, ended, events, only, serving, start, until
from tests.kit.commands import command

SECRET = "sk-leaked-0123456789"
RESTS = ("done", "partial", "checkpoint")
REPLY = f"I found {SECRET} at the start. " + "x" * 20_000 + f" And {SECRET} at the end."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path, auth="key") as running:
        key = (running.data / "keys" / "owner.key").read_text().strip()
        running.client.headers["Authorization"] = f"Bearer {key}"
        yield running


def hansard(server: Server, *words: str) -> tuple[int, str]:
    env = {"HANSARD_DATABASE": f"sqlite:///{server.database}", "HANSARD_DATA_DIR": str(server.data)}
    done = command(*words, env=env)
    return done.returncode, done.stdout + done.stderr


def leaked(server: Server) -> tuple[str, str]:
    """A session whose planner's reply holds the secret, and the digest of that reply."""
    session_id = start(server.client, delivery({"planner": [REPLY]}))
    ended(server.client, session_id)
    [answer] = [each for each in only(events(server.client, session_id), "turn.answered") if each["role"] == "planner"]
    assert SECRET in answer["reply"]["head"]
    return session_id, str(answer["reply"]["digest"])


def redact(server: Server, digest: str) -> Any:
    return server.client.post("/api/redact", json={"digest": digest, "reason": "A key was printed."})


def quoting(server: Server) -> list[str]:
    """The server's files that contain the secret, except the scenario sent by this test."""
    results = [path for path in server.folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    return [path.name for path in results]


def test_a_redacted_text_is_gone_and_the_log_verifies_and_names_it(server: Server) -> None:
    session_id, digest = leaked(server)
    scenario = [each["scenario"]["digest"] for each in only(events(server.client, session_id), SESSION_STARTED)]
    assert "hansard.db" in quoting(server) or "hansard.db-wal" in quoting(server)
    for each in {digest, *mentions(server, session_id), *scenario}:
        assert redact(server, each).status_code == 200
    code, result = hansard(server, "verify")
    assert (code, "A key was printed." in result, digest in result) == (0, True, True), result
    assert re.search(r"^position \d+: (?!person:)\w+ redacted ", result, re.MULTILINE)
    body = json.loads(hansard(server, "verify", "--json")[1])
    assert (body["sound"], digest in [text["digest"] for text in body["redacted"]]) == (True, True)
    assert only(events(server.client, session_id), "session.text_redacted")[0]["reason"] == "A key was printed."
    turn = f"/api/sessions/{session_id}/turns"
    [planner] = [each for each in server.client.get(turn).json()["items"] if each["role"] == "planner"]
    assert server.client.get(f"{turn}/{planner['turnId']}").json()["reply"] == "[redacted]"
    for page in (f"/sessions/{session_id}?tab=turns", f"/sessions/{session_id}?tab=worklog", f"/sessions/{session_id}"):
        answer = server.client.get(page)
        assert (answer.status_code, SECRET in answer.text) == (200, False)
    assert quoting(server) == []


SESSION_STARTED = "delivery.session_started"


def mentions(server: Server, session_id: str) -> set[str]:
    """The digests of all long texts whose beginning or whole holds the secret."""
    texts: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("digest"), str) and "head" in value:
                texts.add(value["digest"])
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(events(server.client, session_id))
    return texts


def test_redaction_needs_a_known_digest_and_an_admin(server: Server) -> None:
    _, digest = leaked(server)
    assert redact(server, "0" * 64).status_code == 404
    assert redact(server, "no digest").status_code == 422
    code, key = hansard(server, "key", "new", "ada", "--scope", "decide")
    assert code == 0
    server.client.headers["Authorization"] = f"Bearer {key.split()[0]}"
    assert redact(server, digest).status_code == 403


def test_a_change_that_no_redaction_names_is_still_found(server: Server) -> None:
    import sqlite3

    _, digest = leaked(server)
    assert redact(server, digest).status_code == 200
    server.stop()
    with sqlite3.connect(server.database) as log:
        with_plain(log)
        quoting = "FROM events WHERE instr(plain(state), '[redacted]') LIMIT 1"
        position, state = log.execute(f"SELECT position, plain(state) {quoting}").fetchone()
        forged = state.replace(b"[redacted]", b"[forged!!]")
        log.execute("UPDATE events SET state = ? WHERE position = ?", (forged, position))
    log.close()
    code, result = hansard(server, "verify")
    assert (code, "does not quote its long text" in result) == (8, True), result


def test_the_command_line_redacts_in_the_log_directly(server: Server, tmp_path: Path) -> None:
    _, digest = leaked(server)
    server.stop()
    assert hansard(server, "redact", digest, "--reason", "It leaked.")[0] == 0
    assert hansard(server, "redact", digest, "--reason", "It leaked.")[0] == 3
    assert hansard(server, "verify")[0] == 0
    (tmp_path / "log.jsonl").write_text(hansard(server, "export")[1])
    copy = ["--database", str(tmp_path / "copy.db")]
    assert hansard(server, "import", str(tmp_path / "log.jsonl"), *copy)[0] == 0
    code, result = hansard(server, "verify", *copy)
    assert (code, "It leaked." in result) == (0, True), result
    server.start()


def test_what_was_read_before_a_redaction_does_not_quote_the_text_afterwards(server: Server) -> None:
    session_id, digest = leaked(server)
    scenario = [each["scenario"]["digest"] for each in only(events(server.client, session_id), SESSION_STARTED)]
    addresses = [f"/api/sessions/{session_id}/worklog", f"/sessions/{session_id}?tab=worklog"]
    addresses += [
        f"/api/sessions/{session_id}/{name}?version=12" for name in ("worklog", "artifacts", "turns", "explain")
    ]
    addresses += [f"/api/sessions/{session_id}?version=12", f"/sessions/{session_id}?tab=turns&at=12"]
    before = [server.client.get(address) for address in addresses]
    assert all(answer.status_code == 200 for answer in before) and SECRET in before[0].text
    for each in {digest, *mentions(server, session_id), *scenario}:
        assert redact(server, each).status_code == 200
    answers = {address: server.client.get(address) for address in addresses}
    assert {answer.status_code for answer in answers.values()} == {200}
    assert [address for address, answer in answers.items() if SECRET in answer.text] == []


def test_a_request_is_removed_from_its_session_and_conversation_too(server: Server) -> None:
    prompt = f"{SECRET} is the key. " + "y" * 20_000
    body = {"prompt": prompt, "origin": "shop", "scenario": {"replies": {"default": [{"text": "done"}]}}}
    session_id = str(server.client.post("/api/message", json=body).json()["sessionId"])
    until(lambda: server.client.get(f"/api/sessions/{session_id}").json()["session"]["status"] in RESTS, what="an end")
    answer = redact(server, hashlib.sha256(prompt.encode()).hexdigest())
    assert answer.status_code == 200, answer.text
    assert any(name.startswith("channel") for name in answer.json()["sessions"])
    session = f"/api/sessions/{session_id}"
    addresses = [session, f"{session}?version=1", f"{session}/events?limit=500", f"{session}/worklog", "/api/sessions"]
    addresses += [
        "/api/conversations",
        "/api/conversations/shop",
        "/chat/shop",
        "/",
        f"/sessions/{session_id}",
        "/api/events",
    ]
    assert [address for address in addresses if SECRET in server.client.get(address).text] == []
    assert server.client.get("/api/sessions", params={"q": SECRET}).json()["items"] == []
    assert server.client.get(session).json()["session"]["prompt"] == "[redacted]"
    assert hansard(server, "verify")[0] == 0


def test_what_was_read_in_a_redacted_text_is_named(server: Server) -> None:
    finding = f"The file holds {SECRET} in line 3."
    issues = json.dumps({"blockingIssues": [{"id": "a", "title": "A key", "detail": finding}], "score": 10})
    approved = '{"blockingIssues": [], "nonBlockingIssues": [], "score": 90, "fixPlan": []}'
    review = f"{issues}\n\n{'x' * 20_000}"
    session_id = start(server.client, delivery({"reviewer": [review, approved]}))
    ended(server.client, session_id)
    done = redact(server, hashlib.sha256(review.encode()).hexdigest()).json()
    recorded = [each for each in events(server.client, session_id) if each["type"].startswith("delivery.")]
    left = {each["version"] for each in recorded if finding in json.dumps(each)}
    assert left and left <= set(done["repeated"][session_id])
