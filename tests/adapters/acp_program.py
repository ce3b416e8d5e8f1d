"""An agent that speaks ACP, for tests: `acp_program.py ORDERS` takes the steps of each prompt from a file of JSON.

It speaks plain JSON-RPC: the library of the protocol takes a second to import, and every test starts a program.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
ORDERS: Json = json.loads(Path(sys.argv[1]).read_text())
if "child" in ORDERS:  # before anything that takes time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(ORDERS["child"]).write_text(f"{os.getpid()} {child.pid}\n")

SEEN = Path(sys.argv[1]).with_name("seen.jsonl")
"""What the client asked and answered, a line each."""
KEPT = Path(os.environ["HOME"], "sessions.json")


class RequestError(Exception):
    """What a request is answered with instead of a result."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.answer = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.code = code


class Connection:
    """JSON-RPC on standard input and output, a message a line."""

    def __init__(self, handle: Callable[[str, Any], Awaitable[Json | None]]) -> None:
        self._handle = handle
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def main_loop(self) -> None:
        reader = asyncio.StreamReader(limit=1 << 26)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            message = json.loads(line)
            if "method" not in message:
                self._answered(message)
                continue
            task = asyncio.create_task(self._asked(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def send_request(self, method: str, params: Json) -> Any:
        number = len(self._waiting)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        send(id=number, method=method, params=params)
        return await self._waiting[number]

    def _answered(self, message: Json) -> None:
        waiting = self._waiting[message["id"]]
        if error := message.get("error"):
            waiting.set_exception(RequestError(error["code"], error["message"], error.get("data")))
        else:
            waiting.set_result(message.get("result"))

    async def _asked(self, message: Json) -> None:
        try:
            answer: Json = {"result": await self._handle(message["method"], message.get("params"))}
        except RequestError as error:
            answer = {"error": error.answer}
        if "id" in message:
            send(id=message["id"], **answer)


def send(**message: Any) -> None:
    put(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


class Program:
    connection: Connection

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    def note(self, what: str, value: Any) -> None:
        with SEEN.open("a") as file:
            file.write(json.dumps({what: value}) + "\n")

    async def handle(self, method: str, params: Any) -> Json | None:
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
                return self.resume(method, params["sessionId"])
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

    def resume(self, method: str, session: str) -> Json:
        if session not in kept():
            raise RequestError(-32002, "Resource not found", {"uri": session})
        if method == "session/load":
            self.tell(session, {"sessionUpdate": "agent_message_chunk", "content": text("from the past")})
        return {}

    def tell(self, session: str, update: Json) -> None:
        send(method="session/update", params={"sessionId": session, "update": update})

    async def prompt(self, session: str) -> Json:
        answer: Json = {"stopReason": "end_turn"}
        for step in ORDERS.get("steps", [{"say": "ok"}]):
            [(what, value)] = step.items()
            match what:
                case "say":
                    self.tell(session, {"sessionUpdate": "agent_message_chunk", "content": text(value)})
                case "update":
                    self.tell(session, value)
                case "aside":
                    self.tell("ses-other", {"sessionUpdate": "agent_message_chunk", "content": text(value)})
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
    """Write all of it; waits where the pipe is full."""
    while data:
        data = data[os.write(1, data) :]


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
    program = Program()
    program.connection = Connection(program.handle)
    await program.connection.main_loop()


asyncio.run(main())
