"""Ways out of a network with a list of hosts, for a program inside: each is tried, and what gets through is printed.

Runs as a program of its own: `ways_out.py LISTED OTHER NAMES …` with the port of a listed server of the machine, the
port of one that is not listed, and names that lead to it. Prints one line of JSON: the ways that were tried, and those
that reached a server. The variable WAYS limits them to those that match it.
"""

import contextlib
import json
import os
import re
import socket
import struct
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator

MARK = b"outside"
"""What the servers of the machine say."""
SECONDS = 3.0


def proxy() -> tuple[str, int]:
    """Where the proxy is."""
    parts = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    return parts.hostname or "", parts.port or 0


def said(words: bytes, place: tuple[str, int] | None = None) -> bytes:
    """What the proxy answers to these bytes, and what comes after a request to whoever it has connected us to."""
    with socket.create_connection(place or proxy(), timeout=SECONDS) as there:
        there.sendall(words)
        answer = b""
        with contextlib.suppress(OSError):
            while piece := there.recv(65_536):
                answer += piece
                if answer.startswith(b"HTTP/1.1 200 Connection") and answer.endswith(b"\r\n\r\n"):
                    there.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return answer


def tunnel(place: str, version: str = "HTTP/1.1") -> bytes:
    return said(f"CONNECT {place} {version}\r\nHost: {place}\r\n\r\n".encode())


def plain(address: str, *headers: str, method: str = "GET") -> bytes:
    return said("\r\n".join([f"{method} {address} HTTP/1.1", *headers, "", ""]).encode())


def direct(place: tuple[str, int], family: int = socket.AF_INET) -> bytes:
    with socket.socket(family, socket.SOCK_STREAM) as there:
        there.settimeout(SECONDS)
        there.connect(place)
        there.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return there.recv(1_000)


