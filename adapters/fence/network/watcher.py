"""Notes what a program tried to send past the proxy: connections, datagrams and raw packets to other addresses.

In its network every address leads to a loopback where nobody answers, and the first packet of each attempt is seen.
"""

import asyncio
import contextlib
import socket
import struct
from ipaddress import ip_address
from typing import Final, NamedTuple

from adapters.fence.network.refusals import Refusals

_OUTGOING: Final = 4
"""What the system says of a packet that leaves; each comes in again, too."""
_TCP, _UDP, _ICMP, _ICMP6 = 6, 17, 1, 58
_BEGINS, _ANSWERS = 0x02, 0x10
_ECHO: Final = {_ICMP: 8, _ICMP6: 128}
_NAMES: Final = 53
_AT_ONCE: Final = 100


class Departure(NamedTuple):
    """The place where something was to go. The host is a name where a name server was asked for it."""

    host: str
    port: int


def attempt_of(packet: bytes) -> Departure | None:
    """The attempt that a packet begins; None for what is part of another one, or none at all."""
    with contextlib.suppress(struct.error, IndexError, ValueError):
        if packet[0] >> 4 == 4:
            kind, begins, place = packet[9], (packet[0] & 0x0F) * 4, packet[16:20]
        else:
            kind, begins, place = packet[6], 40, packet[24:40]
        return _begun(kind, packet[begins:], str(ip_address(place)))
    return None


def _begun(kind: int, content: bytes, host: str) -> Departure | None:
    if kind in _ECHO:
        return Departure(host, 0) if content[0] == _ECHO[kind] else None
    if kind not in (_TCP, _UDP):
        return Departure(host, 0)
    port: int = struct.unpack("!H", content[2:4])[0]
    if kind == _TCP:
        return Departure(host, port) if content[13] & (_BEGINS | _ANSWERS) == _BEGINS else None
    return Departure((_question_about(content[8:]) if port == _NAMES else None) or host, port)


def _question_about(question: bytes) -> str | None:
    """The name that a name server is asked for."""
    labels, place = [], 12
    with contextlib.suppress(IndexError, UnicodeDecodeError):
        while (length := question[place]) and length < 64:
            labels.append(question[place + 1 : place + 1 + length].decode("ascii"))
            place += 1 + length
    return ".".join(labels) or None


class Watcher:
    """Notes the attempts in one network. Belongs to one event loop."""

    def __init__(self, seen: socket.socket, refusals: Refusals) -> None:
        self._seen, self._refusals = seen, refusals
        self._loop = asyncio.get_running_loop()
        seen.setblocking(False)
        self._loop.add_reader(seen, self._read)

    def close(self) -> None:
        """Note what is left, and stop."""
        self._loop.remove_reader(self._seen)
        self._read()

    def _read(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                packet, place = self._seen.recvfrom(512)
            except OSError:  # nothing more for now
                return
            attempt = attempt_of(packet) if place[2] == _OUTGOING else None
            if attempt is not None:
                self._refusals.add(attempt.host, attempt.port, "direct")
