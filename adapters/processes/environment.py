"""The part of our environment that a child gets, and the mark in it by which the child is found again."""

import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from adapters.fence.toolchains import toolchain_variables
from domain.values.sentences import Sentence

_MARK: Final = "HANSARD_PROCESS"
"""`run@worker`. The name of the run is in the environment of everything it starts, so that a daemon that left the
session can be found. With the name of the worker, a later one finds what is left if that worker was killed."""

_CERTIFICATES: Final = {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
_PASSED_ON: Final = _CERTIFICATES | {"PATH", "LANG", "LANGUAGE", "TERM", "TZ"}
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_owner: ContextVar[str | None] = ContextVar("owner", default=None)


def own(name: str) -> None:
    """From now on, everything that this task runs, including its tasks and threads, runs for the worker `name`. Once
    per process in production; it belongs to the task so that several workers in one process stay separate."""
    _owner.set(name)


class Mark(NamedTuple):
    """The run that a process belongs to, and the worker that the run was made for (empty: none)."""

    tag: str
    owner: str


def marked(env: Mapping[str, str], *, tag: str) -> dict[str, str]:
    """The environment with the mark of a run. Raises ValueError for a variable that no program can have."""
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(Sentence("variable_impossible", name=name.replace("\0", "\\0")))
    owner = _owner.get()
    return {**env, _MARK: f"{tag}@{owner}" if owner else tag}


def mark_of(pid: int) -> Mark | None:
    """The mark that the process was started with (Linux); None without one."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or not readable for us
        return None
    mark = next((entry for entry in entries if entry.startswith(f"{_MARK}=".encode())), None)
    if mark is None:
        return None
    tag, _, owner = mark.decode(errors="replace").partition("=")[2].partition("@")
    return Mark(tag, owner)


def clean_environment(extra: Mapping[str, str] = _NOTHING, *, home: Path | None = None) -> dict[str, str]:
    """The part of our environment that a child gets (promise S13): an allow-list, then `HOME` with what tools
    would find below the person's own, then `extra`."""
    env = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    # A relative entry would find programs in the folder that an agent writes.
    env["PATH"] = os.pathsep.join(entry for entry in env.get("PATH", os.defpath).split(os.pathsep) if entry[:1] == "/")
    if home is not None:
        env |= {"HOME": str(home), **toolchain_variables()}
    return env | dict(extra)
