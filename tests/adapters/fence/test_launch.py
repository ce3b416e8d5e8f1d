"""What is done in a process between its start and the program that it becomes: limits, fence and network."""

import errno
import marshal
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adapters.fence.landlock import filter_program, landlock_version
from adapters.fence.network.loopback import Loopback, _received, can_be_made
from adapters.processes import launch
from adapters.processes.limits import refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these system calls")
EVERY = (1 << 13) - 1
"""What the first version of Landlock limits."""
NEW_DEVICES = 1 << 6 | 1 << 11


def in_a_process(script: str, *words: str | int, files: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A script that has `launch` and `apart`, and these words in `argv`."""
    heads = (
        "import os, socket, sys",
        "from adapters.fence.network import apart",
        "from adapters.processes import launch",
    )
    argv = [sys.executable, "-c", "\n".join([*heads, "argv = sys.argv[1:]", script]), *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, pass_fds=files, check=False)


# -- becoming the program ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "limits", "network", "why"),
    [
        ("no-such-program", "RLIMIT_NOFILE=64,RLIMIT_CPU=60", "", errno.ENOENT),
        ("/etc/passwd", "", "", errno.EACCES),
        ("true", "", "{file},{file}", errno.EPERM),
        ("true", "RLIMIT_NOFILE=-7", "", "not allowed to raise maximum limit"),
    ],
    ids=["missing", "no-program", "no-network", "wrong-limit"],
)
def test_why_a_program_did_not_begin_is_reported(
    tmp_path: Path, program: str, limits: str, network: str, why: int | str
) -> None:
    begun, report = os.pipe()
    with (tmp_path / "env").open("wb+") as env:
        env.write(b"PATH=/bin:/usr/bin\0EMPTY=\0A=b=c\0")
        env.seek(0)
        words = (report, env.fileno(), program, limits, network.format(file=env.fileno()))
        script = "env = launch.variables(int(argv[1])) if not argv[4] else {}\n"
        script += "launch.become(int(argv[0]), argv[3], '', argv[4], [argv[2]], env)"
        done = in_a_process(script, *words, files=(report, env.fileno()))
    os.close(report)
    told = refusal(begun)
    os.close(begun)
    assert (done.returncode, done.stdout, done.stderr) == (127, "", "")
    assert (told.errno if isinstance(told, OSError) else str(told)) == why


def test_the_environment_of_a_program_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "env"
    path.write_bytes(b"PATH=/bin\0EMPTY=\0A=b=c\0\xff=\xfe\0")
    number = os.open(path, os.O_RDONLY)
    assert launch.variables(number) == {b"PATH": b"/bin", b"EMPTY": b"", b"A": b"b=c", b"\xff": b"\xfe"}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_limit_is_lowered_and_never_raised() -> None:
    """Of CPU time, there are seconds between the signal that can be caught and the one that cannot."""
    script = """
import resource
launch._hold("RLIMIT_NOFILE", 64)
launch._hold("RLIMIT_NOFILE", 100)
launch._hold("RLIMIT_CPU", 1000)
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CPU))
"""
    assert in_a_process(script).stdout == "(64, 64) (1000, 1005)\n"


# -- the fence -----------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """What a path, or a port, is allowed."""

    rights: int
    about: str | int


class KernelTwin:
    """A kernel with some version of Landlock, which notes what it is asked for."""

    pack = staticmethod(struct.pack)

    def __init__(self, version: int) -> None:
        self.version = version
        self.ruleset = b""
        self.rules: list[Rule] = []
        self.done: list[Any] = []

    def call(self, number: int, *arguments: Any) -> int:
        match number, arguments:
            case 444, (None, 0, 1):
                return self.version
            case 444, (bytes() as attributes, size, 0):
                assert len(attributes) == size
                self.ruleset = attributes
                return os.open(os.devnull, os.O_RDONLY)
            case 445, (_, 1, rule, 0):
                rights, place = struct.unpack("=Qi", rule)
                self.rules.append(Rule(rights, str(Path(f"/proc/self/fd/{place}").readlink())))
            case 445, (_, 2, rule, 0):
                self.rules.append(Rule(*struct.unpack("=QQ", rule)))
            case 446, (_, 0):
                self.done.append("restricted")
        return 0

    def control(self, *arguments: int) -> int:
        self.done.append(arguments)
        return 0

    def drop_capabilities(self) -> None:
        self.done.append("dropped")

    def filter_calls(self, program: bytes) -> None:
        self.done.append(program)


def restricted(monkeypatch: pytest.MonkeyPatch, version: int, **rules: Any) -> KernelTwin:
    twin = KernelTwin(version)
    monkeypatch.setattr(launch, "_Kernel", lambda: twin)
    launch.restrict(marshal.dumps(rules).hex())
    return twin


@pytest.mark.parametrize(
    ("version", "files", "size"),
    [
        (1, EVERY, 8),
        (2, EVERY | 1 << 13, 8),
        (3, EVERY | 3 << 13, 8),
        (4, EVERY | 3 << 13, 16),
        (5, EVERY | 7 << 13, 16),
        (6, EVERY | 7 << 13, 24),
        (7, EVERY | 7 << 13, 24),
    ],
)
def test_each_kernel_is_asked_for_what_its_landlock_can_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: int, files: int, size: int
) -> None:
    """Nobody may make a device, and of a single file only what files have is allowed."""
    file = tmp_path / "file"
    file.touch()
    twin = restricted(
        monkeypatch,
        version,
        read=[str(tmp_path), str(file), str(tmp_path / "gone")],
        write=[str(tmp_path), str(file)],
        connect=False,
        ports=(5432,),
        scoped=True,
    )
    scoping = version >= 6
    connecting = version >= 4
    assert (
        struct.unpack(f"{size // 8}Q", twin.ruleset)
        == (files, 2 if connecting else 0, 3 if scoping else 0)[: size // 8]
    )
    of_files = 0b111 | files & (1 << 14 | 1 << 15)
    assert twin.rules == [
        Rule(0b1101, str(tmp_path)),
        Rule(0b0101, str(file)),
        Rule(files & ~NEW_DEVICES, str(tmp_path)),
        Rule(files & ~NEW_DEVICES & of_files, str(file)),
        *([Rule(2, 5432)] if connecting else []),
    ]
    assert twin.done == [(38, 1), "restricted", "dropped"]


@pytest.mark.parametrize(
    ("rules", "attributes", "done"),
    [
        ({"scoped": True}, (0, 0, 3), []),
        ({"connect": True, "ports": (5432,)}, (0, 0, 0), []),
        ({"calls": "00ff"}, (0, 0, 0), [b"\x00\xff"]),
    ],
    ids=["scoped", "may-connect", "calls"],
)
def test_what_is_not_to_be_limited_is_not(
    monkeypatch: pytest.MonkeyPatch, rules: dict[str, Any], attributes: tuple[int, ...], done: list[Any]
) -> None:
    """Without limits of files nothing is dropped, either."""
    twin = restricted(monkeypatch, 6, **rules)
    assert (struct.unpack("3Q", twin.ruleset), twin.rules) == (attributes, [])
    assert twin.done == [(38, 1), "restricted", *done]


@pytest.mark.skipif(landlock_version() < 1 or not filter_program(), reason="this machine has no Landlock, or no filter")
def test_inside_a_fence_nobody_makes_devices_or_unusual_sockets(tmp_path: Path) -> None:
    """Also root, to whom everything else is allowed here."""
    script = """
