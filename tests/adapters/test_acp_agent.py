"""The ACP adapter against an agent that speaks plain JSON-RPC: the turn, permissions, resuming, failing."""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from adapters.agents.acp.agent import AcpAgent
from adapters.agents.acp.settings import AcpSettings
from adapters.agents.activity import Activity
from adapters.agents.port import Limits, Reply, Turn
from adapters.agents.team import load
from adapters.processes.stopwatch import Stopwatch
from domain.values.base import MOST, Usage
from tests.adapters.agents_under_test import ask, code, running, used_when_cancelled

PROGRAM = Path(__file__).with_name("acp_program.py")
TURN = Turn(turn_id="t-1", session_id="s-1", attempt=1, agent="Zoe", role="dev", prompt="Fix it.", access="write")
Choice = Literal["allow", "deny"]


class Zoe:
    """The agent, its orders, and what it saw."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.turn = replace(TURN, workspace=self.work)

    def agent(self, *steps: Any, settings: dict[str, Any] | None = None, **orders: Any) -> AcpAgent:
        if steps:
            orders["steps"] = list(steps)
        (self.folder / "orders.json").write_text(json.dumps(orders))
        argv = (sys.executable, str(PROGRAM), str(self.folder / "orders.json"))
        return AcpAgent(AcpSettings(argv=argv, **(settings or {})), self.folder / "data")

    def asked(self, *steps: Any, turn: Turn | None = None, **more: Any) -> Reply:
        return ask(self.agent(*steps, **more), turn or self.turn)

    def seen(self, what: str) -> list[Any]:
        lines = (self.folder / "seen.jsonl").read_text().splitlines()
        return [value for line in lines for name, value in json.loads(line).items() if name == what]


@pytest.fixture
def zoe(tmp_path: Path) -> Zoe:
    return Zoe(tmp_path)


def call(name: str, kind: str, title: str, **more: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "tool_call", "toolCallId": name, "kind": kind, "title": title, **more}}


def progress(name: str, status: str, **more: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": "tool_call_update", "toolCallId": name, "status": status, **more}}


def answering(choice: Choice, asked: list[tuple[str, str, tuple[str, ...]]]) -> Callable[..., Any]:
    async def permit(tool: str, title: str, paths: tuple[str, ...] = (), *, fence: str | None = None) -> Choice:
        asked.append((tool, title, tuple(paths)))
        return choice

    return permit


# --- a turn ----------------------------------------------------------------------------------------------------------


def test_a_turn_introduces_itself_opens_a_session_in_the_workspace_and_asks(zoe: Zoe) -> None:
    reply = zoe.asked({"say": "All "}, {"say": "done."})
    assert (reply.text, reply.failure, reply.fence, reply.resumed) == ("All done.", None, "none", False)
    [introduced] = zoe.seen("initialize")
    assert introduced["protocolVersion"] == 1
    nothing = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert introduced["clientCapabilities"] == nothing
    assert zoe.seen("session/new") == [{"cwd": str(zoe.work), "mcpServers": []}]
    assert zoe.seen("session/prompt") == [{"sessionId": "ses-1", "prompt": [{"type": "text", "text": "Fix it."}]}]


def test_activity_is_reported_in_the_common_format(zoe: Zoe) -> None:
    heard: list[Activity] = []
    lines: list[str] = []
    turn = replace(zoe.turn, observe=heard.append, transcribe=lines.append)
    thought = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Let me look."}}
    plan = {"sessionUpdate": "plan", "entries": [{"content": "Look", "status": "completed"}, {"content": "Fix"}]}
    failed = {"rawOutput": {"output": "1 failed", "exit_code": 1}}
    reply = zoe.asked(
        {"update": thought},
        {"update": plan},
        {"say": "Looking."},
        call("c1", "execute", "Run tests", rawInput={"command": ["pytest", "-q x"]}, status="pending"),
        progress("c1", "completed", **failed),
        call("c2", "edit", "Edit calc.py", rawInput={}, locations=[{"path": "/w/calc.py"}], status="in_progress"),
        progress("c2", "completed", content=[{"type": "content", "content": {"type": "text", "text": "ok"}}]),
        {"update": {"sessionUpdate": "usage_update", "used": 12_000, "size": 200_000}},
        {"say": "Fixed."},
        turn=turn,
    )
    assert reply.text == "Looking.\n\nFixed."
    assert [(one.kind, one.id, one.tool, one.title, one.status, one.exit_code, one.text) for one in heard] == [
        ("thought", None, None, None, None, None, "Let me look."),
        ("plan", None, None, None, None, None, "[x] Look\n[ ] Fix"),
        ("message", None, None, None, None, None, "Looking."),
        ("tool", "c1", "execute", "pytest '-q x'", "running", None, None),
        ("tool", "c1", None, None, "failed", 1, "1 failed"),
        ("tool", "c2", "edit", "Edit calc.py", "running", None, None),
        ("tool", "c2", None, None, "completed", None, "ok"),
        ("usage", "context", None, None, None, None, "12,000 of 200,000 tokens of context"),
        ("message", None, None, None, None, None, "\n\nFixed."),
    ]
    assert heard[5].paths == ("/w/calc.py",)
    assert sum("session/update" in line for line in lines) == 9


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (  # cached tokens are counted separately from the input
            {"inputTokens": 10, "cachedReadTokens": 80, "cachedWriteTokens": 5, "outputTokens": 7, "totalTokens": 102},
            Usage(input_tokens=95, cached_tokens=80, output_tokens=7),
        ),
        (  # or within it
            {"inputTokens": 95, "cachedReadTokens": 80, "outputTokens": 7, "thoughtTokens": 3, "totalTokens": 102},
            Usage(input_tokens=95, cached_tokens=80, output_tokens=7, reasoning_tokens=3),
        ),
        (
            {"inputTokens": 95, "outputTokens": 7, "thoughtTokens": 30, "totalTokens": 132},
            Usage(input_tokens=95, output_tokens=37, reasoning_tokens=30),
        ),
        ({"inputTokens": -1, "outputTokens": "7"}, Usage(output_tokens=7)),
        ({"inputTokens": 10**30, "outputTokens": 7}, Usage(input_tokens=MOST, output_tokens=7)),
        ("much", Usage()),
    ],
)
def test_usage_is_that_of_the_turn(zoe: Zoe, used: object, expected: Usage) -> None:
    assert zoe.asked({"say": "ok"}, {"answer": {"usage": used}}).usage == expected


def test_the_cost_of_a_conversation_is_converted_to_that_of_the_turn(zoe: Zoe) -> None:
    def cost(amount: float) -> dict[str, Any]:
        content = {"used": 1, "size": 2, "cost": {"amount": amount, "currency": "USD"}}
        return {"update": {"sessionUpdate": "usage_update", **content}}

    first = zoe.asked({"say": "ok"}, cost(0.5))
    turn = replace(zoe.turn, turn_id="t-2", agent_session=first.agent_session)
    second = zoe.asked({"say": "ok"}, cost(0.75), turn=turn)
    assert (first.usage.cost_micros, second.usage.cost_micros) == (500_000, 250_000)


def test_a_cancelled_turn_has_cost_what_it_has_added_to_the_conversation(zoe: Zoe) -> None:
    def cost(amount: float) -> dict[str, Any]:
        content = {"used": 1, "size": 2, "cost": {"amount": amount, "currency": "USD"}}
        return {"update": {"sessionUpdate": "usage_update", **content}}

    first = zoe.asked({"say": "ok"}, cost(0.5))
    turn = replace(zoe.turn, turn_id="t-2", agent_session=first.agent_session)
    second = asyncio.run(used_when_cancelled(zoe.agent(cost(0.75), {"hang": 600}), turn))
    third = zoe.asked({"say": "ok"}, cost(1.0), turn=replace(turn, turn_id="t-3"))
    assert (second.cost_micros, third.usage.cost_micros) == (250_000, 250_000)


@pytest.mark.parametrize(
    ("session", "method", "sent"),
    [
        ({"models": {"currentModelId": "small"}}, "session/set_model", {"sessionId": "ses-1", "modelId": "large"}),
        (
            {"configOptions": [{"id": "m", "category": "model", "currentValue": "small"}]},
            "session/set_config_option",
            {"sessionId": "ses-1", "configId": "m", "value": "large"},
        ),
    ],
)
def test_the_model_is_chosen_where_the_agent_lets_it_be(
    zoe: Zoe, session: dict[str, Any], method: str, sent: dict[str, Any]
) -> None:
    assert zoe.asked(session=session).model == "small"
    assert zoe.asked(session=session, settings={"model": "large"}).model == "large"
    assert zoe.seen(method) == [sent]


# --- permissions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "option"), [("allow", "o-allow_once"), ("deny", "o-reject_once")])
def test_permission_is_requested_with_the_command_line_and_granted_once(zoe: Zoe, choice: Choice, option: str) -> None:
    asked: list[tuple[str, str, tuple[str, ...]]] = []
    heard: list[Activity] = []
    turn = replace(zoe.turn, permit=answering(choice, asked), observe=heard.append)
    reply = zoe.asked(
        call("c1", "execute", "Clean up", rawInput={"command": "rm -rf build"}),
        {"ask": {"toolCallId": "c1"}},
        progress("c1", "completed"),
        {"say": "ok"},
        turn=turn,
    )
    assert reply.failure is None
    assert asked == [("execute", "rm -rf build", ())]
    assert zoe.seen("outcome") == [{"outcome": "selected", "optionId": option}]
    ends = [(one.kind, one.id, one.status) for one in heard if one.status != "running" and one.kind == "tool"]
    assert ends == [("tool", "c1", "denied" if choice == "deny" else "completed")]


@pytest.mark.parametrize("kind", ["edit", "delete", "move"])
def test_a_role_that_reads_never_gets_a_permission_to_edit(zoe: Zoe, kind: str) -> None:
    asked: list[tuple[str, str, tuple[str, ...]]] = []
    heard: list[Activity] = []
    turn = replace(zoe.turn, role="reviewer", access="read", permit=answering("allow", asked), observe=heard.append)
    wanted = {"toolCallId": "c1", "kind": kind, "title": "calc.py", "locations": [{"path": "calc.py"}]}
    zoe.asked(
        {"ask": wanted}, {"ask": {"toolCallId": "c2", "kind": "execute", "title": "ls"}}, {"say": "ok"}, turn=turn
    )
    assert asked == [("execute", "ls", ())]
    assert [one["optionId"] for one in zoe.seen("outcome")] == ["o-reject_once", "o-allow_once"]
    assert [(one.kind, one.id, one.tool, one.paths, one.status) for one in heard[:2]] == [
        ("permission", None, "edit", ("calc.py",), "denied"),
        ("tool", "c1", "edit", ("calc.py",), "denied"),
    ]


@pytest.mark.parametrize(
    ("kinds", "outcome"),
    [
        (["allow_always"], {"outcome": "cancelled"}),
        (["allow_always", "reject_always"], {"outcome": "selected", "optionId": "o-reject_always"}),
        ([], {"outcome": "cancelled"}),
    ],
)
def test_permissions_are_never_granted_permanently(zoe: Zoe, kinds: list[str], outcome: dict[str, str]) -> None:
    asked: list[tuple[str, str, tuple[str, ...]]] = []
    turn = replace(zoe.turn, permit=answering("allow", asked))
    zoe.asked({"ask": {"toolCallId": "c1", "kind": "fetch", "title": "x", "kinds": kinds}}, {"say": "ok"}, turn=turn)
    assert (zoe.seen("outcome"), asked) == ([outcome], [])


def test_limits_pause_while_a_person_decides() -> None:
    now = [100.0]
    watch = Stopwatch(wall=60, idle=10, time=lambda: now[0])
    now[0] += 9
    with watch.paused():
        now[0] += 5_000
        with watch.paused():
            watch.heard()
        assert watch.over() is None
        now[0] += 5_000
    assert watch.over() is None
    now[0] += 9
    assert watch.over() is None
    now[0] += 1
    assert watch.over() == "idle"
    watch.heard()
    assert watch.over() is None
    now[0] += 41
    watch.heard()
    assert watch.over() == "timeout"


@pytest.mark.parametrize(
    "method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create", "x" * 1_000]
)
def test_no_files_and_terminals_are_offered_to_the_agent(zoe: Zoe, method: str) -> None:
    target = zoe.folder / "outside.txt"
    fields = {"sessionId": "ses-1", "path": str(target), "content": "x", "command": "touch", "args": [str(target)]}
    assert zoe.asked({"call": [method, fields]}, {"say": "ok"}).failure is None
    assert zoe.seen("called") == [-32601]
    assert not target.exists()


# --- resuming --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("abilities", "method"),
    [({"sessionCapabilities": {"resume": {}}}, "session/resume"), ({"loadSession": True}, "session/load")],
)
def test_a_conversation_continues_in_a_new_process(zoe: Zoe, abilities: dict[str, Any], method: str) -> None:
    first = zoe.asked(abilities=abilities)
    second = zoe.asked(abilities=abilities, turn=replace(zoe.turn, turn_id="t-2", agent_session=first.agent_session))
    assert (second.resumed, second.new_conversation, second.text) == (True, None, "ok")
    assert second.agent_session == first.agent_session
    assert zoe.seen(method) == [{"sessionId": "ses-1", "cwd": str(zoe.work), "mcpServers": []}]


@pytest.mark.parametrize("abilities", [{}, {"loadSession": True}])
def test_a_conversation_that_cannot_continue_is_replaced_with_a_digest(zoe: Zoe, abilities: dict[str, Any]) -> None:
    first = zoe.asked(abilities=abilities)
    for kept in (zoe.folder / "data").rglob("sessions.json"):
        kept.unlink()
    turn = replace(zoe.turn, turn_id="t-2", agent_session=first.agent_session, recap=lambda: "Earlier: yes.")
    second = zoe.asked(abilities=abilities, turn=turn)
    assert (second.resumed, second.failure) == (False, None)
    assert second.new_conversation == "The program no longer knows the conversation."
    assert zoe.seen("session/prompt")[-1]["prompt"][0]["text"] == "Earlier: yes.\n\nFix it."


# --- failing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orders", "expected", "words"),
    [
        ({"errors": {"session/new": [-32000, "Authentication required"]}}, "auth", "asks for a login"),
        (
            {"errors": {"session/prompt": [-32603, "Internal error", {"details": "429 limit"}]}},
            "rate_limit",
            "429",
        ),
        ({"errors": {"session/prompt": [-32603, "Internal error", "HTTP 401 unauthorized"]}}, "auth", "401"),
        ({"errors": {"session/prompt": [1, "odd", [1, {"a": None}]]}}, "crash", "odd"),
        ({"errors": {"session/set_model": [-32602, "no such model"]}, "session": {"models": {"a": 1}}}, "crash", "no"),
        ({"version": 2}, "refused", "version 2 of ACP"),
        ({"steps": [{"say": "x"}, {"answer": {"stopReason": "max_tokens"}}]}, "limit", "limit of tokens"),
        ({"steps": [{"say": "x"}, {"answer": {"stopReason": "refusal"}}]}, "refused", "declined"),
        ({"steps": [{"say": "x"}, {"answer": {"stopReason": "cancelled"}}]}, "crash", "interrupted"),
        ({"steps": [{"say": "x"}, {"answer": {"stopReason": "banana"}}]}, "crash", "unknown reason: banana"),
        ({"steps": [{"say": "x"}, {"answer": {"stopReason": None}}]}, "crash", "unknown reason: None"),
        ({"steps": [{"aside": "x"}]}, "unreadable", "without an answer"),
        ({"steps": [{"hang": 0}]}, "unreadable", "without an answer"),
        ({"steps": [{"say": "I"}, {"complain": "529 overloaded"}, {"exit": 3}]}, "overloaded", "exit code 3: 529"),
        ({"steps": [{"exit": 0}]}, "crash", "exit code 0"),
    ],
)
def test_each_way_to_fail_has_its_code(zoe: Zoe, orders: dict[str, Any], expected: str, words: str) -> None:
    reply = zoe.asked(settings={"model": "large"}, **orders)
    assert code(reply) == expected
    assert reply.failure is not None
    assert words in reply.failure.detail
    assert reply.agent_session is None


def test_text_of_another_session_is_not_part_of_the_answer(zoe: Zoe) -> None:
    reply = zoe.asked({"say": "yes"}, {"aside": "no"}, {"say": "!"})
    assert (reply.text, reply.failure) == ("yes!", None)


@pytest.mark.parametrize(
    "noise",
    [
        "no JSON\n",
        "[1]\n",
        '{"id": {}, "result": 1}\n',
        '{"id": 0, "error": "boom"}\n',
        '{"id": 0, "error": {"message": 3}}\n',
        '{"method": 3}\n',
        '{"id": 99, "result": {}}\n',
        '{"method": "session/update", "params": [3]}\n',
        '{"method": "session/update", "params": {"update": {"sessionUpdate": "tool_call", "toolCallId": 3}}}\n',
        '{"method": "session/update", "params": {"update": {"sessionUpdate": ["x"], "content": 3}}}\n',
        '{"method": "session/update", "params": {"update": {"sessionUpdate": "plan", "entries": [3, {}]}}}\n',
        '{"id": "q", "method": "session/request_permission", "params": {"toolCall": 3, "options": [4]}}\n',
        "[" * 100_000 + "\n",
        '{"a": NaN}\n',
    ],
)
def test_invalid_lines_between_messages_are_ignored(zoe: Zoe, noise: str, caplog: pytest.LogCaptureFixture) -> None:
    reply = zoe.asked({"raw": noise}, {"say": "ok"})
    assert (reply.text, reply.failure) == ("ok", None)
    assert caplog.records == []


def test_too_much_output_is_a_failure(zoe: Zoe) -> None:
    short = replace(zoe.turn, limits=Limits(output_bytes=100))
    reply = zoe.asked({"say": "가" * 1_000}, turn=short)
    assert (code(reply), reply.truncated, len(reply.text.encode()) <= 100) == ("limit", True, True)
    assert code(zoe.asked({"flood": 3_000_000}, settings={"output_bytes": 1_000_000})) == "limit"


def test_silence_and_length_are_bounded(zoe: Zoe) -> None:
    assert code(zoe.asked({"hang": 60}, settings={"idle_seconds": 2})) == "idle"
    assert code(zoe.asked({"hang": 60}, settings={"timeout_seconds": 2})) == "timeout"


def test_a_program_that_cannot_be_started_is_refused(zoe: Zoe) -> None:
    agent = AcpAgent(AcpSettings(argv=("/no/such/agent",)), zoe.folder / "data")
    assert code(ask(agent, zoe.turn)) == "refused"


def test_a_secret_is_redacted_from_all_output(zoe: Zoe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOE_KEY", "sk-open-sesame")
    heard: list[Activity] = []
    lines: list[str] = []
    turn = replace(zoe.turn, observe=heard.append, transcribe=lines.append)
    reply = zoe.asked(
        {"complain": "sk-open-sesame"},
        {"say": "sk-open-sesame!"},
        turn=turn,
        settings={"env": {"API_KEY": "env:ZOE_KEY"}},
    )
    assert reply.text == "***!"
    assert "sesame" not in f"{heard}{lines}"


def test_a_cancelled_turn_tells_the_agent_and_leaves_nothing_running(zoe: Zoe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.agents.rpc.CANCEL_SECONDS", 60)
    pids = zoe.folder / "pids"

    async def story() -> None:
        begun = asyncio.Event()

        def observe(seen: Activity) -> None:
            begun.set()

        agent = zoe.agent({"say": "begun"}, {"hang": 600}, child=str(pids))
        task = asyncio.create_task(agent.ask(replace(zoe.turn, observe=observe)))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert [pid for pid in map(int, pids.read_text().split()) if running(pid)] == []
    assert zoe.seen("session/cancel") == [{"sessionId": "ses-1"}]


# --- the team file ---------------------------------------------------------------------------------------------------


def test_an_agent_needs_its_argv_only(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text('[[agents]]\nname = "Zoe"\nadapter = "acp"\nsettings = { argv = ["gemini", "--acp"] }\n')
    [member] = load(path).agents
    assert (member.adapter, member.settings) == ("acp", AcpSettings(argv=("gemini", "--acp")))
    assert {"dev", "reviewer", "backend", "custom", "judge"} <= set(member.roles)
