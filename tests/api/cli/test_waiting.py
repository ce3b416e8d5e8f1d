"""What `show` and `explain` say of a session in which nothing happens now: why, until when, and what to do."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.cli.progress import summary
from api.cli.session import details, reason_of, why_stopped
from api.cli.waits import doing, is_waiting, mark_queued, next_of
from domain.session.attempts import Unready
from tests.api.cli.conftest import Hansard
from tests.api.server import delivery, inside, reached, start

LIMITED = {"planner": [{"error": "rate_limit", "retryAfter": 3_600}]}
TEAM = """
[[agents]]
name = "Ada"
roles = ["planner", "architect", "designer", "dev", "reviewer"]
adapter = "command"
[agents.settings]
argv = ["cat"]
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path) as opened:
        yield opened


def asking(title: str) -> dict[str, Any]:
    return {"permission": {"tool": "execute", "title": title}, "text": "done"}


def answer(client: httpx.Client, session_id: str) -> dict[str, Any]:
    return client.get(f"/api/sessions/{session_id}").json()


def rows(client: httpx.Client, session_id: str) -> dict[str, str]:
    return dict(details(answer(client, session_id)["session"], []))


def reasons(client: httpx.Client, session_id: str) -> dict[str, str]:
    shown = answer(client, session_id)
    cause = client.get(f"/api/sessions/{session_id}/explain").json()["cause"]
    return dict(why_stopped(shown["session"], shown["availableCommands"], cause))


def test_a_wait_for_a_provider_is_shown_with_its_reason_and_end(client: TestClient) -> None:
    session_id = start(client, delivery(LIMITED))
    reached(client, session_id, "turn.attempt_failed")
    shown = rows(client, session_id)
    wait = r"planner \(planning, rate limit; attempt 2 at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)"
    assert re.fullmatch(wait, shown["waits for"]) and not shown["at work"]
    assert "planner waiting: rate limit; attempt 2 at " in summary(answer(client, session_id)["session"]).plain
    explained = reasons(client, session_id)
    assert explained["waits for"] == shown["waits for"]
    assert explained["next"] == f"hansard retry {session_id} (asks at once)"
    assert ". rate_limit" in explained["evidence"]


def test_a_question_is_shown_with_the_commands_that_answer_it(client: TestClient) -> None:
    session_id = start(client, delivery({"planner": [asking("rm -rf build")]}))
    reached(client, session_id, "turn.permission_requested")
    for shown in (rows(client, session_id), reasons(client, session_id)):
        assert shown["asks for permission"] == "planner: execute: rm -rf build"
        assert shown["to answer"] == f"hansard allow {session_id}\nhansard deny {session_id}"
    assert rows(client, session_id)["waits for"] == "planner (planning, permission)"


def test_a_refusal_names_each_allowed_action_once(client: TestClient) -> None:
    session_id = start(client, delivery({"planner": [asking("rm -rf build")]}))
    reached(client, session_id, "turn.permission_requested")
    refused = client.post(f"/api/sessions/{session_id}/retry", json={})
    assert (refused.status_code, refused.json()["allowed"]) == (409, ["cancel", "extend", "revise", "permission"])


def test_a_long_question_is_shortened_in_the_inbox_only(client: TestClient, tmp_path: Path, hansard: Hansard) -> None:
    session_id = start(client, delivery({"planner": [asking("x" * 5_000)]}))
    reached(client, session_id, "turn.permission_requested")
    assert "x" * 5_000 in rows(client, session_id)["asks for permission"]
    log = ("--database", str(tmp_path / "hansard.db"))
    listed = hansard("inbox", *log).out
    assert "x" * 200 in listed and "x" * 400 not in listed


def test_who_only_reads_does_not_say_that_agents_are_missing(hansard: Hansard, tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text(TEAM)
    team = ("--team", str(tmp_path / "team.toml"))
    session_id = hansard("orchestrate", "Say hello", "--fresh", "--detach", *team).out.strip()
    for words in (("show", session_id), ("show", session_id, *("--at", "2"))):
        result = hansard(*words)
        assert result.code == 0 and "team" not in result.out + result.err
    assert f"run it here: `hansard resume {session_id}`." in hansard("show", session_id).err


def test_what_no_process_works_on_is_not_at_work(hansard: Hansard) -> None:
    session_id = hansard("run", "-t", "x", "--test", "true", "--detach", "--fresh").out.strip()
    shown = hansard("show", session_id)
    assert "at work" not in shown.out
    assert "setup (preparing, not started: no worker is running)\n" in shown.out
    assert f"hansard resume {session_id}" in shown.err


def test_what_no_worker_has_claimed_is_not_at_work() -> None:
    """A worker runs, but its team file may not have the agent."""
    states = {"t1": "running", "t2": "queued", "t3": "queued"}
    turns = [
        {"turnId": name, "agent": agent, "work": work, "phase": "planning"}
        for name, agent, work in (("t1", "Ann", "ask"), ("t2", "Ada", "ask"), ("t3", "setup", "prepare"))
    ]
    mark_queued(turns, states, is_worked_on=True)
    assert [is_waiting(turn) for turn in turns] == [False, True, True]
    assert [doing(turn) for turn in turns] == [
        "Ann (planning)",
        "Ada (planning, not started: needs a free worker whose team file includes Ada)",
        "setup (planning, not started: no worker is free)",
    ]


@pytest.mark.parametrize("phase", [3, "3"])
def test_a_phase_of_an_orchestration_is_called_one(phase: Any) -> None:
    turn: Any = {"agent": "Ann", "phase": phase, "work": "ask"}
    assert doing(turn) == "Ann (phase 3)"


@pytest.mark.parametrize("code", get_args(Unready))
def test_the_reason_why_nothing_began_is_a_sentence(code: str) -> None:
    assert " " in reason_of({"reason": code})


@pytest.mark.parametrize(
    ("places", "first"),
    [
        (["/my shop"], ["first: git -C '/my shop' switch -"]),
        ([None], ["first: git worktree prune"]),
        (["/a", "/a", None], ["first: git -C /a switch -", "first: git worktree prune"]),
    ],
)
def test_a_wait_for_a_branch_names_what_to_do_before_the_retry(places: list[str | None], first: list[str]) -> None:
    turns: Any = [
        {"waitingFor": "branch", "checkedOutIn": place} if place else {"waitingFor": "branch"} for place in places
    ]
    session: Any = {"id": "delivery-1", "outstandingTurns": turns}
    assert next_of(session).split("\n") == [*first, "then: hansard retry delivery-1"]
