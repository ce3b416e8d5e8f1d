"""Codex's app server, played by a program: the turn, permissions, usage, resuming, failing."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.agents.activity import Activity
from adapters.agents.codex.agent import CodexAgent
from adapters.agents.codex.items import activities
from adapters.agents.command.settings import CommandSettings
from adapters.agents.port import Limits, Reply, Turn
from adapters.agents.presets.catalogue import preset
from adapters.agents.team import build, load
from domain.session.attempts import FailureCode
from domain.session.permissions import PermissionChoice
from domain.session.turns import FenceLevel
from domain.values.base import Usage
from tests.adapters.agents_under_test import ask, code

PROGRAM = Path(__file__).with_name("codex_program.py")
TURN = Turn(turn_id="t-1", session_id="s-1", attempt=1, agent="Cora", role="dev", prompt="Fix it.", access="write")
COMMAND = "/bin/bash -lc \"sed -i 's/a - b/a + b/' calc.py\""
SCRIPT = "sed -i 's/a - b/a + b/' calc.py"
Asked = list[tuple[str, str, tuple[str, ...]]]


class Cora:
    """The agent, its orders, and what it saw."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.heard: list[Activity] = []
        self.asked: Asked = []
        self.turn = replace(TURN, workspace=self.work, observe=self.heard.append)

    def ask(self, *steps: Any, turn: Turn | None = None, errors: dict[str, str] | None = None, **more: Any) -> Reply:
        orders = {"errors": errors or {}, **({"steps": steps} if steps else {})}
        (self.folder / "orders.json").write_text(json.dumps(orders))
        argv = (sys.executable, str(PROGRAM), str(self.folder / "orders.json"))
        settings = CommandSettings(argv=argv, resume_argv=argv, questions="codex", **more)
        return ask(CodexAgent(settings, self.folder / "data"), turn or self.turn)

    def answering(self, choice: PermissionChoice, **changes: Any) -> Turn:
        async def permit(
            tool: str, title: str, paths: Sequence[str] = (), *, fence: FenceLevel | None = None
        ) -> PermissionChoice:
            self.asked.append((tool, title, tuple(paths)))
            return choice

        return replace(self.turn, permit=permit, **changes)

    def seen(self, what: str) -> list[Any]:
        lines = (self.folder / "seen.jsonl").read_text().splitlines()
        return [value for line in lines for name, value in json.loads(line).items() if name == what]


@pytest.fixture
def cora(tmp_path: Path) -> Cora:
    return Cora(tmp_path)


def item(step: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"tell": [f"item/{step}", {"item": {"type": kind, "id": name, **more}}]}


def test_a_turn_opens_a_thread_in_the_workspace_that_asks_a_person(cora: Cora) -> None:
    reply = cora.ask({"say": "Looking."}, {"say": "Done."})
    assert (reply.text, reply.failure, reply.fence, reply.resumed) == ("Done.", None, "none", False)
    assert reply.model == "gpt-5-codex"
    place = {"cwd": str(cora.work), "approvalPolicy": "untrusted", "approvalsReviewer": "user"}
    assert cora.seen("thread/start") == [place]
    [asked] = cora.seen("turn/start")
    assert asked["input"] == [{"type": "text", "text": "Fix it."}]


def test_activity_is_reported_in_the_common_format(cora: Cora) -> None:
    lines: list[str] = []
    cora.ask(
        {"tell": ["item/reasoning/summaryTextDelta", {"itemId": "r1", "delta": "Let me look."}]},
        item("completed", "reasoning", "r1", summary=["Let me look."]),
        {"tell": ["turn/plan/updated", {"plan": [{"step": "Look", "status": "completed"}, {"step": "Fix"}]}]},
        item("started", "commandExecution", "c1", command=COMMAND, status="inProgress"),
        item(
            "completed", "commandExecution", "c1", command=COMMAND, status="failed", aggregatedOutput="no", exitCode=1
        ),
        item("completed", "fileChange", "f1", changes=[{"path": "calc.py", "diff": ""}], status="completed"),
        {"tell": ["item/agentMessage/delta", {"itemId": "m9", "delta": "Fixed"}]},
        item("completed", "agentMessage", "m9", text="Fixed."),
        turn=replace(cora.turn, transcribe=lines.append),
    )
    assert [(one.kind, one.tool, one.title, one.status, one.exit_code, one.text) for one in cora.heard] == [
        ("thought", None, None, None, None, "Let me look."),
        ("plan", None, None, None, None, "[x] Look\n[ ] Fix"),
        ("tool", "execute", SCRIPT, "running", None, None),
        ("tool", "execute", SCRIPT, "failed", 1, "no"),
        ("tool", "edit", "calc.py", "completed", None, None),
        ("message", None, None, None, None, "Fixed"),
    ]
    assert sum("item/" in line for line in lines) == 7


