"""A network of machines on this one: each is a network namespace with its own address, on one bridge.

Where the machine does not allow that, `network()` is None, and a warning says why.
"""

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

_SUBNETS: Final = range(1, 250)


class NotIsolated(UserWarning):
    """A test ran without namespaces of its own."""


class Machine(NamedTuple):
    """`command` runs a program there: it is followed by the program and its arguments."""

    name: str
    address: str
    command: tuple[str, ...]
    link: str


class Network:
    """A bridge with the address `address`, and the machines at it."""

    def __init__(self) -> None:
        self._number = next(number for number in _SUBNETS if _runs("link", "add", f"hb{number}", "type", "bridge"))
        self.address = self._address(1)
        self._cleaning = ExitStack()
        bridge = f"hb{self._number}"
        self._cleaning.callback(_ip, "link", "del", bridge)
        try:
            _ip("address", "add", f"{self.address}/24", "dev", bridge)
            _ip("link", "set", bridge, "up")
        except BaseException:
            self._cleaning.close()
            raise

    def _address(self, number: int) -> str:
        return f"10.251.{self._number}.{number}"

    def machine(self, number: int) -> Machine:
        name, link = f"hn{self._number}-{number}", f"hv{self._number}-{number}"
        address = self._address(number + 1)
        _ip("netns", "add", name)
        self._cleaning.callback(_ip, "netns", "del", name)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", link, "master", f"hb{self._number}", "up")
        _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", name, "link", "set", device, "up")
        return Machine(name, address, ("ip", "netns", "exec", name), link)

    @staticmethod
    def cut(machine: Machine) -> None:
        """Pull its cable."""
        _ip("link", "set", machine.link, "down")

    @staticmethod
    def join(machine: Machine) -> None:
        _ip("link", "set", machine.link, "up")

    def remove(self) -> None:
        self._cleaning.close()


def _runs(*args: str) -> bool:
    return subprocess.run(["ip", *args], capture_output=True, check=False).returncode == 0


def _ip(*args: str) -> None:
    done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (args, done.stderr)


def missing() -> str | None:
    """Why there can be no namespaces here."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    if os.geteuid() != 0:
        return "it needs root"
    name = f"hn-{os.getpid()}"
    if not _runs("netns", "add", name):
        return "network namespaces are not allowed"
    try:
        bridge = f"hb{os.getpid() % 100000}"
        if not _runs("link", "add", bridge, "type", "bridge"):
            return "bridges are not allowed"
        _ip("link", "del", bridge)
    finally:
        _ip("netns", "del", name)
    return None


@contextmanager
def network() -> Iterator[Network | None]:
    """None, with a warning, where the machine does not allow it."""
    if (why := missing()) is not None:
        warnings.warn(NotIsolated(f"NOT TESTED IN NETWORK NAMESPACES: {why}"), stacklevel=3)
        yield None
        return
    result = Network()
    try:
        yield result
    finally:
        result.remove()
