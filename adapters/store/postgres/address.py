"""The log on PostgreSQL: any number of servers and workers on any machines.

Here: its URL, parsed without its password and without the driver.
"""

from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

SCHEMES = ("postgresql://", "postgres://")


class Address(NamedTuple):
    """The address of a log that many machines may use."""

    user: str
    host: str
    port: str
    database: str

    def __str__(self) -> str:
        account = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"postgresql://{account}{self.host}{port}/{self.database}"

    @property
    def place(self) -> str:
        """The same for every account."""
        return str(self._replace(user=""))


def is_shared(url: str) -> bool:
    """True if many machines may use the database."""
    return url.startswith(SCHEMES)


def address_of(url: str) -> Address:
    """Raises ValueError if this is not such a URL."""
    parts = urlsplit(url)
    if not is_shared(url) or parts.fragment:
        raise ValueError("expected postgresql://user:password@host/database")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    hosts = parts.netloc.rpartition("@")[2]  # several hosts may be named, with commas: then `port` does not parse
    host, _, port = ("", "", "") if not hosts else _split(hosts)
    user = unquote(parts.username or "") or query.get("user", "")
    database = unquote(parts.path.removeprefix("/")) or query.get("dbname", "") or user
    return Address(user, unquote(host) or query.get("host", ""), port or query.get("port", ""), database)


def _split(hosts: str) -> tuple[str, str, str]:
    if "," in hosts or hosts.endswith("]"):
        return hosts, "", ""
    host, colon, port = hosts.rpartition(":")
    if not colon:
        return port, "", ""
    if not port.isdecimal():
        raise ValueError("the port should be a number")
    return host, colon, port
