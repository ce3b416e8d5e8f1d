"""`hansard mcp`: another agent starts, follows and reads sessions through the library's own client, over stdio."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from api.cli.tools import TOOLS, schema_of
from tests.api.server import ROOT, Server, serving
from tests.kit.commands import command
from tests.kit.surroundings import without_settings

mcp = pytest.importorskip("mcp")
pytestmark = pytest.mark.acceptance
Call = Callable[..., Any]
READING = {"list_sessions", "show_session", "inbox", "changes", "comments", "turns", "explain", "wait"}
DECIDING = {"decide", "add_budget", "revise", "answer_permission", "answer_scope"}
ALL = {tool.name for tool in TOOLS}


def connected(folder: Path, *words: str, **environment: str) -> Any:
    """A client of a `hansard mcp` of its own."""
    from mcp import StdioServerParameters
    from mcp.client import Client

    ours = without_settings()
    ours |= {"HANSARD_DATABASE": f"sqlite:///{folder}/hansard.db", "HANSARD_DATA_DIR": str(folder / "node")}
    result = StdioServerParameters(
        command=sys.executable, args=["-m", "api", "mcp", *words], env=ours | environment, cwd=ROOT
    )
    return Client(result, read_timeout_seconds=60)


async def answer_of(client: Any, tool: str, **arguments: Any) -> Any:
    """The answer of a tool, or its error as text."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    if result.is_error:
        return str(content.text)
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


async def work(client: Any) -> tuple[set[str], str]:
    """Run a review up to its decision, as far as the scope allows; return the tools and the session."""
    tools = {tool.name for tool in (await client.list_tools()).tools}
    started = await answer_of(client, "start_review", subject="it reads lines", scenario={"replies": {}})
    session = str(started["sessionId"])
    waited = await answer_of(client, "wait", session=session, seconds=30)
    assert (waited["rests"], waited["session"]["status"]) == (True, "waiting_for_decision")
    assert [item["sessionId"] for item in (await answer_of(client, "inbox"))["items"]] == [session]
    assert (await answer_of(client, "list_sessions", kind="review"))["items"][0]["id"] == session
    assert (await answer_of(client, "show_session", session="latest"))["session"]["id"] == session
    assert "text" in await answer_of(client, "explain", session=session)
    return tools, session


