"""Reads what a program asks of the proxy. Whatever is not exactly a request is none."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

MOST_BYTES: Final = 32_768
"""The longest head of a request."""
_LINE: Final = re.compile(r"(?P<method>[A-Z]{3,20}) (?P<target>[\x21-\x7e]{1,8192}) HTTP/1\.[01]")
_HEADER: Final = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?P<value>[^\x00-\x08\x0a-\x1f\x7f]*)")
_PLACE: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%a-z]{2,60}\]|[^:/?#@\[\]\\]{1,300})(?::(?P<port>[0-9]{1,5}))?")
_ADDRESS: Final = re.compile(r"http://(?P<place>[^/?#]+)(?P<path>[/?][^#]*)?", re.IGNORECASE)
_OF_THE_HOP: Final = frozenset(
    {
        "connection", "proxy-connection", "keep-alive", "proxy-authorization", "proxy-authenticate", "te", "trailer",
        "upgrade", "host",
    }
)  # fmt: skip
"""Headers that concern two neighbours alone, and the host, which the target says."""


class NoRequest(Exception):
    """This is no request."""


class Request(NamedTuple):
    """A request: to be connected to a host where `tunnel`, else for what is there at `path`."""

    host: str
    port: int
    tunnel: bool
    method: str = ""
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> str:
        """Host and port, as requests name them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host and self.host[0] != "[" else f"{self.host}:{self.port}"

    def head(self, *, whole: bool, login: str = "") -> bytes:
        """The head of the same request for the host itself or, `whole`, for another proxy. It is the only one on its
        connection."""
        usual = self.host if self.port == 80 else self.place
        target = f"http://{usual}{self.path}" if whole else self.path
        lines = [f"{self.method} {target} HTTP/1.1", f"Host: {usual}", "Connection: close"]
        lines += [f"Proxy-Authorization: {login}"] if login else []
        lines += [f"{name}: {value}" for name, value in self.headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def request(head: bytes) -> Request:
    """The request with this head, without its last empty line. Raises `NoRequest`."""
    first, *rest = head.decode("latin-1").split("\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise NoRequest
    headers = tuple(_headers(rest))
    if line["method"] == "CONNECT":
        host, port = _place(line["target"], None)
        return Request(host, port, tunnel=True)
    address = _ADDRESS.fullmatch(line["target"])
    if address is None:
        raise NoRequest
    host, port = _place(address["place"], 80)
    path = address["path"] or "/"
    path = path if path.startswith("/") else f"/{path}"
    return Request(host, port, False, line["method"], path, tuple(_passed_on(headers)))


def _headers(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise NoRequest
        yield match["name"], match["value"].rstrip(" \t")


def _passed_on(headers: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """Yields the headers that the host is sent. Raises `NoRequest` where it would be unclear how long the request
    is."""
    named = {name.lower(): value for name, value in headers}
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    if len(set(lengths)) > 1 or (lengths and "transfer-encoding" in named):
        raise NoRequest
    dropped = _OF_THE_HOP | {word.strip().lower() for word in named.get("connection", "").split(",")}
    yield from ((name, value) for name, value in headers if name.lower() not in dropped - {"content-length"})


def _place(text: str, usual: int | None) -> tuple[str, int]:
    """Host, in lower case and without the dot at its end, and port. Raises `NoRequest`."""
    match = _PLACE.fullmatch(text)
    if match is None or (match["port"] is None and usual is None):
        raise NoRequest
    port = int(match["port"]) if match["port"] else usual
    if port is None or not 1 <= port <= 65_535:
        raise NoRequest
    host = match["host"].lower()
    return host.removesuffix(".") or host, port
