"""The fence with Landlock: the kernel limits which folders a program reads and writes, and whether it may connect."""

import ctypes
import errno
import marshal
import os
import platform
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from adapters.fence.folders import SYSTEM, inside, programs
from adapters.fence.port import Confined, Gap, Grant, Level

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


SCOPED: Final = marshal.dumps({"scoped": True}).hex()
"""Rules that limit no files, only abstract sockets and signals to processes outside."""
_CREATE_RULESET: Final = 444
_ASK_VERSION: Final = 1
_CONNECTING: Final = 4
"""Since this version, connections can be refused."""
SCOPING: Final = 6
"""Since this version, abstract sockets can be made inaccessible."""
_DEVICES: Final = (Path("/proc"), *(Path("/dev") / name for name in ("full", "random", "urandom", "fd", "pts", "ptmx")))
"""Not all of /dev, because disks are files there."""
_WRITABLE: Final = tuple(Path("/dev") / name for name in ("null", "zero", "tty", "shm"))


@dataclass(frozen=True, slots=True)
class Landlock:
    """Granted folders can be written, those of the system and programs read; the process table is fully visible."""

    grant: Grant

    level: Level = "landlock"

    @property
    def gaps(self) -> tuple[Gap, ...]:
        gaps: list[Gap] = ["metadata"]
        if any(inside(path.absolute(), (*SYSTEM, *_absolute(self.grant.granted))) for path in self.grant.hidden):
            gaps.append("hidden_files")
        if self.grant.network == "none" and self.grant.loopback is None:
            gaps.append("udp" if landlock_version() >= _CONNECTING else "network")
        elif self.grant.network != "all":
            gaps.append("network")  # the kernel can refuse ports, such as those of services, but not hosts
        return (*gaps, "sockets", "shared_memory", "processes", "survivors")

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        readable = (*SYSTEM, *_DEVICES, *programs(argv, env, hides=self.grant.hides), *_absolute(self.grant.readable))
        rules = {
            "read": [str(path) for path in readable],
            "write": [str(path) for path in (*_absolute(self.grant.writable), *_WRITABLE)],
            "connect": self.grant.network != "none" or (self.grant.loopback is not None and not self.grant.ports),
            "ports": self.grant.ports,
            "scoped": landlock_version() >= SCOPING,
            "calls": filter_program().hex(),
        }
        return Confined(tuple(argv), marshal.dumps(rules).hex())

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        return None


def _absolute(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path.absolute() for path in paths)


@cache
def landlock_version() -> int:
    """The version of Landlock that the kernel offers; 0 if none."""
    if not hasattr(os, "uname") or os.uname().sysname != "Linux":
        return 0
    version: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    return max(version, 0)
