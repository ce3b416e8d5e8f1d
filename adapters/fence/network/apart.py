"""Make a network apart, in which only its own loopback exists, and hand out what keeps it: `apart.py SOCKET PORTS`.

Runs as a separate script (`python -I -S`) and ends at once: the network lasts as long as somebody holds the open files
that it hands out, of the user namespace and of the network. Nothing of ours has to stay for it. With them come sockets
that listen there: one for the proxy, where `PORTS` is not `-`, and one for each of the ports.

Every address leads to this loopback, where nobody answers. So what tries to leave is refused at once, and can be seen:
the last socket gets the first packet of each such attempt. Programs wait for it, so it loads little.
"""

import _ctypes
import _socket
import array
import fcntl
import posix
import struct
import sys

_OWN_USERS = 0x10000000
_OWN_NETWORK = 0x40000000
_SET_FLAGS = 0x8914
_UP = 0x1 | 0x40
"""An interface that is up and running."""
_LOOPBACK = "127.0.0.1"
WATCHING = 0xFFFFFFFF
"""Stands for the socket that sees what tries to leave, in the list of what the sockets are for."""


def leave() -> None:
    """Leave the machine's network for one of its own, as the same user. Raises OSError."""
    user, group = posix.geteuid(), posix.getegid()
    unshare = _ctypes.dlsym(_ctypes.dlopen("", 0), "unshare")  # `ctypes` itself would take as long as all of this
    if _ctypes.call_function(unshare, (_OWN_USERS | _OWN_NETWORK,)) != 0:
        raise OSError(1, posix.strerror(1))
    for name, words in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib takes longer to import than all of this
            file.write(words)
    fcntl.ioctl(_socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM), _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


def lead_back(family: int) -> None:
    """Have every address of this family lead to the loopback. Raises OSError."""
    add, request, acknowledge, create = 24, 0x1, 0x4, 0x400
    table, by_us, here, local, interface = 255, 3, 254, 2, 4
    route = struct.pack("BBBBBBBBI", family, 0, 0, 0, table, by_us, here, local, 0)
    attribute = struct.pack("HHI", 8, interface, _socket.if_nametoindex("lo"))
    length = 16 + len(route) + len(attribute)
    head = struct.pack("IHHII", length, add, request | acknowledge | create, 1, 0)
    kernel = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, 0)
    kernel.send(head + route + attribute)
    error = struct.unpack("i", kernel.recv(4_096)[16:20])[0]
    if error:
        raise OSError(-error, posix.strerror(-error))


def watching() -> _socket.socket:
    """A socket that sees what is sent to addresses beyond the loopback. Raises OSError."""
    seen = _socket.socket(_socket.AF_PACKET, _socket.SOCK_DGRAM, _socket.htons(0x0003))
    byte, word, both, equal, give = 0x30, 0x20, 0x54, 0x15, 0x06
    program = (
        (byte, 0, 0, 0),  # 0: the version
        (both, 0, 0, 0xF0),
        (equal, 0, 3, 0x40),  # 2: another than 4 goes to 6
        (word, 0, 0, 16),
        (both, 0, 0, 0xFF000000),
        (equal, 6, 5, 0x7F000000),  # 5: what goes to 127.0.0.0/8 is dropped, all else is seen
        (equal, 0, 5, 0x60),  # 6: another than 6 is dropped
        (word, 0, 0, 24),
        (equal, 0, 2, 0),
        (word, 0, 0, 36),
        (equal, 1, 0, 1),  # 10: so is what goes to ::1
        (give, 0, 0, 512),
        (give, 0, 0, 0),
    )
    code = array.array("B", b"".join(struct.pack("HBBI", *each) for each in program))
    seen.setsockopt(_socket.SOL_SOCKET, 26, struct.pack("HP", len(program), code.buffer_info()[0]))
    return seen


def listening(port: int) -> _socket.socket:
    """A socket that listens on the loopback. Raises OSError."""
    there = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    there.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    there.bind((_LOOPBACK, port))
    there.listen(128)
    return there


def hand_out(number: int, ports: list[int]) -> None:
    """Give the open files to who waits at the other end of the socket, with what each socket is for."""
    sockets: list[tuple[int, _socket.socket]] = []
    for port in ports:
        try:
            sockets.append((port, listening(port)))
        except OSError:  # the proxy happens to have it
            continue
    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            lead_back(family)
        except OSError:  # what tries to leave then finds no way, and is not seen
            continue
    try:
        sockets.append((WATCHING, watching()))
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201 - nothing is seen then; the network itself is good
    files = [posix.open(f"/proc/self/ns/{name}", posix.O_RDONLY) for name in ("user", "net")]
    numbers = struct.pack(f"{2 + len(sockets)}i", *files, *(each.fileno() for _, each in sockets))
    words = struct.pack(f"{len(sockets)}I", *(meant for meant, _ in sockets)) or b"\0"
    out = _socket.socket(fileno=number)
    out.sendmsg([words], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])


if __name__ == "__main__":
    try:
        leave()
    except OSError as error:
        sys.exit(error.strerror)
    hand_out(int(sys.argv[1]), [int(port) for port in sys.argv[2].split(",") if port != "-"])
