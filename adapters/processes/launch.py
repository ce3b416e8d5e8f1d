"""Apply limits and fence, then become the program:
`launch.py REPORT LIMITS VARIABLES FENCE NETWORK PROGRAM [ARGUMENT …]`.

Runs as a separate script (`python -I -S`), so that it starts fast and imports nothing from its own folder. `REPORT` is
a pipe that closes when the program begins, and otherwise says why it did not: an error number, or a text. `FENCE` are
the Landlock rules, or empty (`adapters/fence/landlock.py` writes them). Every import here slows down every command:
`json`, and `signal` with its enumerations, would double the time. `VARIABLES` is the number of an open file with the
program's environment: this script begins outside the fence and without any variable that is meant for the inside.
`NETWORK` are the numbers of the open files of a network that the program joins, or empty.
"""

import _signal  # type: ignore[import-not-found]
import marshal
import os
import resource
import sys

_UNTIL_KILLED = 5
"""Seconds of CPU time between the signal that can be caught and the one that cannot."""


def become(report: int, limits: str, fence: str, network: str, argv: list[str], env: dict[bytes, bytes]) -> None:
    """Never returns: the program starts, or the reason is reported."""
    os.set_inheritable(report, False)
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these signals, and ignored signals stay ignored
        _signal.signal(number, _signal.SIG_DFL)
    try:
        if network:
            join(*(int(number) for number in network.split(",")))
        for name, value in (limit.split("=") for limit in limits.split(",") if limit):
            _hold(name, int(value))
        if fence:
            restrict(fence)
        os.execvpe(argv[0], argv, env)  # noqa: S606 - an argument list is what is wanted, not a shell
    except OSError as error:
        os.write(report, str(error.errno).encode())
    except ValueError as error:
        os.write(report, str(error).encode(errors="replace"))
    os._exit(127)


def _hold(name: str, value: int) -> None:
    """Lower the limit, never raise it. Raises OSError or ValueError if the system does not allow it."""
    kind = getattr(resource, name)
    soft, hard = resource.getrlimit(kind)
    last = value + _UNTIL_KILLED if name == "RLIMIT_CPU" else value
    resource.setrlimit(kind, (_least(value, soft), _least(last, hard)))


def _least(value: int, before: int) -> int:
    return value if before == resource.RLIM_INFINITY else min(value, before)


def join(users: int, network: int) -> None:
    """Enter the network that these open files are, first its users, who may do that. Raises OSError."""
    import _ctypes

    setns = _ctypes.dlsym(_ctypes.dlopen("", 0), "setns")  # `ctypes` itself would take as long as all of this
    for number, kind in ((users, 0x10000000), (network, 0x40000000)):
        if _ctypes.call_function(setns, (number, kind)) != 0:
            raise OSError(1, os.strerror(1))
        os.close(number)


class _Kernel:
    """The system calls of a fence, for which Python has no functions. Without a fence, `ctypes` is not loaded."""

    def __init__(self) -> None:
        import ctypes
        import struct

        self.pack = struct.pack
        self._ctypes = ctypes
        self._libc = ctypes.CDLL(None, use_errno=True)

    def call(self, number: int, *arguments: object) -> int:
        """Raises OSError."""
        result: int = self._libc.syscall(number, *arguments)
        if result < 0:
            raise OSError(self._ctypes.get_errno(), os.strerror(self._ctypes.get_errno()))
        return result

    def control(self, *arguments: object) -> int:
        """Calls `prctl` and returns its result, which is negative for an error."""
        result: int = self._libc.prctl(*arguments, *([0] * (5 - len(arguments))))
        return result

    def drop_capabilities(self) -> None:
        """Permanently drops root's privileges except for owning its files. Raises OSError."""
        for capability in range(64):
            self.control(24, capability)  # out of the bounding set; it is no error if there is no such capability
        head = self.pack("=Ii", 0x20080522, 0)  # version 3, this process
        if self._libc.capset(head, bytes(24)) < 0:
            raise OSError(self._ctypes.get_errno(), os.strerror(self._ctypes.get_errno()))

    def filter_calls(self, program: bytes) -> None:
        """Refuses system calls with a seccomp filter. Raises OSError."""
        held = self._ctypes.create_string_buffer(program, len(program))
        described = self.pack("@HP", len(program) // 8, self._ctypes.addressof(held))
        if self.control(22, 2, self._ctypes.create_string_buffer(described, len(described))) < 0:
            raise OSError(self._ctypes.get_errno(), os.strerror(self._ctypes.get_errno()))


def restrict(rules: str) -> None:
    """Restrict this thread, and everything that it starts, by Landlock. Raises OSError."""
    kernel = _Kernel()
    wanted = marshal.loads(bytes.fromhex(rules))  # noqa: S302 - we wrote it ourselves
    version = kernel.call(444, None, 0, 1)
    every, file_only = _rights(version)
    files = every if "read" in wanted else 0
    # The machine's own services can still be bound: only outgoing connections are limited.
    network = 2 if version >= 4 and not wanted.get("connect", True) else 0
    scoped = 3 if version >= 6 and wanted.get("scoped") else 0
    attributes = kernel.pack("QQQ", files, network, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = kernel.call(444, attributes, len(attributes), 0)
    reading = 0b1101  # execute, read file, read folder
    writing = every & ~(1 << 6 | 1 << 11)  # but never a new device: it could be the disk
    for rights, paths in ((reading, wanted.get("read", ())), (writing, wanted.get("write", ()))):
        for path in paths:
            if not os.path.exists(path):  # noqa: PTH110 - pathlib takes longer to import than all of this
                continue
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = rights if os.path.isdir(path) else rights & file_only  # noqa: PTH112
            kernel.call(445, ruleset, 1, kernel.pack("=Qi", allowed, place), 0)
            os.close(place)
    for port in wanted.get("ports", ()) if network else ():
        kernel.call(445, ruleset, 2, kernel.pack("=QQ", network, port), 0)
    kernel.control(38, 1)  # no new privileges, which Landlock requires
    kernel.call(446, ruleset, 0)
    os.close(ruleset)
    if files:
        kernel.drop_capabilities()
    if calls := bytes.fromhex(wanted.get("calls", "")):
        kernel.filter_calls(calls)


def _rights(version: int) -> tuple[int, int]:
    """Everything that this version of Landlock limits for a folder, and the part that applies to single files."""
    every = (1 << 13) - 1
    file_only = 0b111
    for since, bit, of_files in ((2, 13, False), (3, 14, True), (5, 15, True)):
        if version >= since:
            every |= 1 << bit
            file_only |= 1 << bit if of_files else 0
    return every, file_only


def variables(number: int) -> dict[bytes, bytes]:
    """The environment in an open file: `NAME=value`, separated by NUL. Closes the file."""
    with open(number, "rb") as file:
        entries = file.read().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if entry)


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2], sys.argv[4], sys.argv[5], sys.argv[6:], variables(int(sys.argv[3])))
