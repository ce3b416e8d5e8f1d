"""Says which hosts a program may reach: everything, nothing, or a list; and the hosts that it was refused."""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from domain.values.base import Value
from domain.values.sentences import Sentence

PROVIDER: Final = "provider"
"""Stands for what the agent's own program needs: the hosts of its preset, and the address in its settings."""
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "pypi": ("pypi.org", "files.pythonhosted.org"),
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com"),
    "crates": ("crates.io", "index.crates.io", "static.crates.io"),
    "go": ("proxy.golang.org", "sum.golang.org"),
}
"""The usual registries."""
MOST_HOSTS: Final = 200
MOST_REFUSED: Final = 500
USUAL_PORTS: Final = (80, 443)
"""The ports of an entry that names none."""
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"(?:\*\.{_LABEL}\.)?{_LABEL}(?:\.{_LABEL})*")
_ENTRY: Final = re.compile(r"(?P<host>\[[0-9a-f:./]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")

RefusalReason = Literal["not_listed", "port", "address", "private", "malformed", "too_many", "direct"]
"""Why a host was refused: it is not in the list; it is, but for other ports; an address stood in place of a name; its
name leads to an address of this machine or of a private network; the request could not be read; there were too many at
once; it was not asked for through the proxy, which alone leads out."""


class RefusedHost(Value):
    """A host that a program wanted to reach and that its settings do not name."""

    host: str = Field(max_length=300)
    port: int = Field(default=0, description="0 if the request did not say it")
    reason: RefusalReason
    count: int = Field(default=1, description="how often")


def merged(before: Iterable[RefusedHost], more: Iterable[RefusedHost]) -> tuple[RefusedHost, ...]:
    """Both lists with one entry for each host, port and reason; no more than `MOST_REFUSED`."""
    counts: dict[tuple[str, int, RefusalReason], RefusedHost] = {}
    for each in (*before, *more):
        key = (each.host, each.port, each.reason)
        seen = counts.get(key)
        if seen is not None:
            counts[key] = seen.changed(count=seen.count + each.count)
        elif len(counts) < MOST_REFUSED:
            counts[key] = each
    return tuple(counts.values())


class HostEntry(Value):
    """An entry of a list: a name, `*.` and a name for everything below it, or addresses."""

    name: str = Field(default="", description="empty for addresses")
    below: bool = Field(default=False, description="whether everything below the name is meant, without itself")
    addresses: IPv4Network | IPv6Network | None = None
    port: int | None = Field(default=None, description="null: the usual ones")
    anywhere: bool = Field(default=False, description="whether the name may lead to a private address, too")

    def __str__(self) -> str:
        host = f"*.{self.name}" if self.below else self.name
        if self.addresses is not None:
            only = self.addresses.num_addresses == 1
            host = str(self.addresses.network_address if only else self.addresses)
            host = f"[{host}]" if ":" in host else host
        return host if self.port is None else f"{host}:{self.port}"

    def has_port(self, port: int) -> bool:
        """Returns whether the entry is about this port."""
        return port in USUAL_PORTS if self.port is None else port == self.port

    def is_about(self, name: str) -> bool:
        """Returns whether a name is meant."""
        return bool(self.name) and (name.endswith(f".{self.name}") if self.below else name == self.name)


def ends_in_a_number(host: str) -> bool:
    """Returns whether programs read the host as an address of version 4, however it is written."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def is_name(host: str) -> bool:
    """Returns whether the host is a name, in lower case, and no address."""
    return len(host) <= 253 and _NAME.fullmatch(host) is not None and "*" not in host and not ends_in_a_number(host)


def entry(text: str) -> HostEntry:
    """The entry of a list that is no word. Raises ValueError."""
    match = _ENTRY.fullmatch(text.lower())
    if match is None or (match["port"] and not 1 <= int(match["port"]) <= 65_535):
        raise ValueError(Sentence("not_a_host", given=text))
    host, port = match["host"], int(match["port"]) if match["port"] else None
    if host.startswith("[") or ends_in_a_number(host.partition("/")[0]):
        try:
            return HostEntry(addresses=ip_network(host.strip("[]")), port=port)
        except ValueError:
            raise ValueError(Sentence("not_a_host", given=text)) from None
    below = host.startswith("*.")
    if not is_name(host.removeprefix("*.")) or _NAME.fullmatch(host) is None:
        raise ValueError(Sentence("not_a_host", given=text))
    return HostEntry(name=host.removeprefix("*."), below=below, port=port)


def entries(hosts: Iterable[str]) -> tuple[HostEntry, ...]:
    """The entries of a list, with the hosts that its words stand for; `provider` stands for none here."""
    return tuple(entry(host) for text in hosts for host in WORDS.get(text, (text,)) if text != PROVIDER)


def _network_of(value: object, *, for_agents: bool) -> object:
    """The value of a setting `network`, unless no list of hosts can be read from it. Raises ValueError."""
    if value in ("none", "all"):
        return value
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError(Sentence("not_a_network"))
    if len(value) > MOST_HOSTS:
        raise ValueError(Sentence("too_many_hosts", number=MOST_HOSTS))
    for text in value:
        if text == PROVIDER and not for_agents:
            raise ValueError(Sentence("provider_is_for_agents"))
        if text != PROVIDER and text not in WORDS:
            entry(text)
    return tuple(value)


Network = Annotated[Literal["none", "all"] | tuple[str, ...], BeforeValidator(partial(_network_of, for_agents=True))]
"""What a program may reach: nothing, everything, or these hosts."""
CommandNetwork = Annotated[
    Literal["none", "all"] | tuple[str, ...], BeforeValidator(partial(_network_of, for_agents=False))
]
"""The same for the commands of a repository, which have no provider."""
