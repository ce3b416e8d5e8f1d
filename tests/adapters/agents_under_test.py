"""What the tests of agents share: a turn, a program that does as ordered, and the adapters under the contract."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from adapters.agents.acp.agent import AcpAgent
from adapters.agents.acp.settings import AcpSettings
from adapters.agents.codex.agent import CodexAgent
from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.settings import CommandSettings
from adapters.agents.model.agent import ModelAgent
from adapters.agents.model.endpoint import ModelSettings
from adapters.agents.port import Agent, Reply, Turn
from adapters.agents.prompts.conversation import Exchange
from adapters.agents.scripted import DAY_MS, Scenario, Scripted
from domain.values.base import Usage
from tests.adapters.endpoint import Endpoint, Said, chunk, says

TURN = Turn(
    turn_id="t-1",
    session_id="s-1",
    attempt=1,
    agent="Backend",
    role="backend",
    prompt="Write the API.",
    exchanges=lambda: (Exchange("Write the API.", "ok", "t-1"),),
)

PROGRAM = """
import json, os, pathlib, subprocess, sys, time
orders = json.loads(pathlib.Path(sys.argv[1]).read_text())
if "env" in orders:
    print(json.dumps(dict(os.environ)))
if "report" in orders:
    told = {"argv": sys.argv[2:], "stdin": sys.stdin.read(), "cwd": os.getcwd(), "files": sorted(os.listdir())}
    told["home"] = sorted(os.listdir(os.environ["HOME"]))
    if "prompt_file" in orders:
        path = pathlib.Path(sys.argv[2])
        told["prompt"], told["mode"] = path.read_text(), path.stat().st_mode & 0o777
    pathlib.Path(os.environ["HOME"], "remembered").touch()
    print(json.dumps({"type": "result", "text": json.dumps(told), "session": orders["report"]}))
if "child" in orders:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pathlib.Path(orders["child"]).write_text(f"{os.getpid()} {child.pid}\\n")
sys.stdout.buffer.write(pathlib.Path(orders["say"]).read_bytes() if "say" in orders else b"")
sys.stdout.flush()
sys.stderr.write(os.path.expandvars(orders.get("complain", "")))
sys.stderr.flush()
time.sleep(orders.get("hang", 0))
sys.exit(orders.get("exit", 0))
"""


def ask(agent: Agent, turn: Turn = TURN) -> Reply:
    return asyncio.run(agent.ask(turn))


async def used_when_cancelled(agent: Agent, turn: Turn) -> Usage:
    """What the turn's program has reported to have used, asked while it runs; then the turn is cancelled."""
    heard: list[Callable[[], Usage]] = []
    task = asyncio.create_task(agent.ask(replace(turn, meter=heard.append)))
    async with asyncio.timeout(30):
        while not heard or (used := heard[-1]()) == Usage():  # noqa: ASYNC110 - what a program prints rings no bell
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return used


def code(reply: Reply) -> str | None:
    """Of the failure, if it is one."""
    return reply.failure.code if reply.failure else None


class Subject(Protocol):
    """An adapter under the contract: agents that behave in a known way."""

    fault: str
    """What its failure is called."""

    def says(self, text: str) -> Agent: ...
    def fails(self) -> Agent: ...
    def hangs(self) -> Agent: ...
    async def asked(self) -> None: ...
    def left_behind(self) -> list[int]: ...
    def close(self) -> None: ...


class ScriptedSubject:
    fault = "crash"

    def __init__(self, folder: Path) -> None: ...

    def says(self, text: str) -> Agent:
        return Scripted(Scenario.parse({"replies": {"Backend": [text]}}))

    def fails(self) -> Agent:
        return Scripted(Scenario.parse({"replies": {"Backend": [{"error": "crash"}]}}))

    def hangs(self) -> Agent:
        return Scripted(Scenario.parse({"replies": {"Backend": ["late"]}, "delayMs": DAY_MS}))

    async def asked(self) -> None:
        await asyncio.sleep(0)

    def left_behind(self) -> list[int]:
        return []

    def close(self) -> None: ...


