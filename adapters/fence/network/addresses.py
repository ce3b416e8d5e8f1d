"""Says what an address is: one that the whole internet knows, or one of this machine or of a network around it."""

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

from domain.values.network import ends_in_a_number

Address = IPv4Address | IPv6Address
_TRANSLATED: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""The last four bytes of such an address are one of version 4, to which a gateway translates it."""
_COMPATIBLE: Final = IPv6Network("::/96")


def literal(host: str) -> Address | None:
    """The address that a host is, in any of the ways in which programs write one; None for a name.

    Raises ValueError for what is neither.
    """
    if host.startswith("[") and host.endswith("]"):
        return _plain(IPv6Address(_without_zone(host[1:-1])))
    if ":" in host:
        return _plain(IPv6Address(_without_zone(host)))
    if not ends_in_a_number(host):
        return None
    try:
        return IPv4Address(socket.inet_aton(host))  # decimal, octal, hexadecimal, and with fewer parts
    except OSError:
        raise ValueError(host) from None


def address(text: str) -> Address:
    """The address that a resolver has named. Raises ValueError."""
    return _plain(ip_address(_without_zone(text)))


def is_public(where: Address) -> bool:
    """True if the address, and every address that is inside it, belongs to the internet."""
    return all(
        each.is_global and not (each.is_multicast or each.is_unspecified or each.is_loopback)
        for each in (where, *_inside(where))
    )


def is_own(where: Address) -> bool:
    """True if the address is one of this machine's: nothing that is sent there leaves it."""
    family = socket.AF_INET if where.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(where), 9))  # sends nothing
            return address(probe.getsockname()[0]) == where
    except (OSError, ValueError):  # there is no way to it
        return False


def _plain(where: Address) -> Address:
    """An address of version 4 that is written as one of version 6, as what it is."""
    mapped = where.ipv4_mapped if isinstance(where, IPv6Address) else None
    return where if mapped is None else mapped


def _without_zone(text: str) -> str:
    return text.partition("%")[0]


def _inside(where: Address) -> Iterator[IPv4Address]:
    """The addresses of version 4 to which routers may pass it on."""
    if isinstance(where, IPv4Address):
        return
    if where.sixtofour is not None:
        yield where.sixtofour
    if where.teredo is not None:
        yield from where.teredo
    if where in _COMPATIBLE or any(where in network for network in _TRANSLATED):
        yield IPv4Address(int(where) & 0xFFFFFFFF)
