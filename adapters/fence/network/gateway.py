"""The thread in which all proxies of this process work, and the door through which a fenced program gets one.

A program with a list of hosts has a network of its own, in which only its loopback exists. What starts it there
(`adapters/fence/inside.py`) listens on that loopback and hands the listening sockets out through the door: the proxy
accepts the program's connections in the program's network and makes its own in the machine's. So nothing of ours stays
inside, and no other socket leads out.
"""

import array
import asyncio
import contextlib
import os
import socket
import struct
import threading
from functools import cache, partial
from typing import Final

from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.proxy import Proxy
from adapters.fence.network.requests import MOST_BYTES

_MOST_SOCKETS: Final = 64


class Door:
    """The way in which a program's listening sockets come out. `inner` is the end for the program's starter."""

    def __init__(self, allowed: Allowed) -> None:
        self._loop = _loop()
        self._proxy = Proxy(allowed)
        self._servers: list[asyncio.Server] = []
        self._closed = False
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
        self._loop.create_task(self._serve(listening, ports))

    async def _serve(self, listening: list[socket.socket], ports: tuple[int, ...]) -> None:
        """Serve what comes on these sockets: on the first, with port 0, requests; on others, a port of the machine."""
        for each, port in zip(listening, ports, strict=True):
            if self._closed:
                each.close()
                continue
            each.setblocking(False)
            work = partial(self._proxy.pass_on, port) if port else self._proxy.accept
            self._servers.append(await asyncio.start_server(work, sock=each, limit=MOST_BYTES, backlog=128))

    def _shut(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._loop.remove_reader(self._outer)
        self._outer.close()

    async def _end(self) -> None:
        self._closed = True
        self._shut()
        for server in self._servers:
            server.close()
        await self._proxy.stop()


@cache
def _started(_: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="network", daemon=True).start()
    return loop


def _loop() -> asyncio.AbstractEventLoop:
    """The loop of the proxies of this process; a forked one has its own."""
    return _started(os.getpid())
