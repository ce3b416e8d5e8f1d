"""The server of `hansard mcp`: the tools, over the Model Context Protocol on standard input and output."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast, get_args

from anyio import AsyncFile
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import ValidationError

from adapters.store.location import open_store
from api.cli import exits
from api.cli.client import Api, connected
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.mcp_lines import MessageLines, private_input
from api.cli.options import AgentScope, Where
from api.cli.tools import TOOLS, AgentTool, Answer, schema_of
from api.node.access import Keys, key_of

_ORDER: Final = get_args(AgentScope)
_PROBES: Final[tuple[tuple[AgentScope, str], ...]] = (
    ("decide", "/api/sessions/none/decision"),
    ("operate", "/api/sessions"),
)
"""Requests that do nothing, and are refused with 403 where the key lacks the scope."""
_INSTRUCTIONS: Final = (
    "Hansard runs teams of coding agents and keeps the record. Start a session, `wait` until it rests, then look at"
    " `show_session` and `changes`. Decisions are a person's, unless this agent was given the scope `decide`."
)


async def served(scope: AgentScope | None, where: Where, team: Path | None) -> int:
    """Serves another agent until it leaves. Returns the exit code."""
    own = _own_key(where)
    async with connected(where, "work", team=team, actor=own and f"person:{own[0]}") as api:
        held: AgentScope = own[1] if own else "decide" if os.environ.get("HANSARD_API_KEY") or scope else "operate"
        most = min(scope or held, held, key=_ORDER.index)
        server = ToolServer(api, most, (lambda: _own_key(where)) if own else lambda: None).server()
        with private_input() as source:
            lines = MessageLines(source)
            async with stdio_server(stdin=cast("AsyncFile[str]", lines)) as (reading, writing):
                lines.begin(writing)
                await server.run(reading, writing, server.create_initialization_options())
    return exits.OK


def _own_key(where: Where) -> tuple[str, AgentScope] | None:
    """Name and scope of HANSARD_API_KEY where there is no server to check it. Raises Failed for an unknown key."""
    key = os.environ.get("HANSARD_API_KEY", "").strip()
    if not key or where.address() is not None:
        return None
    with closing(open_store(where.settings().database)) as store:
        keys = Keys(map(key_of, store.vault.all_keys() if store.vault else ()))
        name = keys.name_of(key)
        match = keys.named(name) if name else None
    if match is None or match.scope == "turns":
        raise Failed(sentence("HANSARD_API_KEY is not a key of this log that may read it."), code=exits.NOT_ALLOWED)
    return match.name, next((each for each in _ORDER if each == match.scope), "decide")


class ToolServer:
    """The tools up to a scope, as the server of the protocol. A server's key may allow less."""

    def __init__(self, api: Api, most: AgentScope, check: Callable[[], object]) -> None:
        """`check` raises Failed once the agent's key is no longer valid."""
        self._api, self._most, self._check = api, most, check
        self._scope: AgentScope | None = None

    def server(self) -> Server[Any]:

        return Server(
            "hansard",
            version=version("hansard"),
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._called,
        )

    async def _list_tools(self, _: Any, __: Any) -> Any:

        scope = await self._allowed()
        tools = (tool for tool in TOOLS if _includes(scope, tool))
        return ListToolsResult(
            tools=[Tool(name=each.name, description=each.description, input_schema=schema_of(each)) for each in tools]
        )

    async def _called(self, _: Any, params: Any) -> Any:

        try:
            answer = await self.answer(params.name, params.arguments or {})
        except Failed as error:
            return CallToolResult(content=[TextContent(text=_words(error))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer)

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """The answer of the tool. Raises Failed, in words for an agent."""
        tool = next((each for each in TOOLS if each.name == name), None)
        if tool is None:
            raise Failed(f"There is no tool {name!r}. There are: {', '.join(each.name for each in TOOLS)}.")
        self._check()
        if not _includes(self._most, tool):
            raise Failed(f"The tool {name} needs the scope {tool.scope}; this agent has {self._most}.")
        try:
            tool.takes.model_validate(
                {"kind": name.removeprefix("start_"), **arguments} if _starts(tool) else dict(arguments)
            )
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            raise Failed(*(f"{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in problems[:5])) from None
        return await tool.call(self._api, dict(arguments))

    async def _allowed(self) -> AgentScope:
        """The scopes of the key; where the server cannot be asked now, what this agent may do at most."""
        if self._scope is None:
            for scope, path in _PROBES:
                if _ORDER.index(scope) > _ORDER.index(self._most):
                    continue
                try:
                    await self._api.post(path, {})
                except Failed as error:
                    if error.code == exits.FAILURE:
                        return self._most
                    if error.code == exits.NOT_ALLOWED:
                        continue
                self._scope = scope
                break
            else:
                self._scope = "read"
        return self._scope


def _starts(tool: AgentTool) -> bool:
    return tool.name.startswith("start_")


def _includes(scope: AgentScope, tool: AgentTool) -> bool:
    return tool.scope in _ORDER[: _ORDER.index(scope) + 1]


def _words(error: Failed) -> str:
    """By the names of fields, which agents fill in, and not of options, which people type."""
    if error.problem is not None:
        return str(error.problem.get("detail"))
    return "\n".join(error.sentences)
