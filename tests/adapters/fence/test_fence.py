"""What a fenced program can reach, for each level that works here."""

import asyncio
import os
import socket
import struct
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.fence.bubblewrap import Bubblewrap, bubblewrap_works
from adapters.fence.choice import NoFence, available, choose
from adapters.fence.folders import programs
from adapters.fence.landlock import Landlock, filter_program, landlock_version
from adapters.fence.port import Fence, Grant, Unfenced
from adapters.fence.toolchains import toolchain_variables
from adapters.processes.environment import clean_environment
from adapters.processes.program import Finished, run

WORKS = {"bwrap": bubblewrap_works(), "landlock": landlock_version() >= 4}
LEVELS = {"bwrap": Bubblewrap, "landlock": Landlock}


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not WORKS[name]:
        assert os.environ.get("CI") != "true", f"{name} is missing"
        pytest.skip(f"{name} does not work here")
    return name


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def fenced(level: str, workspace: Path, *, network: str = "none", hidden: tuple[Path, ...] = ()) -> Fence:
    grant = Grant(writable=(workspace,), hidden=hidden, network="all" if network == "all" else "none")
    return LEVELS[level](grant)


def inside(fence: Fence, workspace: Path, *argv: str) -> Finished:
    environment = clean_environment({"TMPDIR": str(workspace)}, home=workspace)
    return asyncio.run(run(argv, cwd=workspace, env=environment, wall_seconds=20, fence=fence))


def python(fence: Fence, workspace: Path, code: str) -> Finished:
    return inside(fence, workspace, sys.executable, "-I", "-c", textwrap.dedent(code))


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def connect(port: int) -> str:
    return f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=3)"


def test_the_workspace_can_be_written(level: str, workspace: Path) -> None:
    done = inside(fenced(level, workspace), workspace, "sh", "-c", "echo hello > made && cat made")
    assert (done.exit_code, done.stdout) == (0, "hello\n")
    assert (workspace / "made").read_text() == "hello\n"


def test_nothing_else_can_be_written(level: str, workspace: Path) -> None:
    other = workspace.parent / "other"
    other.mkdir()
    for place in (other / "x", Path("/etc/hansard-was-here"), Path("/usr/hansard-was-here")):
        assert inside(fenced(level, workspace), workspace, "touch", str(place)).exit_code != 0
        assert not place.exists()


def test_the_log_and_its_keys_cannot_be_read(level: str, workspace: Path) -> None:
    log = workspace.parent / "hansard.db"
    log.write_text("secret")
    for command in (["cat", str(log)], ["cat", "../hansard.db"], ["sh", "-c", f"cp {log} stolen"]):
        assert inside(fenced(level, workspace), workspace, *command).exit_code != 0
    assert not (workspace / "stolen").exists() or not (workspace / "stolen").read_text()


def test_without_network_no_address_is_reached(level: str, workspace: Path, listening: int) -> None:
    assert python(fenced(level, workspace), workspace, connect(listening)).exit_code == 1


def test_with_network_addresses_are_reached(level: str, workspace: Path, listening: int) -> None:
    done = python(fenced(level, workspace, network="all"), workspace, connect(listening))
    assert (done.exit_code, done.stderr) == (0, "")


def test_sockets_without_a_name_are_out_of_reach_even_with_network(level: str, workspace: Path) -> None:
    if landlock_version() < 6:
        pytest.skip("this kernel cannot scope sockets")
    name = f"hansard-{os.getpid()}-{level}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        done = python(fenced(level, workspace, network="all"), workspace, code)
    assert done.exit_code == 1
    assert "PermissionError" in done.stderr


RELATIVE = pytest.param("relative", marks=pytest.mark.alone)
"""Nothing says where such a socket is, so while it is there, fences beside this one say that they may miss one."""
WAYS = ["absolute", RELATIVE, "renamed", "linked"]


