"""A network that several programs share: the services, commands and agents of one workspace have one loopback.

It has no process. Programs join it before their fence is put up (`adapters/processes/launch.py`); it is gone once the
last of them has ended and its files are closed.
"""

import array
import contextlib
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final, Literal

_MAKER: Final = str(Path(__file__).with_name("apart.py"))
_SECONDS: Final = 20.0
Shared = Literal["machine"]
"""Stands for the machine's own loopback, where there is no better one."""


class Loopback:
    """A network apart. `files` are the open files of its user namespace and of the network itself."""

    def __init__(self, users: int, network: int) -> None:
        self.files: Final = (users, network)
        self._open = True

    def close(self) -> None:
        """Let go of the network."""
        if self._open:
            self._open = False
            for number in self.files:
                os.close(number)


def made() -> Loopback:
    """A new network apart. Blocks. Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        argv = [sys.executable, "-I", "-S", _MAKER, str(theirs.fileno())]
        done = subprocess.run(
            argv, env={}, capture_output=True, timeout=_SECONDS, pass_fds=[theirs.fileno()], check=False
        )
        if done.returncode != 0:
            raise OSError(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
        room = socket.CMSG_SPACE(2 * array.array("i").itemsize)
        _, more, _, _ = ours.recvmsg(16, room)
    numbers = array.array("i")
    for level, kind, data in more:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(data)
    users, network = numbers
    for number in numbers:
        os.set_inheritable(number, False)
    return Loopback(users, network)


@cache
def can_be_made() -> bool:
    """True if this account may make such a network on this machine."""
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
        made().close()
        return True
    return False
