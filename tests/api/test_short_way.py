"""The short way over HTTP, and which commands a test command brings with it (contract-3 §17)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.delivery.chart import PHASES, QUICK
from tests.api.server import Server, delivery, ended, events, only, serving, start

MADE = ("plan", "goals", "architecture", "design")
TASK = "Let two people edit the same page"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("short-way")) as result:
        yield result


def test_the_prompts_of_the_short_way_have_the_task_and_no_empty_sections(server: Server) -> None:
    session = ended(server.client, start(server.client, delivery({}, task=TASK, phases=list(QUICK))))
    turns = server.client.get(f"/api/sessions/{session['id']}/turns").json()["items"]
    asked = [turn["turnId"] for turn in turns if turn["role"] in ("dev", "reviewer")]
    assert len(asked) == 2
    for turn_id in asked:
        text = server.client.get(f"/api/sessions/{session['id']}/turns/{turn_id}").json()["prompt"]
        assert TASK in text and "{{" not in text
        assert not [name for name in MADE if f'<material name="{name}">' in text]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"phases": ["validation", "implementation"]}, "/phases"),
        ({"phases": ["implementation", "validation", "deploy"]}, "/phases"),
        ({"phases": ["implementation"]}, "/phases"),
        ({"phases": []}, "/phases"),
        ({"phases": "implementation"}, "/phases"),
        ({"phases": ["implementation", "validation"], "review": {"strategy": "review"}}, "/review"),
        ({"phases": ["implementation", "validation"], "review": {}}, "/review"),
    ],
)
def test_phases_that_do_not_hold_are_422_and_name_the_field(server: Server, body: dict[str, Any], pointer: str) -> None:
    answer = server.client.post("/api/sessions", json=delivery({}, **body))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_review_that_is_turned_off_needs_no_phase(server: Server) -> None:
    body = delivery({}, phases=["implementation", "validation"], review={"enabled": False})
    session = ended(server.client, start(server.client, body))
    assert session["status"] == "success" and "Not reviewed." in session["finalSummary"]


def test_what_is_left_out_is_recorded_as_skipped(server: Server) -> None:
    session_id = start(server.client, delivery({}, phases=["planning", "implementation", "validation"]))
    session = ended(server.client, session_id)
    left_out = {"architecture", "design", "review", "packaging"}
    assert {phase for phase, mark in session["phaseStatuses"].items() if mark == "skipped"} == left_out
    assert {event["phase"] for event in only(events(server.client, session_id), "delivery.phase_skipped")} == left_out


def test_the_repository_chooses_the_way_unless_the_request_does(tmp_path: Path, server: Server) -> None:
    (tmp_path / "hansard.toml").write_text('[delivery]\nphases = ["implementation", "validation"]\n')
    quiet = start(server.client, delivery({}, workspace=str(tmp_path)))
    assert ended(server.client, quiet)["phaseStatuses"]["review"] == "skipped"
    loud = start(server.client, delivery({}, workspace=str(tmp_path), phases=list(PHASES)))
    assert "skipped" not in ended(server.client, loud)["phaseStatuses"].values()


def test_a_request_without_the_phase_leaves_out_the_review_of_the_repository(tmp_path: Path, server: Server) -> None:
    (tmp_path / "hansard.toml").write_text('[delivery]\nreview = { strategy = "review" }\n')
    body = delivery({}, workspace=str(tmp_path), phases=["implementation", "validation"])
    assert ended(server.client, start(server.client, body))["status"] == "success"


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({}, ["true"]),
        ({"package.json": "{}"}, ["true"]),
        ({"package.json": "{}", "package-lock.json": "{}"}, ["true"]),
        ({"package.json": json.dumps({"packageManager": "yarn@4.1.0"})}, ["true"]),
        ({"package.json": json.dumps({"packageManager": "pnpm@9.1.0"})}, ["pnpm lint", "pnpm typecheck", "true"]),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, ["pnpm lint", "pnpm typecheck", "true"]),
        ({"package.json": "not json"}, ["true"]),
    ],
)
def test_a_test_command_is_that_command_alone_but_in_a_project_of_pnpm(
    tmp_path: Path, server: Server, files: dict[str, str], commands: list[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    body = delivery({}, workspace=str(tmp_path), testCommand="true", maxIterations=1)
    del body["validationCommands"]
    session = ended(server.client, start(server.client, body))
    assert [step["command"] for step in session["validationCommands"]] == commands
