"""Make a network apart, in which only its own loopback exists, and hand out what keeps it: `apart.py SOCKET`.

Runs as a separate script (`python -I -S`) and ends at once: the network lasts as long as somebody holds the two open
files that it hands out, that of the user namespace and that of the network. Nothing of ours has to stay for it.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

_OWN_USERS = 0x10000000
_OWN_NETWORK = 0x40000000
_SET_FLAGS = 0x8914
_UP = 0x1 | 0x40
"""An interface that is up and running."""


def leave() -> None:
    """Leave the machine's network for one of its own, as the same user. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(_OWN_USERS | _OWN_NETWORK) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, words in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(words)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


def hand_out(number: int) -> None:
    """Give the open files of both namespaces to who waits at the other end of the socket."""
    files = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("user", "net")]
    socket.send_fds(socket.socket(fileno=number), [b"here"], files)


if __name__ == "__main__":
    try:
        leave()
    except OSError as error:
        sys.exit(error.strerror)
    hand_out(int(sys.argv[1]))