def datagram(place: tuple[str, int], family: int = socket.AF_INET) -> bytes:
    with socket.socket(family, socket.SOCK_DGRAM) as there:
        there.settimeout(0.2)
        there.sendto(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x03com\x00\x00\x01\x00\x01", place)
        return there.recv(1_000)


def raw(protocol: int, family: int = socket.AF_INET) -> bytes:
    with socket.socket(family, socket.SOCK_RAW, protocol) as there:
        there.settimeout(0.2)
        there.sendto(
            struct.pack("!BBHHH", 8, 0, 0, 1, 1), ("8.8.8.8" if family == socket.AF_INET else "2001:4860::1", 0)
        )
        return there.recv(1_000)


def resolved(name: str) -> bytes:
    """A name that a resolver knows would have reached one."""
    return MARK if socket.getaddrinfo(name, 443) else b""


def unix(path: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as there:
        there.settimeout(SECONDS)
        there.connect(path)
        there.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return there.recv(1_000)


def command(*argv: str) -> bytes:
    import subprocess

    return subprocess.run(argv, capture_output=True, timeout=20, check=False).stdout


def spellings(port: int) -> Iterator[str]:
    """The loopback, and the networks around a machine, in all the ways in which programs write them."""
    for host in (
        "0x7f.0x0.0x0.0x1", "127.0.0.1", "127.1", "127.0.1", "127.1.2.3", "127.255.255.254", "0", "0.0.0.0", "0x7f.1",  # noqa: S104
        "0x7f000001",
        "0X7F000001", "2130706433", "017700000001", "0177.0.0.1", "0177.1", "127.0.0.1.", "127.00.00.01",
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost",
        "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::]", "[0::0]",
        "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%lo]", "[::1%1]", "::1",
        "169.254.169.254", "metadata.google.internal", "169.254.0.1", "0xa9fea9fe", "2852039166", "[fd00:ec2::254]",
        "10.0.0.1", "10.1", "172.16.0.1", "172.17.0.1", "192.168.0.1", "192.168.1", "100.64.0.1", "198.18.0.1",
        "224.0.0.1", "255.255.255.255", "host.docker.internal", "gateway", "router", "1.1.1.1", "8.8.8.8",
        "[2606:4700:4700::1111]", "example.com", "EXAMPLE.COM", "example.com.", "127.0.0.1.nip.io", "localtest.me",
        "\uff11\uff12\uff17.0.0.1", "127%2e0%2e0%2e1", "%6c%6f%63%61%6c%68%6f%73%74", "127.0.0.1%00.listed.example",
        "user@127.0.0.1", "listed.example@127.0.0.1", "127.0.0.1#listed.example", "127.0.0.1?listed.example",
        "127.0.0.1\\listed.example", "listed.example:80@127.0.0.1", "listed.example.evil.org", "evillisted.example",
        "listed.example,127.0.0.1", "listed.example 127.0.0.1", "xn--n3h.example", "-listed.example", "*.example",
    ):  # fmt: skip
        yield f"{host}:{port}"


def ways(listed: int, other: int, names: list[str]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for place in (*spellings(other), *(f"{name}:{other}" for name in names)):
        yield f"connect {place}", lambda place=place: tunnel(place)  # type: ignore[misc]
        yield f"get {place}", lambda place=place: plain(f"http://{place}/", "Host: x")  # type: ignore[misc]
    there = f"127.0.0.1:{listed}"
    for name, words in {
        "two lengths": f"POST http://{there}/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "length, chunks": f"POST http://{there}/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "bare newline": f"CONNECT 127.0.0.1:{other} HTTP/1.1\nHost: x\n\n",
        "two targets": f"CONNECT {there} 127.0.0.1:{other} HTTP/1.1\r\n\r\n",
        "header in target": f"CONNECT {there}\r\nHost: 127.0.0.1:{other} HTTP/1.1\r\n\r\n",
        "no port": "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n",
        "port 0": "CONNECT 127.0.0.1:0 HTTP/1.1\r\n\r\n",
        "port too large": f"CONNECT 127.0.0.1:{65_536 + other} HTTP/1.1\r\n\r\n",
        "negative port": f"CONNECT 127.0.0.1:-{other} HTTP/1.1\r\n\r\n",
        "port with sign": f"CONNECT 127.0.0.1:+{other} HTTP/1.1\r\n\r\n",
        "port with space": f"CONNECT 127.0.0.1: {other} HTTP/1.1\r\n\r\n",
        "other version": f"CONNECT 127.0.0.1:{other} HTTP/2.0\r\n\r\n",
        "http/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "socks 5": "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\r\n\r\n",
        "socks 4": "\x04\x01\x00\x50\x7f\x00\x00\x01\x00\r\n\r\n",
        "origin form": f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{other}\r\n\r\n",
        "asterisk": f"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{other}\r\n\r\n",
        "https form": f"GET https://127.0.0.1:{other}/ HTTP/1.1\r\n\r\n",
        "ftp form": f"GET ftp://127.0.0.1:{other}/ HTTP/1.1\r\n\r\n",
        "file form": "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        "gopher form": f"GET gopher://127.0.0.1:{other}/_x HTTP/1.1\r\n\r\n",
        "unix form": "GET unix:///run/docker.sock HTTP/1.1\r\n\r\n",
        "websocket": f"GET http://127.0.0.1:{other}/ HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "websocket form": f"GET ws://127.0.0.1:{other}/ HTTP/1.1\r\n\r\n",
        "nul": f"CONNECT 127.0.0.1\0:{other} HTTP/1.1\r\n\r\n",
        "tab": f"CONNECT\t127.0.0.1:{other}\tHTTP/1.1\r\n\r\n",
        "lower case": f"connect 127.0.0.1:{other} HTTP/1.1\r\n\r\n",
        "folded header": f"CONNECT 127.0.0.1:{other} HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        "long": "CONNECT " + "a" * 100_000,
        "many headers": f"CONNECT 127.0.0.1:{other} HTTP/1.1\r\n" + "a: b\r\n" * 20_000 + "\r\n",
    }.items():  # fmt: skip
        yield f"words: {name}", lambda words=words: said(words.encode("latin-1"))  # type: ignore[misc]
    host, port = proxy()
    yield "the proxy itself", lambda: tunnel(f"{host}:{port}")
    yield "the proxy through itself", lambda: plain(f"http://{host}:{port}/")
    for place in (("127.0.0.1", other), ("127.1.2.3", other), ("8.8.8.8", 53), ("1.1.1.1", 443), ("10.0.0.1", 80),
                  ("169.254.169.254", 80), ("192.168.0.1", 80), ("255.255.255.255", 80)):  # fmt: skip
        yield f"direct {place}", lambda place=place: direct(place)  # type: ignore[misc]
        yield f"datagram {place}", lambda place=place: datagram(place)  # type: ignore[misc]
    for place in (("::1", other), ("2606:4700:4700::1111", 443), ("fe80::1", 80), ("ff02::1", 5353)):
        yield f"direct {place}", lambda place=place: direct(place, socket.AF_INET6)  # type: ignore[misc]
        yield f"datagram {place}", lambda place=place: datagram(place, socket.AF_INET6)  # type: ignore[misc]
    for number in (1, 6, 17, 47, 255):
        yield f"raw {number}", lambda number=number: raw(number)  # type: ignore[misc]
        yield f"raw of version 6 {number}", lambda number=number: raw(number, socket.AF_INET6)  # type: ignore[misc]
    yield "packets", lambda: bytes(socket.socket(17, socket.SOCK_RAW, 3).send(b"x") or 0)
    yield "vsock", lambda: direct((2, 22), 40)  # type: ignore[arg-type]
    for name in ("example.com", "pypi.org", "localhost.localdomain", "metadata.google.internal"):
        yield f"resolve {name}", lambda name=name: resolved(name)  # type: ignore[misc]
    for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/systemd/private", "/run/dbus/system_bus_socket",
                 "/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "\0hansard-outside",
                 "\0/tmp/.X11-unix/X0",
                 *names):  # fmt: skip
        yield f"unix {path!r}", lambda path=path: unix(path)  # type: ignore[misc]
    yield "git over ssh", lambda: command("git", "ls-remote", f"ssh://git@127.0.0.1:{other}/x")
    yield "git over git", lambda: command("git", "ls-remote", f"git://127.0.0.1:{other}/x")
    yield "curl without proxy", lambda: command("curl", "-s", "-m", "3", "--noproxy", "*", f"http://127.0.0.1:{other}/")
    yield (
        "curl, resolved",
        lambda: command(
            "curl", "-s", "-m", "3", "--resolve", f"listed.example:{other}:127.0.0.1", f"http://listed.example:{other}/"
        ),
    )
    yield (
        "curl, socks",
        lambda: command("curl", "-s", "-m", "3", "-x", f"socks5h://{host}:{port}", f"http://127.0.0.1:{other}/"),
    )
    # What redirects leads elsewhere: the listed server of the machine answers with the address of the other one.
    yield "redirect", lambda: command("curl", "-sL", "-m", "3", "--noproxy", "", f"http://{there}/to/{other}")


def main() -> None:
    listed, other, *names = sys.argv[1:]
    tried, through = list[str](), list[str]()
    some = re.compile(os.environ.get("WAYS", ""))
    for name, way in ways(int(listed), int(other), names):
        if not some.match(name):
            continue
        tried.append(name)
        with contextlib.suppress(Exception):
            if MARK in way():
                through.append(name)
    listed_answers = MARK in direct(("127.0.0.1", int(listed)))
    sys.stdout.write(json.dumps({"tried": tried, "through": through, "listed": listed_answers}))


if __name__ == "__main__":
    main()