class CommandSubject:
    """The program answers in plain text, or in a message of JSON."""

    fault = "crash"

    def __init__(self, folder: Path, *, output: str = "text") -> None:
        self.folder, self.output = folder, output
        self.program = folder / "agent.py"
        self.program.write_text(PROGRAM)
        self.pipe = folder / "pids"
        os.mkfifo(self.pipe)
        self.pids: list[int] = []

    def ordered(self, *argv: str, orders: dict[str, Any], **settings: Any) -> CommandAgent:
        (self.folder / "orders.json").write_text(json.dumps(orders))
        base = (sys.executable, str(self.program), str(self.folder / "orders.json"))
        reading: dict[str, Any] = {"output": "json", "text_path": "text"} if self.output == "json" else {}
        if "resume" in settings:
            settings["resume_argv"] = (*base, *settings.pop("resume"))
        return CommandAgent(CommandSettings(argv=(*base, *argv), **{**reading, **settings}), self.folder / "data")

    def says(self, text: str) -> Agent:
        output = text if self.output == "text" else json.dumps({"text": text})
        (self.folder / "said").write_text(output, encoding="utf-8")
        return self.ordered(orders={"say": str(self.folder / "said")}, resume=())

    def fails(self) -> Agent:
        return self.ordered(orders={"exit": 3})

    def hangs(self) -> Agent:
        return self.ordered(orders={"hang": 600, "child": str(self.pipe)})

    async def asked(self) -> None:
        """Until the program has sent its process ids through the pipe."""
        reader = asyncio.StreamReader()
        pipe = os.fdopen(os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self.pids = [int(pid) for pid in (await asyncio.wait_for(reader.readline(), 30)).split()]
        transport.close()

    def left_behind(self) -> list[int]:
        assert len(self.pids) == 2
        return [pid for pid in self.pids if running(pid)]

    def close(self) -> None: ...

    def homes(self) -> list[Path]:
        folder = self.folder / "data" / "homes"
        return list(folder.iterdir()) if folder.exists() else []


class AcpSubject(CommandSubject):
    """The program speaks ACP."""

    def agent(self, **orders: Any) -> CommandAgent:
        (self.folder / "orders.json").write_text(json.dumps(orders))
        argv = (sys.executable, str(Path(__file__).with_name("acp_program.py")), str(self.folder / "orders.json"))
        return AcpAgent(AcpSettings(argv=argv), self.folder / "data")

    def says(self, text: str) -> CommandAgent:
        return self.agent(steps=[{"say": text}] if text else [])

    def fails(self) -> CommandAgent:
        return self.agent(steps=[{"exit": 3}])

    def hangs(self) -> CommandAgent:
        return self.agent(steps=[{"hang": 600}], child=str(self.pipe))


class CodexSubject(AcpSubject):
    """The program speaks as Codex's app server does."""

    def agent(self, **orders: Any) -> CodexAgent:
        (self.folder / "orders.json").write_text(json.dumps(orders))
        argv = (sys.executable, str(Path(__file__).with_name("codex_program.py")), str(self.folder / "orders.json"))
        settings = CommandSettings(argv=argv, resume_argv=argv, questions="codex")
        return CodexAgent(settings, self.folder / "data")


class ModelSubject:
    """The endpoint streams its answer. The contract asks in any role, a model has only those that speak."""

    fault = "overloaded"

    def __init__(self, folder: Path) -> None:
        self._endpoint = Endpoint().__enter__()

    def _agent(self, said: Said) -> Agent:
        self._endpoint.said = said
        return AsReviewer(ModelAgent(ModelSettings(model="large-1", base_url=self._endpoint.url)))

    def says(self, text: str) -> Agent:
        return self._agent(Said(says(text)))

    def fails(self) -> Agent:
        return self._agent(Said((b"down",), 500))

    def hangs(self) -> Agent:
        return self._agent(Said((chunk({"content": "I"}), b""), hold=True))

    async def asked(self) -> None:
        assert await asyncio.to_thread(self._endpoint.asked.wait, 30)

    def left_behind(self) -> list[int]:
        return []

    def close(self) -> None:
        self._endpoint.__exit__()


class AsReviewer:
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def ask(self, turn: Turn) -> Reply:
        return await self._agent.ask(replace(turn, role="reviewer"))

    async def forget(self, handle: str) -> None:
        await self._agent.forget(handle)


def running(pid: int) -> bool:
    """Whether the process lives; one that is dead and only not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    "scripted": ScriptedSubject,
    "command": CommandSubject,
    "acp": AcpSubject,
    "codex": CodexSubject,
    "model": ModelSubject,
    "command, JSON": lambda folder: CommandSubject(folder, output="json"),
}
