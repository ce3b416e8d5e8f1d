"""An agent that speaks ACP, for tests: `acp_program.py ORDERS` takes the steps of each prompt from a file of JSON."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ORDERS: Json = json.loads(Path(sys.argv[1]).read_text())
if "child" in ORDERS:  # before anything that takes time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(ORDERS["child"]).write_text(f"{os.getpid()} {child.pid}\n")

from acp import RequestError, stdio_streams  # noqa: E402
from acp.connection import Connection  # noqa: E402

SEEN = Path(sys.argv[1]).with_name("seen.jsonl")
"""What the client asked and answered, a line each."""
KEPT = Path(os.environ["HOME"], "sessions.json")


class Program:
    connection: Connection

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    def note(self, what: str, value: Any) -> None:
        with SEEN.open("a") as file:
            file.write(json.dumps({what: value}) + "\n")

    async def handle(self, method: str, params: Any, is_notification: bool) -> Json | None:
        self.note(method, params)
        if error := ORDERS.get("errors", {}).get(method):
            raise RequestError(*error)
        match method:
            case "initialize":
                await asyncio.sleep(ORDERS.get("slow", 0))
                abilities = ORDERS.get("abilities", {"sessionCapabilities": {"resume": {}}})
                return {"protocolVersion": ORDERS.get("version", 1), "agentCapabilities": abilities}
            case "session/new":
                return {"sessionId": self.keep(), **ORDERS.get("session", {})}
            case "session/load" | "session/resume":
                return await self.resume(method, params["sessionId"])
            case "session/prompt":
                return await self.prompt(params["sessionId"])
            case "session/cancel":
                self.cancelled.set()
                return None
        return {}

    def keep(self) -> str:
        name = "ses-1"
        KEPT.write_text(json.dumps([name]))
        return name

    async def resume(self, method: str, session: str) -> Json:
        if session not in kept():
            raise RequestError.resource_not_found(session)
        if method == "session/load":
            await self.tell(session, {"sessionUpdate": "agent_message_chunk", "content": text("from the past")})
        return {}

    async def tell(self, session: str, update: Json) -> None:
        await self.connection.send_notification("session/update", {"sessionId": session, "update": update})

    async def prompt(self, session: str) -> Json:
        answer: Json = {"stopReason": "end_turn"}
        for step in ORDERS.get("steps", [{"say": "ok"}]):
            [(what, value)] = step.items()
            match what:
                case "say":
                    await self.tell(session, {"sessionUpdate": "agent_message_chunk", "content": text(value)})
                case "update":
                    await self.tell(session, value)
                case "aside":
                    await self.tell("ses-other", {"sessionUpdate": "agent_message_chunk", "content": text(value)})
                case "ask":
                    await self.ask(session, value)
                case "call":
                    await self.call(*value)
                case "hang":
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.cancelled.wait(), value)
                        return {"stopReason": "cancelled"}
                case "answer":
                    answer |= value
                case _:
                    act(what, value)
        return answer

    async def ask(self, session: str, call: Json) -> None:
        kinds = call.pop("kinds", ["allow_always", "allow_once", "reject_once"])
        options = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in kinds]
        wanted = {"sessionId": session, "toolCall": call, "options": options}
        self.note("outcome", (await self.connection.send_request("session/request_permission", wanted))["outcome"])

    async def call(self, method: str, params: Json) -> None:
        try:
            self.note("called", await self.connection.send_request(method, params))
        except RequestError as error:
            self.note("called", error.code)


def kept() -> list[str]:
    """The sessions that its home remembers."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def put(data: bytes) -> None:
    """Past the connection, which does not wait where a pipe is full."""
    os.set_blocking(1, True)
    while data:
        data = data[os.write(1, data) :]
    os.set_blocking(1, False)


def act(what: str, value: Any) -> None:
    match what:
        case "raw":
            put(value.encode())
        case "flood":
            put(b"x" * value)
        case "complain":
            sys.stderr.write(f"{value}\n")
            sys.stderr.flush()
        case "write":
            Path(value[0]).write_text(value[1])
        case "exit":
            os._exit(value)


async def main() -> None:
    reader, writer = await stdio_streams()
    program = Program()
    program.connection = Connection(program.handle, writer, reader, listening=False)
    await program.connection.main_loop()


asyncio.run(main())
