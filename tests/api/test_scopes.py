"""What each key may do: every route with no key, with each scope, with an expired and with a revoked key."""

import hashlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from starlette.testclient import TestClient

from api.app import COMMANDS, FORMS, PAGES, VIEWS
from api.node.scopes import SCOPES
from tests.adapters.workspace.given import git
from tests.api.orchestrating import orchestration
from tests.api.seen import BROWSER
from tests.api.server import delivery, events, inside, session, start, until
from tests.kit.replies import plan, review, subtask, verdicts

OPEN: Final = frozenset({"/healthz", "/readyz", "/login", "/logout", "/assets/{name}"})
OPERATE: Final = ("cancel", "retry", "fork", "continue", "reset", "message", "sessions")
DECIDE: Final = ("decision", "permission", "scope", "land", "pull-request", "budget", "revise", "trust")
ROUTES: Final = [("GET", path) for path, *_ in (*VIEWS, *PAGES)] + [("POST", path) for path, *_ in (*COMMANDS, *FORMS)]
ALLOWED: Final = {
    "read": {"read"},
    "operate": {"read", "operate"},
    "decide": {"read", "operate", "decide"},
    "admin": {"read", "operate", "decide", "admin", "turns"},
    "turns": {"turns"},
}


def needs(method: str, path: str) -> str:
    """The scope of a route as given in the contract."""
    last = path.rpartition("/")[2]
    if method == "GET" or path.startswith("/api/policies") or path in ("/decisions", "/sessions/{id}"):
        return "read"
    if path.startswith("/api/turns/"):
        return "turns"
    if path == "/api/redact":
        return "admin"
    known = path == "/" or path.startswith("/chat") or "/comments" in path or last in (*OPERATE, *DECIDE)
    assert known, f"{path} has no scope"
    return "decide" if last in DECIDE else "operate"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys"
    lines = [line(scope, scope) for scope in SCOPES] + [line("old", "admin", int(time.time()) - 1), line("late", "all")]
    path.write_text("\n".join([*lines, line("before").rpartition(":")[0]]))
    return path


def line(name: str, *rest: object) -> str:
    return ":".join([name, hashlib.sha256(f"key of {name}".encode()).hexdigest(), *map(str, rest or ("",))])


