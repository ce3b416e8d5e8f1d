"""A program with a list of hosts reaches those, whatever it tries, and the record says what it was refused."""

import asyncio
import json
import os
import socket
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from adapters.fence.bubblewrap import Bubblewrap, bubblewrap_works
from adapters.fence.network.addresses import is_own
from adapters.fence.network.allow_list import Allowed
from adapters.fence.network.upstream import upstream_of
from adapters.fence.port import Grant
from adapters.processes.environment import clean_environment
from adapters.processes.limits import launched
from adapters.processes.program import Finished, run
from domain.values.network import RefusedHost, entries
from tests.adapters.fence.network import ways_out

pytestmark = pytest.mark.skipif(
    not bubblewrap_works() and os.environ.get("CI") != "true", reason="bubblewrap does not work here"
)
PROGRAM = Path(ways_out.__file__)
Answer = Callable[[bytes], bytes]


def outside(_: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\noutside"


def leading_on(request: bytes) -> bytes:
    """The listed server: it sends whoever asks for `/to/PORT` to that port."""
    path = request.split(b" ")[1] if b" " in request else b"/"
    if not path.startswith(b"/to/"):
        return outside(request)
    to = b"http://127.0.0.1:" + path.removeprefix(b"/to/")
    return b"HTTP/1.1 302 Found\r\nLocation: " + to + b"/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@asynccontextmanager
async def server(answer: Answer, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """A server of the machine, by its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(head))
        writer.close()

    async with await asyncio.start_server(serve, host, 0) as made:
        yield made.sockets[0].getsockname()[1]


async def inside(folder: Path, allowed: Allowed, *argv: str, ways: str = "") -> Finished:
    fence = Bubblewrap(Grant(writable=(folder,), readable=(PROGRAM.parent,), network=allowed))
    return await run(
        argv, cwd=folder, env=clean_environment({"WAYS": ways}, home=folder), wall_seconds=240, fence=fence
    )


def test_no_way_out_leads_anywhere_that_is_not_listed(tmp_path: Path) -> None:
    async def scene() -> tuple[Finished, Allowed]:
        async with server(leading_on) as listed, server(outside, "0.0.0.0") as other:  # noqa: S104 - it is to be found
            allowed = Allowed(entries([f"127.0.0.1:{listed}", "listed.example"]))
            names = [socket.gethostname(), f"{socket.gethostname()}.", *_own_addresses()]
            with socket.socket(socket.AF_UNIX) as abstract:
                abstract.bind("\0hansard-outside")
                abstract.listen()
                argv = (sys.executable, "-I", str(PROGRAM), str(listed), str(other), *names)
                return await inside(tmp_path, allowed, *argv), allowed

    done, allowed = asyncio.run(scene())
    assert done.exit_code == 0, done
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["listed"]
    assert len(seen["tried"]) >= 200
    assert seen["through"] == []
    refused = allowed.refusals.hosts()
    assert {"not_listed", "address", "malformed", "direct"} <= {each.reason for each in refused}
    asked = [name for name in seen["tried"] if name.startswith(("connect ", "get ", "words: "))]
    assert sum(each.count for each in refused if each.reason != "direct") >= 0.95 * len(asked), "each is recorded"
    past = {(each.host, each.port) for each in refused if each.reason == "direct"}
    assert past >= {("8.8.8.8", 53), ("1.1.1.1", 443), ("10.0.0.1", 80), ("169.254.169.254", 80), ("www.com", 53)}
    if Path("/proc/net/if_inet6").exists():
        counts = {(each.host, each.port): each.count for each in refused if each.reason == "direct"}
        assert counts["2606:4700:4700::1111", 443] == 2, "a connection and a datagram"
        assert {("fe80::1", 80), ("ff02::1", 5353)} <= counts.keys(), (
            "datagrams to the network around, and to all of it"
        )


def test_the_same_ways_lead_out_where_all_is_allowed(tmp_path: Path) -> None:
    """What the test above tries does lead somewhere."""

    async def scene() -> Finished:
        async with server(leading_on) as listed, server(outside, "0.0.0.0") as other:  # noqa: S104 - as above
            allowed = Allowed(entries([f"127.0.0.1:{listed}"]), everything=True)
            argv = (sys.executable, "-I", str(PROGRAM), str(listed), str(other))
            return await inside(tmp_path, allowed, *argv, ways=r"(connect|get) (127|0|2130|localhost:|\[::)|redirect")

    through = json.loads(asyncio.run(scene()).stdout)["through"]
    assert len(through) >= 20
    assert "redirect" in through
    assert {name.split(":")[0] for name in through} >= {"connect 127.0.0.1", "get 2130706433", "connect localhost"}


def _own_addresses() -> list[str]:
    found = {str(place[0]) for *_, place in socket.getaddrinfo(socket.gethostname(), None)}
    return sorted(f"[{each}]" if ":" in each else each for each in found)


@pytest.mark.parametrize("host", ["evil.example", "127.1", "[::ffff:7f00:1]", "2130706433", "listed.example.evil.org"])
def test_each_refusal_is_recorded(host: str, tmp_path: Path) -> None:
    allowed = Allowed(entries(["listed.example"]))
    done = asyncio.run(inside(tmp_path, allowed, "curl", "-sS", "-m", "5", "--noproxy", "", f"http://{host}:8080/"))
    assert "Hansard: " in done.stdout
    refused = allowed.refusals.hosts()
    assert [(each.port, each.count) for each in refused] == [(8080, 1)]
    assert refused[0].reason in ("not_listed", "address")


def test_what_goes_past_the_proxy_is_refused_at_once_and_recorded(tmp_path: Path) -> None:
    code = """
        import contextlib, socket
        def sent(kind, family, place, data=b"x"):
            with contextlib.suppress(OSError), socket.socket(family, kind) as there:
                there.settimeout(2)
                there.connect(place)
                there.send(data)
                there.recv(1)
        sent(socket.SOCK_STREAM, socket.AF_INET, ("203.0.113.7", 22))
        sent(socket.SOCK_STREAM, socket.AF_INET, ("203.0.113.7", 22))
        sent(socket.SOCK_DGRAM, socket.AF_INET, ("192.0.2.1", 123))
        sent(socket.SOCK_DGRAM, socket.AF_INET, ("192.0.2.53", 53), bytes(12) + b"\\x04evil\\x07example\\0\\0\\1\\0\\1")
        sent(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", 22))
    """
    allowed = Allowed(())
    began = time.monotonic()
    done = asyncio.run(inside(tmp_path, allowed, sys.executable, "-I", "-c", textwrap.dedent(code)))
    assert done.exit_code == 0, done
    assert time.monotonic() - began < 30, "no attempt hangs"
    assert allowed.refusals.hosts() == (
        RefusedHost(host="203.0.113.7", port=22, reason="direct", count=2),
        RefusedHost(host="192.0.2.1", port=123, reason="direct", count=1),
        RefusedHost(host="evil.example", port=53, reason="direct", count=1),
    )


def test_where_no_network_can_be_made_first_a_starter_makes_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.fence.bubblewrap.can_be_made", lambda: False)
    test_nothing_of_the_way_out_is_left_to_the_program(tmp_path)
    test_what_is_listed_answers_directly_and_through_the_proxy(tmp_path)
    test_the_starter_runs_without_the_variables_of_the_program(tmp_path)


def test_what_is_listed_answers_directly_and_through_the_proxy(tmp_path: Path) -> None:
    async def scene() -> list[Finished]:
        async with server(outside) as port:
            allowed = Allowed(entries([f"127.0.0.1:{port}"]))
            direct = ("curl", "-sS", "-m", "5", f"http://127.0.0.1:{port}/")
            return [
                await inside(tmp_path, allowed, *direct),
                await inside(tmp_path, allowed, *direct, "--noproxy", ""),
                await inside(tmp_path, allowed, *direct, "--noproxy", "", "--proxytunnel"),
            ]

    assert [done.stdout for done in asyncio.run(scene())] == ["outside"] * 3


def test_the_variables_name_the_proxy_and_the_loopback_is_left_alone(tmp_path: Path) -> None:
    code = (
        "import os; print(sorted((n, v.partition(':')[2][:14]) for n, v in os.environ.items() if 'proxy' in n.lower()))"
    )
    done = asyncio.run(inside(tmp_path, Allowed(()), sys.executable, "-I", "-c", code))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        assert f"('{name}', '//127.0.0.1:" in done.stdout
    assert "NO_PROXY" in done.stdout
    assert "no_proxy" in done.stdout


def test_the_persons_own_proxy_is_asked_by_name(tmp_path: Path) -> None:
    heard = list[bytes]()

    def established(request: bytes) -> bytes:
        heard.append(request)
        return b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\noutside"

    async def scene() -> Finished:
        async with server(established) as port:
            upstream = upstream_of({"HTTPS_PROXY": f"http://ann:secret@127.0.0.1:{port}"})
            allowed = Allowed(entries(["listed.example:8080"]), upstream)
            address = "http://listed.example:8080/"
            return await inside(tmp_path, allowed, "curl", "-sS", "-m", "5", "--proxytunnel", address)

    assert asyncio.run(scene()).stdout == "outside"
    assert heard[0].startswith(b"CONNECT listed.example:8080 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnNlY3JldA==" in heard[0]


def test_the_starter_runs_without_the_variables_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("open('ran', 'w')")
    env = {
        "PYTHONPATH": str(tmp_path),
        "PYTHONHOME": "/nowhere",
        "LD_PRELOAD": "/nowhere.so",
        "HTTPS_PROXY": "http://x",
    }
    fence = Bubblewrap(Grant(writable=(tmp_path,), network=Allowed(())))
    command = ["sh", "-c", "echo $PYTHONPATH $HTTPS_PROXY"]
    done = asyncio.run(
        run(command, cwd=tmp_path, env=clean_environment(env, home=tmp_path), wall_seconds=20, fence=fence)
    )
    assert done.stdout.startswith(f"{tmp_path} http://127.0.0.1:")
    assert not (tmp_path / "ran").exists()


def test_a_program_that_does_not_exist_is_not_started(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bad").chmod(0o755)
    done = asyncio.run(inside(tmp_path, Allowed(()), "./bad"))
    assert (done.ended, done.exit_code) == ("not_started", None)


def test_nothing_of_the_way_out_is_left_to_the_program(tmp_path: Path) -> None:
    """No process, no socket and no file of ours: what listens is outside."""
    code = (
        "import os; print(os.listdir('/proc/self/fd'), len([name for name in os.listdir('/proc') if name.isdigit()]))"
    )
    done = asyncio.run(inside(tmp_path, Allowed(()), sys.executable, "-I", "-c", code))
    assert done.stdout == "['0', '1', '2', '3'] 2\n", "bubblewrap's own process, and this one"


def test_the_way_into_the_network_leaves_no_variable_to_the_program(tmp_path: Path) -> None:
    """The shell that enters it would give its own to what it starts."""

    def variables(network: Allowed | Literal["none"]) -> dict[str, str]:
        fence = Bubblewrap(Grant(writable=(tmp_path,), network=network))
        done = asyncio.run(run(["env", "-0"], cwd=tmp_path, env={"A": "b"}, wall_seconds=20, fence=fence))
        given = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
        return {name: value for name, value in given.items() if name != "HANSARD_PROCESS"}

    listed = variables(Allowed(()))
    assert {name: value for name, value in listed.items() if "proxy" not in name.lower()} == variables("none")


@pytest.mark.parametrize("tools", [None, ("/bin/false", "/bin/false"), ("/no/such/program", "/bin/bash")])
def test_where_the_systems_tools_cannot_enter_the_network_our_launcher_does(
    tools: tuple[str, str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.fence.network.entry._tools", lambda: tools)
    begun = list[object]()
    monkeypatch.setattr("adapters.processes.start.launched", lambda *a, **b: begun.append(a) or launched(*a, **b))
    test_nothing_of_the_way_out_is_left_to_the_program(tmp_path)
    assert len(begun) == 1


def test_who_connects_and_asks_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.fence.network.proxy.HEAD_SECONDS", 0.3)
    code = """
        import os, socket, urllib.parse
        place = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
        print(socket.create_connection((place.hostname, place.port), timeout=20).makefile().read())
    """
    done = asyncio.run(inside(tmp_path, Allowed(()), sys.executable, "-I", "-c", textwrap.dedent(code)))
    assert done.stdout.startswith("HTTP/1.1 408 Request Timeout")
    assert "Hansard: no request came within" in done.stdout


def test_the_machines_own_addresses_are_known() -> None:
    from ipaddress import ip_address

    assert is_own(ip_address("127.0.0.1"))
    assert not is_own(ip_address("203.0.114.7"))


def test_many_connections_at_once_are_refused_and_said(tmp_path: Path) -> None:
    code = """
        import os, socket, urllib.parse
        place = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
        held = [socket.create_connection((place.hostname, place.port), timeout=5) for _ in range(300)]
        held[-1].settimeout(5)
        print(held[-1].recv(10))
    """
    allowed = Allowed(())
    done = asyncio.run(inside(tmp_path, allowed, sys.executable, "-I", "-c", textwrap.dedent(code)))
    assert done.exit_code in (0, 1)
    assert RefusedHost(host="", port=0, reason="too_many") in [
        each.changed(count=1) for each in allowed.refusals.hosts()
    ]