def test_usage_is_the_sum_of_the_calls_of_this_turn(cora: Cora) -> None:
    reply = cora.ask({"used": [1_200, 50]}, {"used": [1_300, 60]}, {"say": "ok"})
    assert reply.usage == Usage(input_tokens=2_500, cached_tokens=1_250, output_tokens=110, reasoning_tokens=2)
    calls = {one.id: one.usage for one in cora.heard if one.kind == "usage"}
    assert [used.input_tokens for used in calls.values() if used] == [1_200, 1_300]


@pytest.mark.parametrize(("choice", "decision"), [("allow", "accept"), ("deny", "decline")])
def test_permission_is_asked_with_the_command_line(cora: Cora, choice: PermissionChoice, decision: str) -> None:
    reply = cora.ask(
        item("started", "commandExecution", "c1", command=COMMAND, status="inProgress"),
        {"ask": ["item/commandExecution/requestApproval", {"itemId": "c1", "command": COMMAND}]},
        item("completed", "commandExecution", "c1", command=COMMAND, status="declined"),
        {"say": "ok"},
        turn=cora.answering(choice),
    )
    assert reply.failure is None
    assert cora.asked == [("execute", SCRIPT, ())]
    assert cora.seen("answer") == [{"decision": decision}]
    assert [one.status for one in cora.heard if one.kind == "tool"] == ["running", "denied"]


def test_a_permission_to_edit_names_the_files_and_is_denied_to_reading_roles(cora: Cora) -> None:
    change = [{"path": "calc.py", "diff": ""}, {"path": "test_calc.py", "diff": ""}]
    steps = [
        item("started", "fileChange", "f1", changes=change, status="inProgress"),
        {"ask": ["item/fileChange/requestApproval", {"itemId": "f1"}]},
        {"say": "ok"},
    ]
    cora.ask(*steps, turn=cora.answering("allow"))
    cora.ask(*steps, turn=cora.answering("allow", role="reviewer", access="read"))
    assert cora.asked == [("edit", "calc.py, test_calc.py", ("calc.py", "test_calc.py"))]
    assert cora.seen("answer") == [{"decision": "accept"}, {"decision": "decline"}]
    [denied] = [one for one in cora.heard if one.kind == "permission"]
    assert (denied.tool, denied.status) == ("edit", "denied")


def test_what_is_not_a_tool_call_gets_nothing(cora: Cora) -> None:
    cora.ask(
        {"ask": ["item/permissions/requestApproval", {"permissions": {"network": {"enabled": True}}}]},
        {"ask": ["mcpServer/elicitation/request", {"message": "Your password?"}]},
        {"ask": ["item/tool/requestUserInput", {"questions": []}]},
        {"say": "ok"},
        turn=cora.answering("allow"),
    )
    assert cora.asked == []
    assert cora.seen("answer") == [{"permissions": {}}, {"action": "decline"}, None]


def test_a_conversation_is_resumed_by_the_id_of_its_thread(cora: Cora) -> None:
    first = cora.ask({"say": "ok"})
    again = cora.ask({"say": "ok"}, turn=replace(cora.turn, turn_id="t-2", agent_session=first.agent_session))
    assert (again.resumed, again.failure, again.agent_session) == (True, None, first.agent_session)
    assert [one["threadId"] for one in cora.seen("thread/resume")] == ["01a20a85-0000"]


def test_a_lost_conversation_becomes_a_new_one(cora: Cora) -> None:
    first = cora.ask({"say": "ok"})
    [kept] = (cora.folder / "data" / "homes").glob("*/threads.json")
    kept.write_text("[]")
    turn = replace(cora.turn, turn_id="t-2", agent_session=first.agent_session)
    again = cora.ask({"say": "ok"}, turn=turn)
    assert (again.text, again.resumed) == ("ok", False)
    assert again.new_conversation == "The program no longer knows the conversation."


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "unexpected status 401 Unauthorized"}, "auth"),
        ({"message": "Oh.", "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 429}}}, "rate_limit"),
        ({"message": "Oh.", "codexErrorInfo": "usageLimitExceeded"}, "rate_limit"),
        ({"message": "Oh.", "codexErrorInfo": "serverOverloaded"}, "overloaded"),
        ({"message": "Oh.", "codexErrorInfo": "contextWindowExceeded"}, "limit"),
        ({"message": "Oh.", "codexErrorInfo": {"unheard": {}}}, "crash"),
        ({}, "crash"),
    ],
)
def test_a_failed_turn_names_its_reason(cora: Cora, error: dict[str, Any], expected: FailureCode) -> None:
    reply = cora.ask({"used": [1_200, 50]}, {"fail": error})
    assert code(reply) == expected
    assert reply.usage.input_tokens == 1_200
    assert reply.agent_session is None