def bound(server: socket.socket, path: Path, way: str) -> None:
    """Bind a socket that is at this path in the end; the kernel's table has only one of the ways there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first = path.with_name("first")
    if way == "absolute":
        server.bind(str(path))
    elif way == "relative":
        server.bind(os.path.relpath(path))
    else:
        server.bind(str(first))
        os.link(first, path)
        if way == "renamed":
            first.unlink()
        else:
            first.rename(path.parents[2] / "elsewhere")
    server.listen()


def connected(fence: Fence, workspace: Path, path: Path, *argv: str) -> str:
    """What a program inside says when it connects."""
    code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
    done = inside(fence, workspace, *(argv or (sys.executable, "-I", "-c", code)))
    return "connected" if done.exit_code == 0 else done.stderr.splitlines()[-1].partition(":")[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", ["tool/bin/a.sock", "tool/var/run/a.sock", "tool/a b.sock"])
def test_sockets_beside_a_program_are_out_of_reach(workspace: Path, place: str, way: str) -> None:
    """They may lie in a folder that is shown for the sake of its programs."""
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    program, path = workspace.parent / "tool" / "bin" / "program", workspace.parent / place
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{os.path.realpath(sys.executable)} -I\nimport socket, sys\n"
        "[socket.socket(socket.AF_UNIX).connect(path) for path in sys.argv[1:]]\n"
    )
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        bound(server, path, way)
        fence = fenced("bwrap", workspace, network="all")
        assert inside(fence, workspace, str(program)).exit_code == 0
        assert connected(fence, workspace, path, str(program), str(path)) == "ConnectionRefusedError"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shown", ["readable", "linked"])
def test_sockets_in_a_granted_folder_are_out_of_reach_where_it_is_seen(workspace: Path, shown: str, way: str) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    folder, place = workspace.parent / "given", workspace / "place"
    place.mkdir()
    grant = Grant(writable=(workspace,), network="all")
    grant = replace(grant, readable=(folder,)) if shown == "readable" else replace(grant, linked=((folder, place),))
    with socket.socket(socket.AF_UNIX) as server:
        bound(server, folder / "below" / "a.sock", way)
        seen = (folder if shown == "readable" else place) / "below" / "a.sock"
        assert connected(Bubblewrap(grant), workspace, seen) == "ConnectionRefusedError"


def test_sockets_near_the_top_are_found_beside_a_large_folder(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    large, small = workspace.parent / "large", workspace.parent / "small"
    for number in range(100):
        (large / str(number)).mkdir(parents=True)
        for name in range(50):
            (large / str(number) / str(name)).touch()
    for name in range(6_000):
        (large / f"file {name}").touch()
    grant = Grant(writable=(workspace,), readable=(large, small), network="all")
    with socket.socket(socket.AF_UNIX) as server:
        bound(server, small / "below" / "a.sock", "renamed")
        assert connected(Bubblewrap(grant), workspace, small / "below" / "a.sock") == "ConnectionRefusedError"


@pytest.mark.parametrize("way", WAYS)
def test_a_socket_that_may_be_deep_in_a_large_folder_is_a_gap(workspace: Path, way: str) -> None:
    """One that the kernel's table places is covered wherever it is."""
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    large = workspace.parent / "large"
    for number in range(400):
        (large / str(number) / "below").mkdir(parents=True)
    grant = Grant(writable=(workspace,), readable=(large,), network="all")
    path = large / "399" / "below" / "a.sock"
    with socket.socket(socket.AF_UNIX) as server:
        bound(server, path, way)
        fence = Bubblewrap(grant)
        says = connected(fence, workspace, path)
        assert ("sockets" in fence.gaps) == ("sockets" in Bubblewrap(replace(grant)).gaps) == (way != "absolute")
        assert way != "absolute" or says == "ConnectionRefusedError"


