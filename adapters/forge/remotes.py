"""The repository, and its forge, that the address of a git remote means."""

import ipaddress
import re
from typing import Final
from urllib.parse import unquote, urlsplit

from adapters.forge.port import ForgeKind, ForgeRepository

GITHUB: Final = "github.com"
GITLAB: Final = "gitlab.com"
_SSH_HOSTS: Final = {"ssh.github.com": GITHUB, "www.github.com": GITHUB, "altssh.gitlab.com": GITLAB}
"""Further names of the two public forges in remotes."""
_SCP: Final = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[0-9A-Fa-f:]+\]|[^@/:\s\[\]]+):(?!//)(?P<path>.+)")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}")
_LONGEST: Final = 2_000
_MOST_GROUPS: Final = 20
_USUAL: Final = {"https": 443, "http": 80}


def remote_repository(url: str, kind: ForgeKind | None = None) -> ForgeRepository | None:
    """The repository of a remote's address (https, ssh, or `git@host:owner/name.git`); None where it is no forge's.

    `kind` counts for hosts that do not say it themselves. A login in the address is not part of the answer.
    """
    if len(url) > _LONGEST or not url.isprintable():
        return None
    match = _scp(url) or _parts(url)
    if match is None:
        return None
    host, path = match
    known_kind = kind_of_host(host) or kind
    if known_kind is None or not _fits(known_kind, path):
        return None
    return ForgeRepository(known_kind, host, path)


def kind_of_host(host: str) -> ForgeKind | None:
    """The kind of forge that a host says by its name; None where it says none, or only pretends to be a public one."""
    name = hostname(host)
    if name.startswith((f"{GITHUB}.", f"{GITLAB}.")):
        return None
    if name == GITHUB or name.endswith(".ghe.com") or name.startswith("github."):
        return "github"
    if name == GITLAB or name.startswith("gitlab."):
        return "gitlab"
    return None


def hostname(host: str) -> str:
    """The host without its port."""
    return urlsplit(f"//{host}").hostname or ""


def on_loopback(host: str) -> bool:
    """True if the host (with or without port) is this machine."""
    name = hostname(host)
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _parts(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("https", "http", "ssh", "git+ssh") or parts.query or parts.fragment:
        return None
    host = _host(parts.hostname or "")
    if parts.scheme in _USUAL and port not in (None, _USUAL[parts.scheme]):  # the port of ssh is not that of the web
        host = host and f"{host}:{port}"
    path = _path(unquote(parts.path))
    return (host, path) if host and path else None


def _scp(url: str) -> tuple[str, str] | None:
    match = _SCP.fullmatch(url)
    if match is None:
        return None
    host, path = _host(match["host"].strip("[]")), _path(match["path"])
    return (host, path) if host and path and "://" not in url else None


def _host(name: str) -> str:
    lower = name.lower()
    if ":" in lower:  # IPv6
        return f"[{lower}]" if on_loopback(f"[{lower}]") else ""
    return _SSH_HOSTS.get(lower, lower) if _HOST.fullmatch(lower) and len(lower) > 1 else ""


def _path(text: str) -> str:
    """`owner/name` of a path; empty if it is none."""
    path = text.strip("/").removesuffix(".git").rstrip("/")
    segments = path.split("/")
    whole = all(_SEGMENT.fullmatch(each) and not each.endswith(".") for each in segments)
    return path if whole and 2 <= len(segments) <= _MOST_GROUPS else ""


def _fits(kind: ForgeKind, path: str) -> bool:
    return kind == "gitlab" or path.count("/") == 1
