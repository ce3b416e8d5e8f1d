"""The proxy that the person's environment names, through which ours goes out where there is one."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class UpperProxy:
    """A proxy that speaks HTTP. `login` is the value of the header that names the person, or empty."""

    host: str
    port: int
    encrypted: bool = False
    login: str = ""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The person's proxies, for encrypted requests and for plain ones, and the hosts that need none."""

    encrypted: UpperProxy | None = None
    plain: UpperProxy | None = None
    direct: tuple[str, ...] = ()

    def for_tunnel(self, host: str) -> UpperProxy | None:
        """The proxy for a connection to this host; None if there is none to use."""
        return None if self._is_direct(host) else self.encrypted

    def for_request(self, host: str) -> UpperProxy | None:
        """The proxy for a plain request to this host; None if there is none to use."""
        return None if self._is_direct(host) else self.plain

    def _is_direct(self, host: str) -> bool:
        if host == "localhost":
            return True
        return any(name == "*" or host == name or host.endswith(f".{name}") for name in self.direct)


def upstream_of(environment: Mapping[str, str] = os.environ) -> Upstream | None:
    """The person's proxies; None without any. One that does not speak HTTP, such as SOCKS, is not used."""
    encrypted, plain = (_proxy(_named(environment, name)) for name in ("HTTPS_PROXY", "HTTP_PROXY"))
    if encrypted is None and plain is None:
        return None
    words = (word.strip().lower() for word in _named(environment, "NO_PROXY").split(","))
    direct = ("*" if word == "*" else word.partition(":")[0].removeprefix("*").lstrip(".") for word in words)
    return Upstream(encrypted, plain, tuple(filter(None, direct)))


def _named(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.lower()) or ""


def _proxy(text: str) -> UpperProxy | None:
    try:
        parts = urlsplit(text if "://" in text or not text else f"http://{text}")
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not host or port is None or parts.scheme not in _PORTS:
        return None
    words = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    login = f"Basic {base64.b64encode(words.encode()).decode()}" if parts.username else ""
    return UpperProxy(host, port, encrypted=parts.scheme == "https", login=login)
