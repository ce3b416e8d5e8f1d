"""The starter inside a fence: it hands its sockets out, and becomes the program."""

import array
import os
import posix
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.fence import inside

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # they end with the process, which stays


class Ended(Exception):
    """The process would have ended, or become the program."""


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process stays what it is."""

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(posix, "_exit", end)
    before = {number: signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, list[str], dict[bytes, bytes]]]:
    """The programs that were begun, if they are there."""
    programs: list[tuple[bytes, list[str], dict[bytes, bytes]]] = []

    def become(path: bytes, argv: list[str], env: dict[bytes, bytes]) -> None:
        if b"missing" in path:
            raise FileNotFoundError(2, "No such file or directory")
        if b"forbidden" in path:
            raise PermissionError(13, "Permission denied")
        programs.append((path, argv, env))
        raise Ended(0)

    monkeypatch.setattr(posix, "execve", become)
    return programs


def received(ours: socket.socket) -> list[tuple[int, socket.socket]]:
    """The sockets that were handed out, with what each is for."""
    numbers = array.array("i")
    message, more, _, _ = ours.recvmsg(256, socket.CMSG_SPACE(8 * numbers.itemsize))
    numbers.frombytes(more[0][2])
    meant = struct.unpack(f"{len(numbers)}I", message)
    return list(zip(meant, [socket.socket(fileno=number) for number in numbers], strict=True))


def test_a_program_begins_with_its_proxy_in_its_environment(begun: list[Any]) -> None:
    """A port that something of the workspace has is left to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, socket.socket() as free, socket.create_server(("127.0.0.1", 0)) as taken:
        free.bind(("127.0.0.1", 0))
        wanted = free.getsockname()[1]
        free.close()
        with pytest.raises(Ended):
            inside.become(theirs.detach(), [taken.getsockname()[1], wanted], ["tool", "-v"], {b"PATH": b"/bin"})
        handed = received(ours)
    [(path, argv, env)] = begun
    assert (path, argv) == (b"/bin/tool", ["tool", "-v"])
    assert [port for port, _ in handed] == [0, wanted]
    proxy = f"http://127.0.0.1:{handed[0][1].getsockname()[1]}".encode()
    assert {env[name] for name in (b"HTTP_PROXY", b"https_proxy")} == {proxy}
    assert env[b"no_proxy"] == env[b"NO_PROXY"] == b"localhost,127.0.0.1,::1"
    assert env[b"PATH"] == b"/bin"
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL
    for _, each in handed:
        with each, socket.create_connection(each.getsockname()):
            each.accept()[0].close()


@pytest.mark.parametrize(
    ("program", "path", "tried"),
    [
        ("tool", b"/missing:/bin", b"/bin/tool"),
        ("/opt/tool", b"/bin", b"/opt/tool"),
        ("tool", b"/forbidden:/usr/bin", b"/usr/bin/tool"),
    ],
)
def test_a_program_is_looked_for_along_the_path(begun: list[Any], program: str, path: bytes, tried: bytes) -> None:
    with pytest.raises(Ended):
        inside._execute([program], {b"PATH": path})
    assert begun[0][0] == tried


@pytest.mark.parametrize(
    ("path", "why"),
    [(b"/missing", "No such file or directory"), (b"/forbidden:/missing", "Permission denied")],
)
def test_a_program_that_cannot_begin_is_reported_as_bubblewrap_does(
    begun: list[Any], capfd: pytest.CaptureFixture[str], path: bytes, why: str
) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, pytest.raises(Ended, match="1"):
        inside.become(theirs.detach(), [], ["tool"], {b"PATH": path})
    assert capfd.readouterr().err == f"bwrap: execvp tool: {why}\n"
    assert begun == []


def test_the_environment_is_read_from_an_open_file(tmp_path: Path) -> None:
    (tmp_path / "env").write_bytes(b"A=b=c\0EMPTY=\0")
    assert inside.variables(os.open(tmp_path / "env", os.O_RDONLY)) == {b"A": b"b=c", b"EMPTY": b""}
