"""Claude Code's requests for permission, on its input and output."""

import asyncio
from typing import Any, Final

import orjson

from adapters.agents.activity import described
from adapters.agents.command.call import Call
from adapters.agents.desk import PermissionDesk, RequestedTool
from adapters.agents.port import Turn
from adapters.processes.input import Input
from adapters.processes.pauses import Pauses
from domain.session.turns import FenceLevel

Json = dict[str, Any]
DENIED: Final = "Permission was denied by the user or the team's rules. Go on without it, or say what you could not do."


class StdioQuestions:
    """The requests of one run. Its `input` is open until the program has given its result."""

    def __init__(self, turn: Turn, call: Call, fence: FenceLevel) -> None:
        self._call = call
        self._open: dict[str, asyncio.Task[None]] = {}
        self.input, self.pauses = Input(), Pauses()
        self._desk = PermissionDesk(turn, fence, self.pauses.paused)
        self.input.write(call.stdin or b"")

    def line(self, stream: int, text: str) -> None:
        """Handle a line of the program. Lines outside this protocol are left to other readers."""
        if stream != 1 or not text.startswith("{"):
            return
        try:
            message = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        match message:
            case {"type": "control_request", "request_id": str(name), "request": dict(request)}:
                self._begin(name, request)
            case {"type": "control_cancel_request", "request_id": str(name)} if name in self._open:
                self._open[name].cancel()
            case {"type": "result"}:
                self.input.close()

    async def close(self) -> None:
        """The run is over: answers are no longer read."""
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, name: str, request: Json) -> None:
        match request:
            case {"subtype": "can_use_tool", "tool_name": str(tool), "input": dict(arguments)}:
                task = asyncio.create_task(self._answer_request(name, tool, arguments))
                self._open[name] = task
                task.add_done_callback(lambda _: self._open.pop(name, None))
            case _:
                self._say({"subtype": "error", "request_id": name, "error": "Not supported."})

    async def _answer_request(self, name: str, tool: str, arguments: Json) -> None:
        if await self._desk.permitted(self._requested_tool(tool, arguments)):
            answer: Json = {"behavior": "allow", "updatedInput": arguments}
        else:
            answer = {"behavior": "deny", "message": DENIED}
        self._say({"subtype": "success", "request_id": name, "response": answer})

    def _requested_tool(self, name: str, arguments: Json) -> RequestedTool:
        """The title without secrets; neither rules nor people need to see those. Unusual tools are shown with their
        name."""
        tool, title, paths = described(name, arguments)
        named = f"{name}: {title}" if tool == "other" and title != name else title
        return RequestedTool(tool, self._call.scrub(named), tuple(map(self._call.scrub, paths)))

    def _say(self, response: Json) -> None:
        self.input.write(orjson.dumps({"type": "control_response", "response": response}) + b"\n")
