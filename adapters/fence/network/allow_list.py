"""The hosts that a program may reach if its settings name them, and where each of its requests leads."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from adapters.fence.network.addresses import Address, is_own, is_public, literal
from adapters.fence.network.refusals import Refusals
from adapters.fence.network.upstream import Upstream
from domain.values.network import HostEntry, RefusalReason, entry, is_name

LOCAL: Final = "localhost"
_LOOPBACK: Final = (entry("127.0.0.0/8"), entry("[::1]"))


class NotAllowed(Exception):
    """The request is refused, for this reason."""

    def __init__(self, reason: RefusalReason) -> None:
        super().__init__(reason)
        self.reason: RefusalReason = reason


@dataclass(frozen=True, slots=True)
class Allowed:
    """A list of hosts. `everything`: the list is not looked at, as for programs that may reach all but have a network
    of their own. `refusals` collects what was refused; `upstream` is the person's own proxy."""

    entries: tuple[HostEntry, ...]
    upstream: Upstream | None = None
    refusals: Refusals = field(default_factory=Refusals, compare=False)
    everything: bool = False

    @property
    def doors(self) -> tuple[int, ...]:
        """The ports of this machine's loopback that are listed: inside, the same ports lead there."""
        ports = (each.port for each in self.entries if each.port is not None and _is_loopback(each))
        return tuple(dict.fromkeys(ports))

    def destination(self, host: str, port: int) -> str | Address:
        """The name to resolve, or the address to connect to. Raises `NotAllowed`."""
        try:
            where = literal(host)
        except ValueError:
            raise NotAllowed("malformed") from None
        if where is not None:
            self._check_address(where, port)
            return where
        if not is_name(host):
            raise NotAllowed("malformed")
        if self.everything:
            return host
        about = [each for each in self.entries if each.is_about(host)]
        if not about:
            raise NotAllowed("not_listed")
        if not any(each.has_port(port) for each in about):
            raise NotAllowed("port")
        return host

    def reachable(self, host: str, port: int, where: Iterable[Address]) -> tuple[Address, ...]:
        """Those of the addresses of a listed name that may be connected to. Raises `NotAllowed`."""
        addresses = tuple(where)
        usable = tuple(each for each in addresses if self._may_connect(host, port, each))
        if addresses and not usable:
            raise NotAllowed("private")
        return usable

    def _may_connect(self, host: str, port: int, where: Address) -> bool:
        if self.everything or self._lists(where, port):
            return True
        if any(each.anywhere and each.is_about(host) and each.has_port(port) for each in self.entries):
            return True
        if host == LOCAL:  # who lists this name means this machine
            return where.is_loopback
        return is_public(where) and not is_own(where)

    def _check_address(self, where: Address, port: int) -> None:
        """Raises `NotAllowed` for an address that is not listed itself."""
        local = where.is_loopback and any(each.name == LOCAL and each.has_port(port) for each in self.entries)
        if not (self.everything or local or self._lists(where, port)):
            raise NotAllowed("address")

    def _lists(self, where: Address, port: int) -> bool:
        return any(
            each.addresses is not None and where in each.addresses and each.has_port(port) for each in self.entries
        )


def _is_loopback(each: HostEntry) -> bool:
    if each.name:
        return each.name == LOCAL and not each.below
    return any(
        local.addresses is not None and each.addresses is not None and _within(each, local) for local in _LOOPBACK
    )


def _within(each: HostEntry, local: HostEntry) -> bool:
    first, network = each.addresses, local.addresses
    return (
        first is not None
        and network is not None
        and first.version == network.version
        and (first.network_address in network and first.broadcast_address in network)
    )
