"""A network apart, with a loopback of its own: that of one program, or of all programs of a workspace.

It has no process. Programs join it before their fence is put up (`entry.py`, or `adapters/processes/launch.py`); it is
gone once the last of them has ended and its files are closed.
"""

import array
import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from adapters.fence.network.apart import WATCHING

_MAKER: Final = str(Path(__file__).with_name("apart.py"))
_SECONDS: Final = 20.0
MOST_PORTS: Final = 60
"""The ports of the machine that may lead out of one network."""


class Loopback:
    """A network apart. `files` are the open files of its user namespace and of the network itself, `listening` are
    sockets there, each with the port of the machine that it leads to, or 0 for the proxy; `watching` sees what tries to
    leave."""

    def __init__(
        self, files: tuple[int, int], listening: Sequence[tuple[int, socket.socket]], watching: socket.socket | None
    ) -> None:
        self.files: Final = files
        self.listening, self.watching = tuple(listening), watching
        self._open = True

    @property
    def proxy_port(self) -> int | None:
        """The port of the proxy; None where there is none."""
        return next((each.getsockname()[1] for port, each in self.listening if port == 0), None)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing():
            self.close()

    def close(self) -> None:
        """Let go of the network."""
        if self._open:
            self._open = False
            for number in self.files:
                os.close(number)
            for each in (*(each for _, each in self.listening), self.watching):
                if each is not None:
                    each.close()


def made(ports: Sequence[int] = ()) -> Loopback:
    """A new network apart, with sockets for these ports; 0 stands for the proxy. Blocks. Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        named = ",".join(map(str, ports[:MOST_PORTS])) or "-"
        argv = [sys.executable, "-I", "-S", _MAKER, str(theirs.fileno()), named]
        try:
            done = subprocess.run(
                argv, env={}, capture_output=True, timeout=_SECONDS, pass_fds=[theirs.fileno()], check=False
            )
        except subprocess.TimeoutExpired as error:
            raise OSError(str(error)) from None
        if done.returncode != 0:
            raise OSError(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
        ours.setblocking(False)
        return _received(ours)


def _received(ours: socket.socket) -> Loopback:
    numbers = array.array("i")
    message, more, _, _ = ours.recvmsg(8 * MOST_PORTS, socket.CMSG_SPACE((MOST_PORTS + 3) * numbers.itemsize))
    for level, kind, data in more:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(data)
    users, network, *others = numbers
    sockets = [socket.socket(fileno=number) for number in others]
    meant = struct.unpack(f"{len(sockets)}I", message[: 4 * len(sockets)])
    listening = [(port, each) for port, each in zip(meant, sockets, strict=True) if port != WATCHING]
    watching = next((each for port, each in zip(meant, sockets, strict=True) if port == WATCHING), None)
    return Loopback((users, network), listening, watching)


@cache
def can_be_made() -> bool:
    """True if this account may make such a network on this machine."""
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError, ValueError):
        made().close()
        return True
    return False


class Spares:
    """Networks that are ready before a program needs one: for the same ports as the last ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: dict[tuple[int, ...], Loopback] = {}

    def taken(self, ports: tuple[int, ...]) -> Loopback:
        """A network with sockets for these ports. The next one like it is made meanwhile. Raises OSError."""
        with self._lock:
            ready = self._ready.pop(ports, None)
        threading.Thread(target=self._make, args=(ports,), name="spare network", daemon=True).start()
        return ready or made(ports)

    def _make(self, ports: tuple[int, ...]) -> None:
        with contextlib.suppress(OSError, ValueError):
            spare = made(ports)
            with self._lock:
                if ports in self._ready or len(self._ready) >= _MOST_SPARES:
                    before, self._ready = list(self._ready.values()), {}
                else:
                    before = []
                self._ready[ports] = spare
            for each in before:
                each.close()


_MOST_SPARES: Final = 4
SPARES: Final = Spares()