def of(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key of {name}"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("log"), work=False, api_keys_file=keys) as result:
        yield result


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_lets_in_who_has_its_scope(client: TestClient, method: str, path: str) -> None:
    if path in OPEN:
        return
    address, scope = re.sub(r"\{\w+(:path)?\}", "delivery-1", path), needs(method, path)
    if path in ("/api/events", "/api/sessions/{id}/events"):
        address += "?limit=1"
    for name in (*SCOPES, "before"):
        answer = client.request(method, address, headers=of(name), json={} if method == "POST" else None)
        if scope in ALLOWED["admin" if name == "before" else name]:
            assert answer.status_code not in (401, 403), name
        else:
            assert (answer.status_code, answer.json()["scope"]) == (403, scope), name
            assert f"scope {scope}; yours has {name}" in answer.json()["detail"]
    for name in ("old", "late", "nobody"):
        assert client.request(method, address, headers=of(name)).status_code == 401, name


def test_readiness_figures_need_the_read_scope(client: TestClient) -> None:
    shown = {name: bool(client.get("/readyz", headers=of(name)).content) for name in SCOPES}
    assert shown == {name: "read" in ALLOWED[name] for name in SCOPES}


@pytest.mark.parametrize(
    ("verb", "scope"), [("decision", "decide"), ("budget", "decide"), ("cancel", "operate"), ("fork", "operate")]
)
@pytest.mark.parametrize("page", ["/decisions", "/sessions/delivery-1"])
def test_a_form_asks_for_the_scope_of_its_command(client: TestClient, verb: str, scope: str, page: str) -> None:
    form = {"verb": verb, "session": "delivery-1", "key": "0" * 32, "version": "1", "really": "yes"}
    if verb == "fork":
        del form["version"]
    held = "read" if scope == "operate" else "operate"
    headers = BROWSER | {"Sec-Fetch-Site": "same-origin"}
    refused = client.post(page, data=form, headers=headers | of(held))
    assert (refused.status_code, f"scope {scope}" in refused.text) == (403, True)
    assert client.post(page, data=form, headers=headers | of(scope)).status_code not in (401, 403)


def test_a_key_that_operates_starts_a_session_and_does_not_extend_it(client: TestClient) -> None:
    session_id = start(client, delivery(), **of("operate"))
    client.headers.update(of("read"))
    assert {event["actor"] for event in events(client, session_id)} == {"person:operate"}
    refused = client.post(f"/api/sessions/{session_id}/budget", json={"addIterations": 1}, headers=of("operate"))
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_needed")


# -- what decides by another name --------------------------------------------------------------------------------------


@pytest.fixture
def working(tmp_path: Path, keys: Path) -> Iterator[TestClient]:
    with inside(tmp_path, api_keys_file=keys) as result:
        result.headers.update(of("admin"))
        yield result


def test_a_key_that_operates_does_not_end_the_review_that_a_session_waits_for(working: TestClient) -> None:
    issues = '{"verdict": "NEEDS_FIX", "summary": "s", "issues": [{"severity": "critical", "description": "d"}]}'
    replies = {"dev": [{"text": "x", "files": {"a": "1"}}], "reviewer": [review(), issues]}
    parent = start(working, delivery(replies, review={"enabled": True, "maxRounds": 1}))
    child = until(lambda: waiting_review(working, parent), what="the review")
    refused = working.post(f"/api/sessions/{child}/cancel", json={}, headers=of("operate"))
    assert (refused.status_code, refused.json()["scope"]) == (403, "decide")
    assert session(working, parent)["status"] == "running"
    assert working.post(f"/api/sessions/{child}/cancel", json={}, headers=of("decide")).status_code == 200


def waiting_review(client: TestClient, parent: str) -> str | None:
    items = client.get("/api/decisions").json()["items"]
    return next((item["sessionId"] for item in items if item.get("parent") == parent), None)


def test_a_key_that_operates_does_not_permit_changes_outside_the_scope_by_continuing(
    working: TestClient, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "Start")):
        git(folder, *words)
    (folder / "hansard.toml").write_text('[scope]\nallow = ["*.py"]\noutside = "ask"\n')
    replies = {
        "planner": [plan(subtask("Backend"))],
        "Backend": [{"text": "Done.", "files": {"deploy/x": "1"}}],
        "judge": [verdicts(all_done=True, Backend=True)],
    }
    run = start(working, orchestration(replies, workspace=str(folder), origin="shop"))
    until(lambda: session(working, run)["status"] == "checkpoint" or None, what="the checkpoint")
    attempts = (
        (f"/api/sessions/{run}/continue", {}),
        ("/api/orchestrate/continue", {"origin": "shop"}),
        ("/api/message", {"origin": "shop", "prompt": "계속"}),
    )
    for path, body in attempts:
        refused = working.post(path, json=body, headers=of("operate"))
        assert (refused.status_code, refused.json().get("scope")) == (403, "decide"), path
    assert session(working, run)["status"] == "checkpoint"
    assert working.post(f"/api/sessions/{run}/continue", json={}, headers=of("decide")).status_code == 200


COMMAND: Final = re.compile(
    r'<form (?=[^>]*method="post")[^>]*>(?:(?!</form>).)*?name="(?:verb|start)" value="(\w+)"', re.DOTALL
)
START: Final = {"delivery", "review", "debate", "orchestration"}


def test_pages_show_no_form_that_the_key_may_not_send(tmp_path: Path, keys: Path) -> None:
    """A review that waits for a decision, in every page that has forms; whether all keys see the same words."""
    asks = '{"verdict": "NEEDS_FIX", "summary": "No.", "issues": []}'
    asked: dict[str, object] = {"kind": "review", "subject": "s", "maxRounds": 1}
    asked["scenario"] = {"replies": {"reviewer": [asks], "coder": ["No."]}}
    with inside(tmp_path, api_keys_file=keys) as client:
        client.headers.update(of("admin"))
        name = start(client, asked)
        until(lambda: session(client, name)["status"] == "waiting_for_decision", what="the question")
        pages = ("/", "/decisions", f"/sessions/{name}", f"/compare?a={name}", "/chat")
        shown = {
            scope: {
                verb for page in pages for verb in COMMAND.findall(client.get(page, headers=BROWSER | of(scope)).text)
            }
            for scope in ("read", "operate", "decide")
        }
        composers = [
            'id="say"' in client.get("/chat", headers=BROWSER | of(scope)).text for scope in ("read", "operate")
        ]
        forking = [
            "data-otherwise" in client.get(f"/sessions/{name}/fork", headers=BROWSER | of(scope)).text
            for scope in ("read", "operate")
        ]
    assert shown["read"] == set()
    assert shown["operate"] == {"cancel", *START}
    assert shown["decide"] == {"decision", *shown["operate"]}
    assert composers == forking == [False, True]