def test_a_refused_login_ends_the_turn_while_codex_still_retries(cora: Cora) -> None:
    refused = {"responseStreamDisconnected": {"httpStatusCode": 401}}
    error = {"message": "Reconnecting... 1/5", "codexErrorInfo": refused}
    reply = cora.ask({"tell": ["error", {"error": error, "willRetry": True}]}, {"hang": 300})
    assert code(reply) == "auth"
    assert [(one.kind, one.failure, one.text) for one in cora.heard] == [("retry", "auth", "Reconnecting... 1/5")]


def test_a_turn_that_is_stopped_while_it_retries_says_why(cora: Cora) -> None:
    error = {"message": "Reconnecting... 1/5", "additionalDetails": "last status: 429 Too Many Requests"}
    turn = replace(cora.turn, limits=Limits(wall_seconds=2))
    reply = cora.ask({"tell": ["error", {"error": error, "willRetry": True}]}, {"hang": 300}, turn=turn)
    assert code(reply) == "rate_limit"
    assert reply.failure
    assert "while it retried: Reconnecting... 1/5: last status: 429" in reply.failure.detail


def test_a_program_that_ends_early_is_a_crash_with_its_output(cora: Cora) -> None:
    reply = cora.ask({"exit": 3})
    assert code(reply) == "crash"
    assert reply.failure
    assert reply.failure.detail == "The program ended with exit code 3: Error: the configuration is wrong"


@pytest.mark.parametrize(
    ("steps", "limits", "expected"),
    [
        ([{"tell": ["warning", {"message": "Slow."}]}], Limits(), "unreadable"),
        ([{"say": "x" * 101}], Limits(output_bytes=100), "limit"),
    ],
)
def test_an_invalid_answer_is_a_failure(cora: Cora, steps: list[Any], limits: Limits, expected: str) -> None:
    assert code(cora.ask(*steps, turn=replace(cora.turn, limits=limits))) == expected


def test_an_error_of_a_request_is_a_failure(cora: Cora) -> None:
    assert code(cora.ask(errors={"thread/start": "401 Unauthorized"})) == "auth"


@pytest.mark.parametrize("params", [{}, {"item": None}, {"item": {"type": 3, "command": 4}}, {"plan": [None]}])
@pytest.mark.parametrize("method", ["item/started", "item/completed", "turn/plan/updated", "error", "warning", "x/y"])
def test_unknown_shapes_are_ignored(method: str, params: dict[str, Any]) -> None:
    assert all(isinstance(result, Activity) for result in activities(method, params))


def test_the_preset_asks_and_leaves_the_sandbox_to_the_fence(tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text('[[agents]]\nname = "Cora"\npreset = "codex"\nmodel = "gpt-5"\n')
    [member] = load(tmp_path / "team.toml").agents
    assert isinstance(build(member, tmp_path), CodexAgent)
    known = preset("codex")
    assert known is not None
    settings = CommandSettings.model_validate(known.extended({})).named("gpt-5")
    fenced = settings.inside("bwrap").template(resumed=False, writes=False)
    assert fenced == ("codex", "app-server", "-c", 'model="{model}"', "-c", 'sandbox_mode="danger-full-access"')
    alone = settings.inside("none")
    assert alone.template(resumed=True, writes=False)[-1] == 'sandbox_mode="read-only"'
    assert alone.template(resumed=True, writes=True)[-1] == 'sandbox_mode="workspace-write"'


@pytest.mark.parametrize("more", [{"output": "json", "text_path": "x"}, {"stream": "codex"}, {"stdin": "prompt"}])
def test_what_the_protocol_sets_is_not_set_twice(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match='with questions = "codex": the protocol sets them'):
        CommandSettings(argv=("codex", "app-server"), questions="codex", **more)
