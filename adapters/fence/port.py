"""Says what a fence is: a grant of folders and network, and the command that runs a program inside it."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from adapters.fence.folders import inside

if TYPE_CHECKING:  # short commands load this module, but nothing of what a list of hosts needs
    from adapters.fence.network.allow_list import Allowed
    from adapters.fence.network.loopback import Loopback
    from domain.values.network import RefusedHost

Level = Literal["bwrap", "landlock", "none"]
Gap = Literal[
    "files", "hidden_files", "metadata", "network", "udp", "sockets", "shared_memory", "processes", "survivors"
]
"""What a level cannot prevent: `files` nothing limits what is read or written; `hidden_files` a folder that should not
exist can be read; `metadata` size, times and permissions of any file can be seen and changed; `network` any address can
be reached; `udp` datagrams can be sent; `sockets` the machine's sockets can be opened; `shared_memory` so can its
shared memory; `processes` other processes are visible, and perhaps can be signalled; `survivors` processes that outlive
the turn are found and ended by a sweep."""


@dataclass(slots=True)
class SocketLooks:
    """Remembers what was seen of sockets in the folders that programs see, over the starts of these programs: the
    sockets, the folders by their places inside, all places that are seen differently, and whether some may be missing.
    """

    sockets: set[Path] = field(default_factory=set)
    seen: Mapping[Path, Path] = field(default_factory=dict)
    places: Collection[Path] = ()
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Grant:
    """The access that a program is granted. Everything else is read-only, or does not exist inside.

    `writable`: folders that it may change, including the workspace and its private home. `readable`: more folders that
    it may read. `hidden`: folders that must not exist inside, even below a readable one, unless granted here. `linked`:
    folders that it sees, read-only, at a second place; only bubblewrap can do that. `loopback`: the network that it
    shares with the services of its workspace, or `machine` where that is the machine's own, on which these are at
    `ports`. `plain_user`: it does not run as root, as far as it can see; databases refuse that. `looks`: sockets that
    were seen in the folders when programs were started; grants made of this one share it.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    linked: tuple[tuple[Path, Path], ...] = ()
    network: "Literal['all', 'none'] | Allowed" = "none"
    loopback: "Loopback | Literal['machine'] | None" = None
    ports: tuple[int, ...] = ()
    plain_user: bool = False
    looks: SocketLooks = field(default_factory=SocketLooks, compare=False, repr=False)

    @property
    def refused(self) -> "tuple[RefusedHost, ...]":
        """The hosts that programs were refused so far."""
        return () if isinstance(self.network, str) else self.network.refusals.hosts()

    @property
    def granted(self) -> tuple[Path, ...]:
        return (*self.readable, *self.writable)

    def hides(self, path: Path) -> bool:
        """True if the path is in a hidden folder, and in no granted folder below it."""
        return _depth(path, self.hidden) > _depth(path, self.granted)


def _depth(path: Path, folders: tuple[Path, ...]) -> int:
    """The depth of the innermost folder that contains the path; 0 if none does."""
    return max((len(folder.absolute().parts) for folder in folders if inside(path, (folder.absolute(),))), default=0)


FEED: Final = "\0feed"
"""Stands for the number of a file in a command; no argument can have this value."""
DOOR: Final = "\0door"
"""Stands for the number of the socket through which a program's starter reaches the proxy."""


@dataclass(frozen=True, slots=True)
class Confined:
    """A command that runs inside a fence. `rules`: what the launcher applies to itself before it becomes `argv`.
    `feeds`: what the command reads from open files; their numbers replace each `FEED` in its arguments, in order.
    `carries`: whether the feeds hold the program's environment. The command itself begins outside the fence, and then
    starts without it: the loader would obey an `LD_PRELOAD` that is meant for the inside. `allowed`: the hosts that the
    proxy connects it to; the number of its door replaces `DOOR`. `joins`: the open files of the network that it joins
    first. `own`: that network, where it is this program's alone, with its proxy's sockets."""

    argv: tuple[str, ...]
    rules: str = ""
    feeds: tuple[bytes, ...] = ()
    carries: bool = False
    allowed: "Allowed | None" = None
    joins: tuple[int, ...] = ()
    own: "Loopback | None" = None


def packed(env: Mapping[str, str]) -> bytes:
    """The environment in the form in which starters read it from an open file."""
    return b"\0".join(os.fsencode(f"{name}={value}") for name, value in env.items())


class Fence(Protocol):
    """One level of protection for one grant."""

    @property
    def level(self) -> Level: ...

    @property
    def grant(self) -> Grant: ...

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps of the fence, for the record."""

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        """The command that runs `argv` inside. Raises OSError or ValueError if the program does not exist there."""

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        """Tells why the program never started, if its end shows it."""


@dataclass(frozen=True, slots=True)
class Unfenced:
    """No fence: the program may do everything that this account may do."""

    grant: Grant = Grant()

    level: Level = "none"
    gaps: tuple[Gap, ...] = ("files", "network", "sockets", "shared_memory", "processes", "survivors")

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        return Confined(tuple(argv))

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        return None


UNFENCED = Unfenced()
