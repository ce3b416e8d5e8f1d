"""How the API reads bodies: one strict decoder, and a pointer to every invalid field (contract §3)."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from api.actions.bodies import START as STARTING
from api.actions.bodies import Body
from api.actions.catalogue import ACTIONS
from api.http.problems import PATTERNS
from api.openapi.operations import OPERATIONS
from api.routes.policies.bodies import TriageBody
from tests.api.manners.parts import SECRET, START, key, pointers, posted, problem
from tests.api.server import (
    Json,
    inside,
    session,
    start,
)


def _below(body: type[Body]) -> set[type[Body]]:
    return {item for direct in body.__subclasses__() for item in (direct, *_below(direct))}


BODIES = sorted(_below(Body), key=lambda body: body.__name__)
"""Every request body of an endpoint, and every nested one."""


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
    ids=lambda item: str(item)[:80],
)
def test_an_invalid_field_is_422_with_its_pointer(client: TestClient, fields: Json, pointer: str) -> None:
    assert pointer in pointers(client.post("/api/sessions", json=START | fields))


def test_all_invalid_fields_are_named_at_once(client: TestClient) -> None:
    answer = client.post("/api/sessions", json={"task": "", "maxMinutes": 0, "surprise": 1})
    assert {"/task", "/maxMinutes", "/surprise"} == set(pointers(answer))


def test_a_fallback_is_an_agent_of_the_team_or_of_the_scenario(client: TestClient) -> None:
    """Otherwise no agent could take over the turn."""
    start_with = START | {"scenario": {"replies": {"Grace": ["Hello."]}}}
    fields = {"retry": {"fallback": ["Reviewer", "Nobody", "grace"]}}
    body = problem(client.post("/api/sessions", json=start_with | fields), 422)
    [fault] = body["errors"]
    assert (fault["pointer"], fault["code"]) == ("/retry/fallback/1", "not_one_of")
    assert {"reviewer", "dev", "Grace"} <= set(fault["params"]["choices"])
    fields["retry"]["fallback"].remove("Nobody")
    assert client.post("/api/sessions", json=start_with | fields).status_code == 202


@pytest.mark.parametrize("body", [b"[]", b"7", b'"text"', b"null"])
def test_a_body_that_is_no_object_is_422(client: TestClient, body: bytes) -> None:
    assert pointers(posted(client, body)) == [""]


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
def test_extension_needs_an_amount_and_a_reason(client: TestClient, waiting: str, body: Json, pointer: str) -> None:
    assert pointer in pointers(client.post(f"/api/sessions/{waiting}/budget", json=body))
    assert session(client, waiting)["version"] == 3


def test_validation_errors_are_helpful(client: TestClient) -> None:
    """No patterns, no Python type names, and only those alternatives of a union that could apply."""
    wrong = {
        "task": " ",
        "testCommand": ["a", 3],
        "validationCommands": [7, [], "cd x", " "],
        "scenario": "x",
        "review": 3,
        "labels": "x",
        "workspace": "",
    }
    body = problem(client.post("/api/sessions", json=START | wrong), 422)["errors"]
    assert {entry["pointer"]: entry["detail"] for entry in body} == {
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
    def patterns(node: Any) -> set[str]:
        below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        own = {node["pattern"]} if isinstance(node, dict) and isinstance(node.get("pattern"), str) else set()
        return own.union(*map(patterns, below))

    bodies = [about.body for about in (*OPERATIONS.values(), *ACTIONS) if isinstance(about.body, type)]
    used = set().union(*(patterns(body.model_json_schema()) for body in (*STARTING.models, *bodies)))
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
    view = session(client, start(client, START | dict.fromkeys(nulls) | {"review": review}))
    other = session(client, waiting)
    own = {"id", "createdAt", "updatedAt", "outstandingTurns", "budget", "artifactRefs"}
    assert {name: value for name, value in view.items() if name not in own} == {
        name: value for name, value in other.items() if name not in own
    }
    assert view["budget"]["maxIterations"] == other["budget"]["maxIterations"] == 6


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
    blank = problem(posted(client, b" \n", f"/api/sessions/{waiting}/cancel"), 400)
    assert blank["detail"] == "The body is blank; send a JSON object, or no body at all."
    assert client.post(f"/api/sessions/{waiting}/cancel").status_code == 200


def test_a_start_is_bound_to_no_version(client: TestClient) -> None:
    """There is no earlier version."""
    body = problem(client.post("/api/sessions", json=START, headers={"If-Match": '"1"'}), 412)
    assert body["currentVersion"] == 0
    assert client.post("/api/sessions", json=START, headers={"If-Match": "*"}).status_code == 202


def test_refusal_is_409_with_state_and_allowed_commands(client: TestClient, waiting: str) -> None:
    client.post(f"/api/sessions/{waiting}/cancel", json={})
    refused = problem(client.post(f"/api/sessions/{waiting}/cancel", json={}), 409)
    sentence = "A delivery in the state cancelled cannot be cancelled. Nothing is allowed now."
    assert refused["detail"] == sentence
    assert refused["allowed"] == []


def test_internal_error_is_500_without_details(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError(SECRET)

    with inside(tmp_path) as client:
        monkeypatch.setattr("projections.sessions.overview.page", breaks)
        answer = client.get("/api/sessions")
        problem(answer, 500)
        assert SECRET not in answer.text and "ZeroDivision" not in answer.text
        monkeypatch.undo()
        assert client.get("/api/sessions").status_code == 200


# -- one strict decoder --------------------------------------------------------------------------------------------


def _nested(depth: int) -> bytes:
    """A start request nested this many levels deep."""
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
def test_body_that_is_not_strict_json_is_400(client: TestClient, body: bytes) -> None:
    problem(posted(client, body), 400)


def test_depth_64_is_still_read(client: TestClient) -> None:
    assert pointers(posted(client, _nested(64))) == ["/extra"]


def test_every_text_that_json_can_say_comes_back_as_it_was(client: TestClient) -> None:
    task = 'Ω "quotes" \\ / \u2028 \u202e \U0001f600 로그인\ttab\r\nline'
    view = session(client, start(client, START | {"task": task, "labels": ["ünï", "😀"]}))
    assert (view["task"], view["labels"]) == (task, ["ünï", "😀"])


def _fields(body: type[Body]) -> tuple[set[str], set[str]]:
    """Those that may be left out, and those that are needed; in one of these null has a meaning (contract §5)."""
    fields = {field.alias or name: field.is_required() for name, field in body.model_fields.items()}
    if body in STARTING.models:
        del fields["kind"]
    needed = {name for name, required in fields.items() if required and (body, name) != (TriageBody, "text")}
    return {name for name, required in fields.items() if not required}, needed


def _taken(body: type[Body], sent: Json) -> Body | set[tuple[str, str]]:
    """The parsed body, or its invalid fields with their errors."""
    try:
        return body.model_validate(sent, by_name=False)
    except ValidationError as error:
        return {(str((*item["loc"], "")[0]), item["type"]) for item in error.errors()}
