"""The proxy for one program: it connects to what the program's settings list, and refuses everything else.

It decides with the address that it then connects to, so that a name cannot lead elsewhere a moment later.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Coroutine
from typing import Any, Final

from adapters.fence.network.addresses import Address, address
from adapters.fence.network.allow_list import Allowed, NotAllowed
from adapters.fence.network.requests import NoRequest, Request, request
from adapters.fence.network.upstream import UpperProxy
from domain.values.network import RefusalReason

MOST_AT_ONCE: Final = 256
"""The connections that one program may have."""
HEAD_SECONDS: Final = 60.0
"""On a machine with much to do, programs connect long before they ask."""
CONNECT_SECONDS: Final = 30.0
_PIECE: Final = 65_536
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_WORDS: Final[dict[RefusalReason, str]] = {
    "not_listed": "is not in the list of hosts (network) of this program",
    "port": "is in the list of hosts (network) of this program, but not with this port",
    "address": "is an address, and the list of hosts (network) of this program does not name it",
    "private": "leads to an address of this machine or of a private network, which the list does not name",
    "malformed": "is no request that this proxy can read",
    "too_many": "is one connection too many",
    "direct": "can only be reached through this proxy",
}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Unreachable(Exception):
    """A listed host does not answer."""


class Proxy:
    """The proxy of one program. All of it happens in one event loop."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._at_work = set[asyncio.Task[None]]()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of the program."""
        await self._counted(self._serve(reader, writer), writer)

    async def pass_on(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect the program to this port of the machine's loopback, which is listed."""
        await self._counted(self._passed_on(port, reader, writer), writer)

    async def stop(self) -> None:
        """End all connections."""
        tasks = list(self._at_work)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _counted(self, work: Coroutine[Any, Any, None], writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._at_work) >= MOST_AT_ONCE:
            work.close()
            self._allowed.refusals.add("", 0, "too_many")
            writer.transport.abort()
            return
        self._at_work.add(task)
        try:
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):  # only `stop` cancels
                await work
        finally:
            self._at_work.discard(task)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
            wanted = request(head[:-4])
        except TimeoutError:
            await _answer(writer, "408 Request Timeout", f"Hansard: no request came within {HEAD_SECONDS:.0f} s.")
            return
        except (NoRequest, asyncio.LimitOverrunError):
            self._allowed.refusals.add("", 0, "malformed")
            await _answer(writer, "400 Bad Request", f"Hansard: this {_WORDS['malformed']}.")
            return
        try:
            other = await asyncio.wait_for(self._connected(wanted), CONNECT_SECONDS)
        except NotAllowed as refusal:
            self._allowed.refusals.add(wanted.host, wanted.port, refusal.reason)
            await _answer(writer, "403 Forbidden", f"Hansard: {wanted.place} {_WORDS[refusal.reason]}.")
            return
        except (Unreachable, OSError, ValueError) as error:  # no address can be read from what the resolver says
            words = str(error) or type(error).__name__
            await _answer(writer, "502 Bad Gateway", f"Hansard: {wanted.place} does not answer: {words}.")
            return
        if wanted.tunnel:
            writer.write(_ESTABLISHED)
        await _relay((reader, writer), other)

    async def _passed_on(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _relay((reader, writer), await asyncio.wait_for(_open("localhost", port), CONNECT_SECONDS))

    async def _connected(self, wanted: Request) -> Streams:
        """A connection to the host on which it can be spoken to. Raises `NotAllowed`, OSError or `Unreachable`."""
        there = self._allowed.destination(wanted.host, wanted.port)
        upper = self._upper(wanted, there)
        if upper is None:
            streams = await _open_first(await self._addresses(there, wanted.port), wanted.port)
        elif wanted.tunnel:
            streams = await _through(upper, wanted)
        else:
            streams = await _open(upper.host, upper.port, encrypted=upper.encrypted)
        if not wanted.tunnel:
            streams[1].write(wanted.head(whole=upper is not None, login=upper.login if upper else ""))
        return streams

    def _upper(self, wanted: Request, there: str | Address) -> UpperProxy | None:
        """The person's own proxy, for hosts that are not on this machine."""
        upstream = self._allowed.upstream
        if upstream is None or (not isinstance(there, str) and there.is_loopback):
            return None
        return upstream.for_tunnel(wanted.host) if wanted.tunnel else upstream.for_request(wanted.host)

    async def _addresses(self, there: str | Address, port: int) -> tuple[Address, ...]:
        if not isinstance(there, str):
            return (there,)
        places = await asyncio.get_running_loop().getaddrinfo(there, port, type=1)
        addresses = dict.fromkeys(address(str(place[0])) for *_, place in places)
        return self._allowed.reachable(there, port, addresses)


async def _open_first(addresses: tuple[Address, ...], port: int) -> Streams:
    """A connection to the first of the addresses that answers. Raises OSError."""
    why = OSError("its name has no address")
    for each in addresses:
        try:
            return await asyncio.wait_for(_open(str(each), port), CONNECT_SECONDS / len(addresses))
        except OSError as error:  # TimeoutError is one
            why = error
    raise why


async def _open(host: str, port: int, *, encrypted: bool = False) -> Streams:
    return await asyncio.open_connection(
        host, port, limit=_PIECE, ssl=ssl.create_default_context() if encrypted else None
    )


async def _through(upper: UpperProxy, wanted: Request) -> Streams:
    """A connection to the host that the person's proxy has made. Raises OSError or `Unreachable`."""
    reader, writer = await _open(upper.host, upper.port, encrypted=upper.encrypted)
    login = f"Proxy-Authorization: {upper.login}\r\n" if upper.login else ""
    writer.write(f"CONNECT {wanted.place} HTTP/1.1\r\nHost: {wanted.place}\r\n{login}\r\n".encode("latin-1"))
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.LimitOverrunError, EOFError):
        writer.transport.abort()
        raise Unreachable("the proxy of HTTPS_PROXY did not answer") from None
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
    if len(words) < 2 or not words[1].startswith("2"):
        writer.transport.abort()
        raise Unreachable(f"the proxy of HTTPS_PROXY refused: {' '.join(words[1:])[:100]}")
    return reader, writer


async def _relay(one: Streams, other: Streams) -> None:
    """Pass on what each says until both have ended."""
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_pump(one[0], other[1]))
            both.create_task(_pump(other[0], one[1]))
    except* OSError:
        pass  # one of them broke off
    finally:
        other[1].transport.abort() if other[1].transport.is_closing() else other[1].close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _answer(writer: asyncio.StreamWriter, status: str, words: str) -> None:
    body = f"{words}\n".encode("ascii", "replace")
    kind = "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff"
    head = f"HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
