"""Many lightweight clients of event streams: they store raw bytes and parse them later."""

import asyncio
import json
import re
import socket
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Self, cast

from adapters.clock import Clock
from adapters.store.location import open_store
from adapters.writer.writer import CommandAnswer, CommandEnvelope, Writer
from domain.delivery.commands import ExtendBudget, StartDelivery
from domain.session.validation import ValidationStep
from domain.values.base import Text
from domain.values.budget import BudgetLimits
from tests.api.server import PATIENCE

SCENARIO = {"replies": {"planner": [{"text": "late", "delayMs": 86_400_000}]}}
"""A team that does not answer for a day: the session stays at version 3."""
LONG = "가" * 1_900
AT_ONCE = 500
"""Commands that wait for the writer together."""


class Listener(asyncio.Protocol):
    """One connection to an event stream. Without reading, everything stays in the kernel's buffers."""

    def __init__(self, request: bytes, *, reads: bool) -> None:
        self._request, self._reads = request, reads
        self.count = self._wanted = 0
        self._enough = asyncio.Event()
        self.data = bytearray()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, port: int, path: str, *, reads: bool = True, version: str = "1.1", last: int = -1) -> Self:
        line = socket.socket()
        line.setblocking(False)
        if not reads:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(line, ("127.0.0.1", port))
        resume = f"Last-Event-ID: {last}\r\n" if last >= 0 else ""
        head = f"GET {path} HTTP/{version}\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n{resume}\r\n"
        _, listener = await loop.create_connection(lambda: cls(head.encode(), reads=reads), sock=line)
        return listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)
        if not self._reads:
            self._transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        fresh = max(0, len(self.data) - 4)
        self.data += data
        self.count += self.data.count(b"\nid: ", fresh)
        if self.count >= self._wanted:
            self._enough.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.over.set_result(None)

    def close(self) -> None:
        self._transport.abort()

    async def has(self, count: int) -> None:
        """Read until this many events have arrived."""
        self._wanted = count
        if self.count < count:
            self._enough.clear()
            async with asyncio.timeout(PATIENCE):
                await self._enough.wait()

    async def ended(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.over

    def text(self) -> str:
        """The body; fails on an incomplete chunk, or if an ended stream lacks the last one."""
        head, _, rest = bytes(self.data).partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" not in head.lower():
            return rest.decode()
        results = []
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            results.append(rest[: int(size, 16)])
            assert rest[int(size, 16) :].startswith(b"\r\n"), "a chunk ends where it says"
            rest = rest[int(size, 16) + 2 :]
        assert (results[-1] == b"") == self.over.done(), "the last chunk is empty"
        return b"".join(results).decode()

    def ids(self) -> list[int]:
        return [int(match) for match in re.findall(r"^id: (\d+)$", self.text(), re.MULTILINE)]


def path(session_id: str, query: str = "") -> str:
    return f"/api/sessions/{session_id}/events{query}"


def filled(folder: Path, count: int, *, reason: str = LONG, clock: Callable[[], int] | None = None) -> str:
    """Create a log with one silent session and this many more events; return the session's id."""
    store = open_store(f"sqlite:///{folder / 'hansard.db'}")
    writer = Writer(store, clock or Clock())
    scenario, _ = Text.of(json.dumps(SCENARIO))
    step = ValidationStep(stage="custom", command="true", argv=("true",))
    begin = StartDelivery(task="t", file_paths=("a",), steps=(step,), limits=BudgetLimits(), scenario=scenario)
    writer.do_now(CommandEnvelope("delivery-long", begin, actor="test", command_id="begin", starts=True))
    writer.start()
    more = ExtendBudget(add_minutes=1, reason=reason)
    for first in range(0, count, AT_ONCE):
        answers: list[Future[CommandAnswer]] = [
            writer.submit(CommandEnvelope("delivery-long", more, actor="test", command_id=f"more-{number}"))
            for number in range(first, min(count, first + AT_ONCE))
        ]
        assert all(answer.result().status for answer in answers)
    writer.stop()
    store.close()
    return "delivery-long"
