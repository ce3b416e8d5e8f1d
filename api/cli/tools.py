"""The tools that `hansard mcp` offers to agents: actions as they are declared, and what agents read."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field, StrictInt, create_model
from pydantic.alias_generators import to_pascal

from api.actions import bodies
from api.actions.catalogue import ACTIONS
from api.actions.declaration import Action, Tool
from api.cli import exits
from api.cli.client import Api, path_of, resolve
from api.cli.options import Fields
from api.node.scopes import Scope

if TYPE_CHECKING:
    from api.cli.answers import Session

LONGEST_PATCH: Final = 200_000
"""Characters of a patch; the rest can be read turn by turn."""
_POLL_SECONDS: Final = 0.5


Answer = dict[str, object]
"""What a tool answers: an answer of the API, or a part of one."""


class NamedSession(bodies.Body):
    session: bodies.Short = Field(description="its id, a unique prefix, or `latest`")


class ListSessions(bodies.Body):
    status: bodies.Short | None = Field(default=None, description="such as running, held, success, checkpoint")
    kind: Literal["delivery", "orchestration", "review", "debate"] | None = None
    limit: Annotated[StrictInt, Field(ge=1, le=200)] = Field(default=20, description="default: 20")


class ShowInbox(bodies.Body):
    limit: Annotated[StrictInt, Field(ge=1, le=200)] = 50


class AtVersion(NamedSession):
    version: Annotated[StrictInt, Field(ge=1)] | None = Field(default=None, description="as of then; default: now")


class ShowChanges(NamedSession):
    turn_id: bodies.Short | None = Field(default=None, description="only what this turn changed")


class WaitArguments(NamedSession):
    seconds: Annotated[StrictInt, Field(ge=0, le=600)] = Field(default=45, description="longest wait")


class ShowComments(AtVersion):
    limit: Annotated[StrictInt, Field(ge=1, le=200)] = Field(default=50, description="default: 50")


class ShowTurns(NamedSession):
    limit: Annotated[StrictInt, Field(ge=1, le=200)] = Field(default=50, description="default: 50")


class AgentTool(NamedTuple):
    """A tool: what it is called and does, what it takes, and what carries it out."""

    name: str
    description: str
    scope: Scope
    takes: type[bodies.Body]
    call: Callable[[Api, Fields], Awaitable[Answer]]


def _of_action(action: Action[Any]) -> tuple[AgentTool, ...]:
    """Returns the tools of an action, as it declares them."""
    return tuple(
        AgentTool(tool.name, tool.description, action.scope, _arguments(action, tool), _sending(action, tool))
        for tool in action.tools
    )


def _arguments(action: Action[Any], tool: Tool) -> type[bodies.Body]:
    """Returns the body of the action, with the session that it is about."""
    body = action.model({"kind": tool.kind})
    if not action.is_of_session:
        return body
    return create_model(f"{to_pascal(tool.name)}Arguments", __base__=(NamedSession, body))


def _sending(action: Action[Any], tool: Tool) -> Callable[[Api, Fields], Awaitable[Answer]]:
    async def send(api: Api, arguments: Fields) -> Answer:
        if tool.kind:
            arguments |= {"kind": tool.kind}
        if not action.is_of_session:
            path = action.path
        else:
            path = f"{path_of(await resolve(api, str(arguments.pop('session'))))}/{action.verb}"
        answer: Answer = await api.post(path, arguments)
        return answer

    return send


def _reading(part: str = "") -> Callable[[Api, Fields], Awaitable[Answer]]:
    async def fetch(api: Api, arguments: Fields) -> Answer:
        session_id = await resolve(api, str(arguments.pop("session")))
        answer: Answer = await api.get(f"{path_of(session_id)}{part}", **arguments)
        return answer

    return fetch


async def _changes(api: Api, arguments: Fields) -> Answer:
    answer = await _reading("/changes")(api, arguments)
    patch = str(answer["patch"])
    if len(patch) > LONGEST_PATCH:
        answer |= {"patch": patch[:LONGEST_PATCH], "patchCut": len(patch)}
    return answer


async def _paged(api: Api, path: str, arguments: Mapping[str, Any]) -> Answer:
    items, more = await api.pages(path, **arguments)
    return {"items": items, "nextCursor": more}


async def _list(api: Api, arguments: Fields) -> Answer:
    return await _paged(api, "/api/sessions", {"limit": 20, **arguments})


async def _inbox(api: Api, arguments: Fields) -> Answer:
    return await _paged(api, "/api/decisions", {"limit": 50, **arguments})


async def _turns(api: Api, arguments: Fields) -> Answer:
    session_id = await resolve(api, str(arguments.pop("session")))
    return await _paged(api, f"{path_of(session_id)}/turns", {"limit": 50, **arguments})


async def _comments(api: Api, arguments: Fields) -> Answer:
    session_id = await resolve(api, str(arguments.pop("session")))
    return await _paged(api, f"{path_of(session_id)}/comments", {"limit": 50, **arguments})


async def _wait(api: Api, arguments: Fields) -> Answer:
    """Until nothing runs: it has ended, or waits for a person. `rests` is false where the time was over first."""
    session_id = await resolve(api, str(arguments["session"]))
    until = time.monotonic() + float(str(arguments.get("seconds", 45)))
    while True:
        answer = await api.session(session_id)
        rests = exits.rests(answer["session"]) or await _waits_below(api, answer["session"])
        if rests or time.monotonic() >= until:
            return {"rests": rests, **answer}
        await asyncio.sleep(min(_POLL_SECONDS, max(0.0, until - time.monotonic())))


async def _waits_below(api: Api, session: "Session") -> bool:
    """True if a person has to decide a discussion first."""
    if session.get("outstandingTurns"):
        return False
    children = [(await api.session(str(child)))["session"] for child in session.get("children") or ()]
    return exits.waits_below(session, children)


TOOLS: Final = (
    *(tool for action in ACTIONS for tool in _of_action(action)),
    AgentTool("list_sessions", "List sessions, newest first.", "read", ListSessions, _list),
    AgentTool(
        "show_session",
        "Show a session: its status, what it waits for, its result, and `availableCommands`.",
        "read",
        AtVersion,
        _reading(),
    ),
    AgentTool("inbox", "List what waits for a person, oldest first.", "read", ShowInbox, _inbox),
    AgentTool("changes", "Show what a session has changed, as a diff.", "read", ShowChanges, _changes),
    AgentTool(
        "comments",
        "List what people have remarked on a session's result, with the lines, the status and the answers.",
        "read",
        ShowComments,
        _comments,
    ),
    AgentTool(
        "turns",
        "List what each agent was asked, in order: status, attempts, usage, changed files, tools.",
        "read",
        ShowTurns,
        _turns,
    ),
    AgentTool("explain", "Explain why a session is in its state.", "read", AtVersion, _reading("/explain")),
    AgentTool(
        "wait",
        "Wait until a session rests (ended, or a person has to go on). `rests` is false where the time was over first.",
        "read",
        WaitArguments,
        _wait,
    ),
)


def schema_of(tool: AgentTool) -> dict[str, Any]:
    """The input of the tool, as JSON Schema; which kind is started says the tool itself."""
    schema = tool.takes.model_json_schema(by_alias=True)
    schema["properties"].pop("kind", None) if tool.name.startswith("start_") else None
    schema["required"] = [name for name in schema.get("required", ()) if name in schema["properties"]]
    return schema
