"""A filter of system calls, as a classic BPF program, for what mounts and namespaces do not cover.

Keyrings belong to the account, and kernel queues (`io_uring`) open sockets unnoticed: both are refused as if the kernel
did not have them. So are all kinds of sockets that a network namespace does not cover, such as the one to the host of a
virtual machine (`AF_VSOCK`).
"""

import errno
import platform
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000
_FAMILIES: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, getattr(socket, "AF_NETLINK", 16))
"""What a network namespace covers, or a Landlock fence scopes."""


@dataclass(frozen=True, slots=True)
class _Architecture:
    """The id of the architecture, the numbers of the calls that do not exist inside, and of `socket`. `past`: numbers
    from here on belong to an unused interface."""

    mark: int
    absent: tuple[int, ...]
    socket: int
    past: int | None = None


_IO_URING: Final = (425, 426, 427)
_SOCKETCALL: Final = 102
"""All calls on sockets whose arguments a filter cannot see."""
_KNOWN: Final[Mapping[str, tuple[_Architecture, ...]]] = {
    "x86_64": (
        _Architecture(0xC000003E, (248, 249, 250, *_IO_URING), 41, past=0x40000000),
        _Architecture(0x40000003, (286, 287, 288, _SOCKETCALL, *_IO_URING), 359),
    ),
    "aarch64": (
        _Architecture(0xC00000B7, (217, 218, 219, *_IO_URING), 198),
        _Architecture(0x40000028, (309, 310, 311, _SOCKETCALL, *_IO_URING), 281),
    ),
}


def filter_program(machine: str = platform.machine()) -> bytes:
    """The filter; empty for architectures whose calls are not known here."""
    architectures = _KNOWN.get(machine, ())
    program = b"".join(instruction for architecture in architectures for instruction in _of(architecture))
    return program + _RULE_ALLOW if program else b""


def _instruction(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)


_RULE_ALLOW: Final = _instruction(_RETURN, _ALLOW)
_RULE_ABSENT: Final = _instruction(_RETURN, _REFUSE | errno.ENOSYS)


def _of(architecture: _Architecture) -> list[bytes]:
    """The rules of one architecture; calls of other ones skip them."""
    rules = list(_rules(architecture))
    return [_instruction(_LOAD, _ARCHITECTURE), _instruction(_EQUAL, architecture.mark, 0, len(rules)), *rules]


def _rules(architecture: _Architecture) -> Iterator[bytes]:
    yield _instruction(_LOAD, _NUMBER)
    if architecture.past is not None:
        yield _instruction(_AT_LEAST, architecture.past, 0, 1)
        yield _RULE_ABSENT
    for number in architecture.absent:
        yield _instruction(_EQUAL, number, 0, 1)
        yield _RULE_ABSENT
    yield _instruction(_EQUAL, architecture.socket, 0, len(_FAMILIES) + 2)
    yield _instruction(_LOAD, _FIRST_ARGUMENT)
    for place, family in enumerate(_FAMILIES):
        yield _instruction(_EQUAL, family, len(_FAMILIES) - place, 0)
    yield _instruction(_RETURN, _REFUSE | errno.EAFNOSUPPORT)
    yield _RULE_ALLOW
