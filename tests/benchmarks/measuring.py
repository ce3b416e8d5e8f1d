"""How speed is measured: everything against a floor of the same machine in the same minute."""

import asyncio
import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

from uvicorn.loops.auto import auto_loop_factory

from tests.api.server import ROOT, free_port, until

Tell = Callable[[str], None]
"""The fixture `tell`: a sentence with what was measured."""

BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def answer(request):
    await request.body()
    return Response(b'{"sessionId": "delivery-0123456789", "version": 4}', media_type="application/json")

app = Starlette(routes=[Route("/api/sessions/{id}/budget", answer, methods=["POST"])])
http, loop = {"h11": ("h11", "asyncio"), "uvloop": ("httptools", "uvloop")}[sys.argv[2]]
uvicorn.run(
    app, port=int(sys.argv[1]), http=http, loop=loop, access_log=False, log_level="warning", ws="none",
    server_header=False,
)
"""


def commits_a_second(folder: Path, *, rows: int = 1_500, size: int = 700) -> float:
    """What the disk gives: one row a transaction, WAL, `synchronous=FULL`, by the bare sqlite3 module."""
    with contextlib.closing(sqlite3.connect(folder / "floor.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE events (position INTEGER PRIMARY KEY AUTOINCREMENT, state BLOB NOT NULL)")
        state = b"x" * size
        began = time.perf_counter()
        for _ in range(rows):
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("INSERT INTO events (state) VALUES (?)", (state,))
            raw.execute("COMMIT")
        return rows / (time.perf_counter() - began)


async def together(callers: int, total: int, call: Callable[[int, int], Awaitable[object]]) -> float:
    """Calls a second, of so many callers at once; each gets its number and the number of its call."""

    async def caller(number: int) -> None:
        for turn in range(total // callers):
            await call(number, turn)

    began = time.perf_counter()
    await asyncio.gather(*(caller(number) for number in range(callers)))
    return (total // callers) * callers / (time.perf_counter() - began)


class Line:
    """A kept-alive connection, as thin as it can be: the client is not what is measured."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Line":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        return int(answer[9:12]), await self._reader.readexactly(length)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


class Posts(NamedTuple):
    """What so many connections got: answers a second, and the milliseconds that half and all but 1 % took."""

    rate: float
    median: float
    slow: float


class _Poster(asyncio.Protocol):
    """A kept-alive connection that sends the same request again as soon as it is answered."""

    def __init__(self, path: str, body: bytes, count: int, spent: list[float]) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self._request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        self._left, self._spent, self._answer = count, spent, b""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def _send(self) -> None:
        self._began = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, result, body = self._answer.partition(b"\r\n\r\n")
        if not result or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]):
            return
        self._spent.append(time.perf_counter() - self._began)
        if not self._answer.startswith(b"HTTP/1.1 200 "):
            return self.over.set_exception(AssertionError(self._answer))
        self._answer, self._left = b"", self._left - 1
        if self._left:
            self._send()
        else:
            self._transport.close()
            self.over.set_result(None)


def posts(port: int, paths: Sequence[str], body: bytes, *, total: int) -> Posts:
    """Over one connection for each path, all at once; every answer has to be 200."""
    spent: list[float] = []

    async def all_of_them() -> None:
        loop, each = asyncio.get_running_loop(), total // len(paths)
        made = [
            await loop.create_connection(lambda path=path: _Poster(path, body, each, spent), "127.0.0.1", port)  # type: ignore[misc]
            for path in paths
        ]
        await asyncio.gather(*(poster.over for _, poster in made))

    began = time.perf_counter()
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(all_of_them())
    rate, spent = len(spent) / (time.perf_counter() - began), sorted(spent)
    return Posts(rate, spent[len(spent) // 2] * 1_000, spent[len(spent) * 99 // 100] * 1_000)


class Place(NamedTuple):
    """Where a server listens, and its process."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """What it has had of a core so far (Linux): other work on the machine says nothing about it."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def bare_handler(kind: Literal["h11", "uvloop"]) -> Iterator[Place]:
    """The same framework with an empty handler, on plain Python or on our server."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", BARE, str(port), kind], cwd=ROOT)
    try:
        until(lambda: _listens(port), what="the bare handler")
        yield Place(port, process.pid)
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def resident_bytes(pid: int) -> int:
    """Memory of a process (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4_096