def test_a_socket_that_is_made_later_is_a_gap(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    shown = workspace.parent / "shown"
    shown.mkdir()
    fence = Bubblewrap(Grant(writable=(workspace,), readable=(shown,), network="all"))
    assert inside(fence, workspace, "true").exit_code == 0 and "sockets" not in fence.gaps
    with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as server:
        own.bind(str(workspace / "own.sock"))
        assert "sockets" not in fence.gaps, "where it may write, it may connect"
        server.bind(str(shown / "later.sock"))
        assert "sockets" in fence.gaps


@pytest.mark.parametrize("granted", ["readable", "writable", "folder"])
def test_a_socket_that_is_granted_is_reached(workspace: Path, granted: str) -> None:
    """By its own name, or because programs may write where it is, also where the folder around is shown."""
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    path = workspace.parent / "shown" / "own" / "granted.sock"
    grant = Grant(writable=(workspace,), readable=(workspace.parent / "shown",), network="all")
    own = path.parent if granted == "folder" else path
    if granted == "readable":
        grant = replace(grant, readable=(*grant.readable, own))
    else:
        grant = replace(grant, writable=(*grant.writable, own))
    with socket.socket(socket.AF_UNIX) as server:
        bound(server, path, "absolute")
        assert connected(Bubblewrap(grant), workspace, path) == "connected"


def test_the_folder_of_a_persons_sockets_is_hidden_wherever_it_is(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bwrap does not work here")
    program, runtime = workspace.parent / "tool" / "bin" / "list", workspace.parent / "tool" / "runtime"
    for folder in (program.parent, runtime):
        folder.mkdir(parents=True)
    (runtime / "later.sock").touch()
    program.symlink_to("/bin/ls")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    done = inside(fenced("bwrap", workspace), workspace, str(program), "-A", str(runtime), str(runtime.parent))
    assert (done.exit_code, "later.sock" in done.stdout, "runtime" in done.stdout) == (0, False, True)


def test_a_program_that_does_not_exist_is_not_started(level: str, workspace: Path) -> None:
    for program in ("no-such-program", "./no-such-program", "/no/such/program"):
        done = inside(fenced(level, workspace), workspace, program)
        assert (done.ended, done.exit_code) == ("not_started", None)
        assert program in done.detail


def test_exit_code_and_output_come_through(level: str, workspace: Path) -> None:
    done = inside(fenced(level, workspace), workspace, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_a_hidden_folder_does_not_exist_below_a_readable_one(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    programs = workspace.parent / "tools" / "bin"
    programs.mkdir(parents=True)
    checkout = workspace.parent / "tools" / "checkout"
    checkout.mkdir()
    (checkout / "secret").write_text("x")
    fence = Bubblewrap(Grant(writable=(workspace,), hidden=(checkout,)))
    environment = clean_environment({"PATH": f"{programs}:/usr/bin:/bin"}, home=workspace)
    done = asyncio.run(run(["ls", str(checkout)], cwd=workspace, env=environment, wall_seconds=20, fence=fence))
    assert (done.exit_code, done.stdout) == (0, "")


def test_keys_below_a_folder_of_the_system_are_empty_inside(workspace: Path, tmp_path: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    system, keys = tmp_path / "system", tmp_path / "system" / "keys"
    system.mkdir()
    keys.write_text("secret")
    fence = Bubblewrap(Grant(writable=(workspace,), readable=(system,), hidden=(keys,)))
    done = inside(fence, workspace, "cat", str(keys))
    assert (done.stdout, "secret" in done.stderr) == ("", False)


def test_only_the_files_that_a_program_in_a_home_loads_are_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in toolchain_variables():
        monkeypatch.delenv(variable, raising=False)
    for name in ("bin", "lib", "run"):
        (tmp_path / ".tool" / name).mkdir(parents=True)
    path = {"PATH": f"{tmp_path}/.tool/bin:/usr/bin"}
    shown = programs(["thing"], path, hides=lambda path: False)
    assert set(shown) == {tmp_path / ".tool" / "bin", tmp_path / ".tool" / "lib"}


def test_a_program_is_started_through_a_link_to_a_link(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    first, second, last = ((workspace.parent / name) for name in ("first", "second", "last"))
    for folder in (first, second, last):
        folder.mkdir()
    (last / "tool").write_text("#!/bin/sh\necho started\n")
    (last / "tool").chmod(0o755)
    (second / "tool").symlink_to("../last/tool")
    (first / "tool").symlink_to("../second/tool")
    environment = clean_environment({"PATH": f"{first}:/usr/bin:/bin"}, home=workspace)
    shown = programs(["tool"], environment, hides=lambda _: False)
    fence = Bubblewrap(Grant(writable=(workspace,), readable=shown))
    done = asyncio.run(run(["tool"], cwd=workspace, env=environment, wall_seconds=20, fence=fence))
    assert (done.exit_code, done.stdout) == (0, "started\n")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_path_through_the_system_call_filter_ends(machine: str) -> None:
    program = list(struct.iter_unpack("=HBBI", filter_program(machine)))
    for place, (code, true, false, _) in enumerate(program):
        assert code == 0x06 or place + 1 + max(true, false) < len(program)
    assert program[-1] == (0x06, 0, 0, 0x7FFF0000)
    assert filter_program("unknown") == b""


def test_a_program_of_a_hidden_folder_is_not_started(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    programs = workspace.parent / "checkout" / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "tool").write_text("#!/bin/sh\n")
    (programs / "tool").chmod(0o755)
    fence = Bubblewrap(Grant(writable=(workspace,), hidden=(workspace.parent / "checkout",)))
    environment = clean_environment({"PATH": f"{programs}:/usr/bin:/bin"}, home=workspace)
    done = asyncio.run(run(["tool"], cwd=workspace, env=environment, wall_seconds=20, fence=fence))
    assert done.ended == "not_started"


def test_no_user_namespace_can_be_made_under_bubblewrap(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    code = "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))"
    assert python(Bubblewrap(Grant(writable=(workspace,))), workspace, code).stdout == "-1\n"


def test_nothing_survives_under_bubblewrap(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    fence = Bubblewrap(Grant(writable=(workspace,)))
    inside(fence, workspace, "sh", "-c", "env -i /usr/bin/setsid -f /usr/bin/sleep 7654.25; exit 0")
    alive = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(b"7654.25" in line for line in alive)


def test_other_processes_and_their_environment_are_invisible_under_bubblewrap(workspace: Path) -> None:
    if not WORKS["bwrap"]:
        pytest.skip("bubblewrap does not work here")
    fence = Bubblewrap(Grant(writable=(workspace,)))
    code = """
        import os, pathlib
        print(sorted(name for name in os.listdir('/proc') if name.isdigit()).__len__() < 5)
        print('HANSARD_TEST_SECRET' in pathlib.Path('/proc/1/environ').read_text())
    """
    os.environ["HANSARD_TEST_SECRET"] = "x"
    try:
        done = python(fence, workspace, code)
    finally:
        del os.environ["HANSARD_TEST_SECRET"]
    assert done.stdout == "True\nFalse\n", done.stderr


def test_the_record_names_the_gaps(workspace: Path) -> None:
    grant = Grant(writable=(workspace,))
    assert Bubblewrap(grant).gaps == ()
    assert {"sockets", "processes", "survivors"} <= set(Landlock(grant).gaps)
    assert {"files", "network", "processes"} <= set(Unfenced(grant).gaps)


def test_a_required_fence_is_refused_if_none_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.fence.choice.bubblewrap_works", lambda: False)
    monkeypatch.setattr("adapters.fence.choice.landlock_version", lambda: 0)
    assert available() == "none"
    assert choose("auto") is Unfenced
    assert choose("off") is Unfenced
    with pytest.raises(NoFence, match="Install bubblewrap"):
        choose("required")


def test_an_unreadable_folder_on_the_path_is_left_out(tmp_path: Path) -> None:
    """As where a service was started with the PATH of an administrator."""
    closed = tmp_path / "closed"
    (closed / "bin").mkdir(parents=True)
    closed.chmod(0)
    account = os.geteuid()
    try:
        if account == 0:
            os.seteuid(65_534)
        result = programs(["sh"], {"PATH": f"{closed / 'bin'}:/usr/bin:/bin"}, hides=lambda _: False)
    finally:
        os.seteuid(account)
        closed.chmod(0o700)
    assert not any(path.is_relative_to(closed) for path in result)