def test_without_a_server_the_work_is_done_in_its_own_process(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(tmp_path) as client:
            tools, session = await work(client)
            assert tools == {tool.name for tool in TOOLS} - DECIDING
            refused = await answer_of(client, "decide", session=session, decision="skip")
            assert refused == "The tool decide needs the scope decide; this agent has operate."
            assert "maxRounds" in await answer_of(client, "start_review", subject="x", maxRounds=99)
            assert "no session" in await answer_of(client, "show_session", session="review-nothing")
            assert "subject" in await answer_of(client, "start_review")
            assert "There is no tool 'fly'" in await answer_of(client, "fly")
            assert (await answer_of(client, "cancel", session=session))["sessionId"] == session

    asyncio.run(scene())


def test_scope_of_the_key_decides_which_tools_exist(tmp_path: Path) -> None:
    async def scene(server: Server, own: str) -> set[str]:
        async with within(tmp_path, server.url, own) as client:
            tools, session = await work(client)
            answer = await answer_of(client, "decide", session=session, decision="skip")
            if "decide" in tools:
                assert answer["sessionId"] == session
            else:
                assert "scope decide" in answer
                await answer_of(client, "cancel", session=session)
            return tools

    with serving(tmp_path, auth="key") as server:
        owner = (server.data / "keys" / "owner.key").read_text().strip()
        assert asyncio.run(scene(server, owner)) == {tool.name for tool in TOOLS}
        operate = key(tmp_path, "agent", "operate")
        assert asyncio.run(scene(server, operate)) == {tool.name for tool in TOOLS} - DECIDING
        headers = {"Authorization": f"Bearer {owner}"}
        newest = server.client.get("/api/sessions", headers=headers).json()["items"][0]
        assert newest["owner"] == "person:agent"


@asynccontextmanager
async def within(folder: Path, server: str | None, own: str) -> AsyncIterator[Any]:
    """A client of `hansard mcp` in this process, with streams in memory in place of standard input and output."""
    from mcp.client import Client
    from mcp.shared.memory import create_client_server_memory_streams

    from api.cli.mcp_server import served
    from api.cli.options import Where

    ours = {"HANSARD_DATABASE": f"sqlite:///{folder}/hansard.db", "HANSARD_DATA_DIR": str(folder / "node")}
    async with create_client_server_memory_streams() as (near, far):
        with (
            patch.dict(os.environ, ours | {"HANSARD_API_KEY": own}),
            patch("api.cli.mcp_server.stdio_server", lambda **_: nullcontext(far)),
            patch("api.cli.mcp_server.private_input", lambda: nullcontext(BytesIO())),
        ):
            running = asyncio.create_task(served(None, Where(server=server), None))
            async with Client(nullcontext(near), read_timeout_seconds=60) as client:  # type: ignore[arg-type]
                yield client
    assert await running == 0


@pytest.mark.parametrize("by_server", [True, False])
def test_each_scope_sees_its_tools_and_is_refused_the_others(tmp_path: Path, by_server: bool) -> None:
    """With a server, and without one, when the key is looked up in the log."""

    async def scene(server: str | None, scope: str, own: str) -> None:
        async with within(tmp_path, server, own) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            expected = {"read": READING, "operate": ALL - DECIDING, "decide": ALL}[scope]
            assert names == expected
            assert "items" in await answer_of(client, "list_sessions")
            started = await answer_of(client, "start_review", subject="it reads lines", scenario={"replies": {}})
            if scope == "read":
                assert "scope operate" in started
                return
            session = str(started["sessionId"])
            waited = await answer_of(client, "wait", session=session, seconds=30)
            assert waited["session"]["status"] == "waiting_for_decision"
            decided = await answer_of(client, "decide", session=session, decision="skip")
            assert ("scope decide" in decided) == (scope == "operate")

    with ExitStack() as running:
        server = running.enter_context(serving(tmp_path, auth="key")).url if by_server else None
        for scope in ("read", "operate", "decide"):
            asyncio.run(scene(server, scope, key(tmp_path, scope, scope)))


def test_scope_option_gives_no_more_than_the_key_and_a_revoked_key_ends(tmp_path: Path) -> None:
    own = key(tmp_path, "reader", "read")

    async def scene() -> None:
        async with connected(tmp_path, "--scope", "decide", HANSARD_API_KEY=own) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == READING
            refused = await answer_of(client, "start_review", subject="it reads lines")
            assert refused == "The tool start_review needs the scope operate; this agent has read."
            assert "items" in await answer_of(client, "list_sessions")
            await asyncio.to_thread(done, tmp_path, "key", "revoke", "reader")
            assert "not a key of this log" in await answer_of(client, "list_sessions")

    asyncio.run(scene())


def test_an_agent_continues_a_run_forks_it_and_sees_its_turns(tmp_path: Path) -> None:
    plan = {"subtasks": [{"agent": "Backend", "role": "backend", "task": "API", "start_phase": 3, "checkpoint": True}]}

    async def scene() -> None:
        async with within(tmp_path, None, "") as client:
            started = await answer_of(
                client,
                "start_orchestration",
                prompt="Build the API",
                triage="orchestrate",
                employees=[{"name": "Backend", "role": "backend"}],
                scenario={"replies": {"planner": [json.dumps(plan)]}},
            )
            session = str(started["sessionId"])
            waited = await answer_of(client, "wait", session=session, seconds=30)
            assert waited["session"]["status"] == "checkpoint"
            turns = (await answer_of(client, "turns", session=session))["items"]
            assert [turn["role"] for turn in turns[:2]] == ["planner", "backend"]
            assert (await answer_of(client, "continue", session=session))["sessionId"] == session
            waited = await answer_of(client, "wait", session=session, seconds=30)
            assert (waited["rests"], waited["session"]["status"]) == (True, "done")
            fork = await answer_of(client, "fork", session=session, atVersion=5, snap=True)
            assert fork["sessionId"] != session
            assert "cannot be reset" in await answer_of(client, "reset", session=session)

    asyncio.run(scene())


def key(folder: Path, name: str, scope: str) -> str:
    """A new key of this scope."""
    return done(folder, "key", "new", name, "--scope", scope)


def done(folder: Path, *words: str) -> str:
    """The output of a command on the log."""
    env = {"HANSARD_DATABASE": f"sqlite:///{folder}/hansard.db", "HANSARD_DATA_DIR": str(folder / "node")}
    result = command(*words, env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_unreachable_server_is_reported(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(tmp_path, "--server", "http://127.0.0.1:9", "--scope", "read") as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == READING
            assert "does not answer" in await answer_of(client, "inbox")

    asyncio.run(scene())


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_a_schema_and_a_description(tool: Any) -> None:
    schema = schema_of(tool)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    assert tool.description.endswith((".", "`."))
