"""Permission requests on the command line: at a terminal, with `allow` and `deny`, and in the inbox."""

import json
from pathlib import Path

import pytest

from tests.api.server import delivery, only, reached, serving, session, start, until
from tests.api.server import events as events_of
from tests.api.test_cli_decisions import Program, environment, hansard, on_a_terminal

__all__ = ["environment", "hansard"]

ENTRY = {"permission": {"title": "rm -rf build", "paths": ["build"]}, "ifDenied": "Without it.", "text": "With it."}
ANSWERS = [(b"a\n", "With it.", False), (b"d\n", "Without it.", False), (b"remember\n", "With it.", True)]


@pytest.mark.parametrize(("typed", "plan", "remember"), ANSWERS)
def test_run_asks_at_a_terminal(
    hansard: Program, environment: dict[str, str], tmp_path: Path, typed: bytes, plan: str, remember: bool
) -> None:
    (tmp_path / "ask.json").write_text(json.dumps({"replies": {"planner": [ENTRY]}}))
    words = ["run", "-t", "x", "--test", "true", "--no-baseline", "--fresh", "--scenario", "ask.json"]
    with on_a_terminal(words, environment, tmp_path) as terminal:
        terminal.until("planner asks for permission (execute):")
        terminal.until("rm -rf build")
        terminal.until("[a] Allow   [d] Deny   [r] Allow for the whole session")
        terminal.type(typed)
        assert terminal.end() == 0, terminal.shown
    [item] = json.loads(hansard("list", "--json").stdout)["items"]
    lines = [json.loads(line) for line in hansard("events", item["id"], "--json").stdout.splitlines()]
    [decided] = [line["data"] for line in lines if line["type"] == "turn.permission_decided"]
    assert (decided["remember"], plan in str(lines)) == (remember, True)


def test_allow_and_deny_answer_from_elsewhere(hansard: Program, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as server:
        there = {"HANSARD_SERVER": server.url}
        for command, plan in (("allow", "With it."), ("deny", "Without it.")):
            name = start(server.client, delivery({"planner": [ENTRY]}))
            [asked] = reached(server.client, name, "turn.permission_requested")
            result = hansard("inbox", **there)
            assert "permission" in result.stdout and "planner: execute: rm -rf build" in result.stdout
            assert f"hansard allow {name}" in result.stderr
            wrong = hansard(command, name, f"{name}.t9.p9", **there)
            assert (wrong.returncode, "no such request" in wrong.stderr) == (4, True)
            done = hansard(command, name, asked["requestId"], "--remember", "--json", **there)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["sessionId"] == name
            until(lambda name=name: session(server.client, name)["status"] == "success", what="success")
            history = events_of(server.client, name)
            assert only(history, "turn.permission_decided")[0]["remember"] is True
            assert only(history, "turn.answered")[0]["reply"]["head"] == plan
            assert hansard(command, name, **there).returncode == 4
