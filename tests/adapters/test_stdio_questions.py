"""Claude Code's questions on stdio: a program that asks as it does, and what it gets to hear."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.agents.activity import Activity, Tool
from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.settings import CommandSettings
from adapters.agents.port import Reply, Turn
from adapters.processes.pauses import Pauses
from adapters.processes.program import Finished, run
from domain.session.permissions import PermissionChoice
from domain.session.turns import FenceLevel
from tests.adapters.agents_under_test import TURN

PROGRAM = """
import json, sys
said = json.loads(sys.stdin.readline())
heard = []
for number, request in enumerate(json.loads(sys.argv[1])):
    print(json.dumps({"type": "control_request", "request_id": f"r{number}", "request": request}), flush=True)
    heard.append(json.loads(sys.stdin.readline())["response"])
told = {"prompt": said["message"]["content"][0]["text"], "heard": heard}
print(json.dumps({"type": "result", "result": json.dumps(told)}), flush=True)
sys.stdin.read()
"""
BASH = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm -rf build", "description": "Clean"}}
WRITE = {"subtype": "can_use_tool", "tool_name": "Write", "input": {"file_path": "/w/a.py", "content": "x"}}


class Person:
    """Answers as wanted, after a while."""

    def __init__(self, decision: PermissionChoice = "allow", seconds: float = 0.0) -> None:
        self.began = asyncio.Event()
        self.asked: list[tuple[Tool, str, tuple[str, ...], FenceLevel | None]] = []
        self._decision, self._seconds = decision, seconds

    async def __call__(
        self, tool: Tool, title: str, paths: Sequence[str] = (), *, fence: FenceLevel | None = None
    ) -> PermissionChoice:
        self.asked.append((tool, title, tuple(paths), fence))
        self.began.set()
        await asyncio.sleep(self._seconds)
        return self._decision


def ask(folder: Path, person: Person, *requests: dict[str, Any], **changes: Any) -> Reply:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    settings = CommandSettings(
        argv=(sys.executable, str(program), json.dumps(requests)),
        output="json",
        questions="claude",
        text_path={"path": "result", "where": {"type": "result"}},
    )
    turn = replace(TURN, **{"permit": person, "access": "write", **changes})
    return asyncio.run(CommandAgent(settings, folder / "agents").ask(turn))


def heard(reply: Reply) -> list[dict[str, Any]]:
    assert reply.failure is None, reply.failure
    result: list[dict[str, Any]] = json.loads(reply.text)["heard"]
    return result


def test_the_prompt_is_a_message_and_an_allowed_tool_gets_its_input_back(tmp_path: Path) -> None:
    person = Person()
    reply = ask(tmp_path, person, BASH)
    assert json.loads(reply.text)["prompt"] == "Write the API."
    answer = {"behavior": "allow", "updatedInput": BASH["input"]}
    assert heard(reply) == [{"subtype": "success", "request_id": "r0", "response": answer}]
    assert person.asked == [("execute", "rm -rf build", (), "none")]


def test_a_denied_tool_gets_the_reason(tmp_path: Path) -> None:
    person = Person("deny")
    [answer] = heard(ask(tmp_path, person, WRITE))
    assert answer["response"]["behavior"] == "deny" and "denied" in answer["response"]["message"]
    assert person.asked == [("edit", "/w/a.py", ("/w/a.py",), "none")]


def test_a_reading_role_never_edits_and_no_person_is_asked(tmp_path: Path) -> None:
    person, seen = Person(), list[Activity]()
    [answer] = heard(ask(tmp_path, person, WRITE, access="read", observe=seen.append))
    assert (answer["response"]["behavior"], person.asked) == ("deny", [])
    assert ("permission", "denied") in [(each.kind, each.status) for each in seen]


def test_unknown_requests_are_refused(tmp_path: Path) -> None:
    [answer] = heard(ask(tmp_path, Person(), {"subtype": "hook_callback"}))
    assert answer["subtype"] == "error"


def test_no_limit_counts_while_a_person_thinks(tmp_path: Path) -> None:
    async def story() -> Finished:
        pauses = Pauses()
        with pauses.paused():
            program = [sys.executable, "-c", "import time; time.sleep(1)"]
            return await run(program, cwd=tmp_path, env={}, wall_seconds=0.2, idle_seconds=0.1, pauses=pauses)

    assert asyncio.run(story()).ended == "exit"


def test_an_unusual_tool_is_named(tmp_path: Path) -> None:
    person = Person()
    ask(tmp_path, person, BASH | {"tool_name": "mcp__shop__order", "input": {"query": "two"}})
    assert person.asked == [("other", "mcp__shop__order: two", (), "none")]


def test_a_cancelled_turn_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        person = Person(seconds=60)
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        settings = CommandSettings(
            argv=(sys.executable, str(program), json.dumps([BASH])),
            output="json",
            questions="claude",
            text_path={"path": "result", "where": {"type": "result"}},
        )
        turn: Turn = replace(TURN, permit=person)
        asking = asyncio.create_task(CommandAgent(settings, tmp_path / "agents").ask(turn))
        async with asyncio.timeout(20):
            await person.began.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(story())