import errno, stat
launch.restrict(argv[0])
for attempt in (lambda: os.mknod(argv[1], stat.S_IFBLK | 0o600, 0x0700), lambda: socket.socket(40, socket.SOCK_STREAM)):
    try:
        attempt()
    except OSError as error:
        print(errno.errorcode[error.errno])
open(argv[1], "w").close()
try:
    launch._Kernel().call(444, b"", 0, 0)
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    rules = {"read": ["/"], "write": ["/"], "calls": filter_program().hex()}
    done = in_a_process(script, marshal.dumps(rules).hex(), str(tmp_path / "disk"))
    first, *others = done.stdout.split()
    assert first in ("EACCES", "EPERM"), done.stderr
    assert others == ["EAFNOSUPPORT", "EINVAL"]
    assert (tmp_path / "disk").is_file()


# -- the network ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not can_be_made(), reason="no network can be made here")
def test_a_network_apart_has_only_its_loopback_and_refuses_what_tries_to_leave() -> None:
    with socket.create_server(("127.0.0.1", 0)) as machine:
        taken = machine.getsockname()[1]
        network = apart_with(0, taken, taken)
        assert [port for port, _ in network.listening] == [0, taken], "the port of the second is taken by then"
        script = """
launch.join(int(argv[0]), int(argv[1]))
print([name for _, name in socket.if_nameindex()])
socket.create_connection(("127.0.0.1", int(argv[2]))).sendall(b"hello")
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    print(type(error).__name__)
"""
        done = in_a_process(script, *network.files, taken, files=network.files)
        assert done.stdout.split("\n") == ["['lo']", "ConnectionRefusedError", ""], done.stderr
        with network.listening[1][1].accept()[0] as inside:
            assert inside.recv(5) == b"hello"
        machine.setblocking(False)
        with pytest.raises(BlockingIOError):
            machine.accept()
    assert network.watching is not None
    assert socket.inet_aton("192.0.2.1") in network.watching.recv(512)
    network.close()


def apart_with(*ports: int) -> Loopback:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        script = "apart.leave()\napart.hand_out(int(argv[0]), [int(port) for port in argv[1:]])"
        done = in_a_process(script, theirs.fileno(), *ports, files=(theirs.fileno(),))
        assert done.returncode == 0, done.stderr
        return _received(ours)
