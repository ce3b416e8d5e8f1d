"""The thread in which all proxies of this process work, and the two ways in which a fenced program gets one.

A program with a list of hosts has a network of its own, in which only its loopback exists. Sockets that listen there
are outside, with the proxy: it accepts the program's connections in the program's network and makes its own in the
machine's. So nothing of ours stays inside, and no other socket leads out. Where the network is made first, the sockets
come with it (`Gate`). Where the program shares a network, or bubblewrap makes it, the program's starter
(`adapters/fence/inside.py`) listens there and hands the sockets out (`Door`).
"""

import array
import asyncio
import contextlib
import os
import socket
import struct
import threading
from collections.abc import Sequence
from functools import cache, partial
from typing import Final

from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.loopback import Loopback
from adapters.fence.network.proxy import Proxy
from adapters.fence.network.refusals import Refusals
from adapters.fence.network.requests import MOST_BYTES
from adapters.fence.network.watcher import Watcher

_MOST_SOCKETS: Final = 64
_CLOSING_SECONDS: Final = 5.0


class Gate:
    """The proxy of a program that has a network made for it, which is closed with it."""

    def __init__(self, allowed: Allowed, loopback: Loopback) -> None:
        self._loop = _loop()
        self._serving = Serving(allowed)
        self._loopback = loopback
        self._watcher: Watcher | None = None
        asyncio.run_coroutine_threadsafe(self._begin(allowed.refusals), self._loop)

    def close(self) -> None:
        """Have the proxy and all its connections ended. Waits until what was refused has been noted."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSING_SECONDS)

    async def _begin(self, refusals: Refusals) -> None:
        if self._loopback.watching is not None:
            self._watcher = Watcher(self._loopback.watching, refusals)
        sockets = [each.dup() for _, each in self._loopback.listening]
        await self._serving.serve(sockets, tuple(port for port, _ in self._loopback.listening))

    async def _end(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        await self._serving.end()
        # The kernel waits for all its processors before it lets go of what watches: nobody else has to.
        self._loop.run_in_executor(None, self._loopback.close)


class SharedWatch:
    """Notes what the programs of a shared network try to send past their proxies, until it is closed."""

    def __init__(self, loopback: Loopback, refusals: Refusals) -> None:
        self._loop, self._watcher = _loop(), None if loopback.watching is None else loopback.watching
        self._open: Watcher | None = None
        asyncio.run_coroutine_threadsafe(self._begin(refusals), self._loop)

    def close(self) -> None:
        """Stop, with everything noted."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSING_SECONDS)

    async def _begin(self, refusals: Refusals) -> None:
        if self._watcher is not None:
            self._open = Watcher(self._watcher, refusals)

    async def _end(self) -> None:
        if self._open is not None:
            self._open.close()


class Serving:
    """The proxy of one program, on its sockets. Belongs to the loop of the proxies."""

    def __init__(self, allowed: Allowed) -> None:
        self._proxy = Proxy(allowed)
        self._servers: list[asyncio.Server] = []
        self._closed = False

    async def serve(self, listening: Sequence[socket.socket], ports: Sequence[int]) -> None:
        """Serve what comes on these sockets: on the first, with port 0, requests; on others, a port of the machine."""
        for each, port in zip(listening, ports, strict=True):
            if self._closed:
                each.close()
                continue
            each.setblocking(False)
            work = partial(self._proxy.pass_on, port) if port else self._proxy.accept
            self._servers.append(await asyncio.start_server(work, sock=each, limit=MOST_BYTES, backlog=128))

    async def end(self) -> None:
        """End all of it."""
        self._closed = True
        for server in self._servers:
            server.close()
        await self._proxy.stop()


class Door:
    """The way in which a program's listening sockets come out. `inner` is the end for the program's starter."""

    def __init__(self, allowed: Allowed) -> None:
        self._loop = _loop()
        self._serving = Serving(allowed)
        self._outer, self.inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._outer.setblocking(False)
        self._loop.call_soon_threadsafe(self._loop.add_reader, self._outer, self._take)

    def close(self) -> None:
        """Have the proxy and all its connections ended. The program is gone, so nobody has to wait for that."""
        self.inner.close()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    def _take(self) -> None:
        """The starter hands out its sockets, once: whatever else came would be the program's."""
        room = socket.CMSG_SPACE(_MOST_SOCKETS * array.array("i").itemsize)
        try:
            message, more, _, _ = self._outer.recvmsg(4 * _MOST_SOCKETS, room)
        except BlockingIOError:
            return
        except OSError:
            message, more = b"", []
        self._shut()
        numbers = array.array("i")
        for level, kind, data in more:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
        ports = struct.unpack(f"{len(message) // 4}I", message[: len(message) // 4 * 4])
        listening = [socket.socket(fileno=number) for number in numbers]
        if len(ports) != len(listening):
            for each in listening:
                each.close()
            return
        self._loop.create_task(self._serving.serve(listening, ports))

    def _shut(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._loop.remove_reader(self._outer)
        self._outer.close()

    async def _end(self) -> None:
        self._shut()
        await self._serving.end()


@cache
def _started(_: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="network", daemon=True).start()
    return loop


def _loop() -> asyncio.AbstractEventLoop:
    """The loop of the proxies of this process; a forked one has its own."""
    return _started(os.getpid())
