"""The fence with bubblewrap: a separate file system, process table and, without network access, network."""

import errno
import importlib.util
import marshal
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapters.fence.bound_sockets import may_have_missed_some, sockets_in
from adapters.fence.folders import SYSTEM, find, inside, programs
from adapters.fence.inside import proxy_variables
from adapters.fence.landlock import SCOPED, SCOPING, filter_program, landlock_version
from adapters.fence.network.loopback import SPARES, can_be_made
from adapters.fence.port import DOOR, FEED, Confined, Gap, Grant, Level, packed
from domain.values.sentences import Sentence

if TYPE_CHECKING:
    from adapters.fence.network.allow_list import Allowed
    from adapters.fence.network.loopback import Loopback

PRIVATE: Final = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - inside they are empty folders of its own
PRIVATE_BYTES: Final = 1 << 30
"""Private folders are in memory, so their size is limited."""
_OWN: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--cap-drop", "ALL")
_KERNEL: Final = tuple(
    Path("/proc") / name for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")
)
"""Kernel settings: root may write them even without capabilities."""
_NO_NAMESPACES: Final = ("--unshare-user", "--disable-userns")
"""In a user namespace of its own a program has all capabilities, and with them much more of the kernel can be attacked:
inside, none can be made."""
_STARTER: Final = (os.path.realpath(sys.executable), "-I", "-S", "/hansard-inside.pyc")
"""What opens the way out of a network of its own, then becomes the program: our own program, with none of the
program's variables."""
_UNSET: Final = ("--unsetenv", "SHLVL", "--unsetenv", "OLDPWD", "--unsetenv", "_")
"""What the shell adds that enters a network (`adapters/fence/network/entry.py`)."""
_NEVER_BEGAN: Final = re.compile(
    r"^(?:bwrap|nsenter): (?:execvp (?P<program>.*)|[^\n]*): (?P<reason>[^:\n]+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Inside, only granted folders exist, and read-only the system's folders and the programs on PATH."""

    grant: Grant

    level: Level = "bwrap"

    @property
    def gaps(self) -> tuple[Gap, ...]:
        open_wide: tuple[Gap, ...] = ("network",) if self._open and self.grant.network != "all" else ()
        unscoped = not self._alone and landlock_version() < SCOPING
        return (*open_wide, "sockets") if unscoped or may_have_missed_some(self.grant.looks) else open_wide

    @property
    def _open(self) -> bool:
        """Returns whether it needs the machine's loopback, and so gets its network."""
        return self.grant.loopback == "machine"

    @property
    def _alone(self) -> bool:
        """Returns whether it has a network without the machine's addresses."""
        shares = self.grant.loopback not in (None, "machine")
        return shares or (self.grant.network != "all" and not self._open)

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        self._check(argv, env)
        alone, allowed, joins = self._alone, self._allowed, self._joins
        own = _own_network(allowed) if allowed and not joins else None
        if own is not None and allowed is not None:
            joins, env = own.files, {**env, **_proxied(own)}
        network = ["--unshare-net"] if alone and not joins else []
        feeds, calls = ([], []) if allowed and not own else ([_variables(env)], [*_UNSET, "--args", FEED])
        if refused := filter_program():
            feeds, calls = [*feeds, refused], [*calls, "--seccomp", FEED]
        starter, mounts = list(argv), self._mounts(argv, env, starts=bool(allowed and not own))
        if allowed and not own:
            feeds, calls = [_starter(), *feeds, packed(env)], ["--ro-bind-data", FEED, _STARTER[-1], *calls]
            starter = [*_STARTER, DOOR, FEED, ",".join(map(str, allowed.doors)), *argv]
        user = _plain_user() if self.grant.plain_user else ()
        command = (_program(), *_own(), *user, *network, *calls, *mounts, "--chdir", str(cwd), "--", *starter)
        # The machine's network includes its abstract sockets; Landlock makes those inaccessible.
        rules = "" if alone or landlock_version() < SCOPING else SCOPED
        return Confined(command, rules, tuple(feeds), carries=True, allowed=allowed, joins=joins, own=own)

    @property
    def _allowed(self) -> "Allowed | None":
        return None if isinstance(self.grant.network, str) or self._open else self.grant.network

    @property
    def _joins(self) -> tuple[int, ...]:
        loopback = self.grant.loopback
        return () if loopback is None or isinstance(loopback, str) else loopback.files

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        match = _NEVER_BEGAN.search(stderr) if exit_code == 1 else None
        return match["reason"] if match else None

    def _check(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Raises FileNotFoundError, or ValueError naming what hides the program."""
        program = argv[0] if argv else ""
        if program.startswith("/"):
            outside, there = Path(program), not self.grant.hides(Path(program))
        elif program and "/" not in program:
            there = find(program, env, hides=self.grant.hides) is not None
            outside = Path(shutil.which(program, path=env.get("PATH")) or program)
        else:
            return
        if not there and not outside.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        if not there:
            raise ValueError(Sentence("hidden_by_fence", path=outside))

    def _mounts(self, argv: Sequence[str], env: Mapping[str, str], *, starts: bool) -> Iterator[str]:
        """In order: later mounts cover earlier ones, inner folders outer ones."""
        for folder in SYSTEM:
            yield from _system(folder)
        yield from ("--proc", "/proc", "--dev", "/dev")
        for path in filter(Path.exists, _KERNEL):
            yield from ("--ro-bind", str(path), str(path))
        for name in PRIVATE:
            yield from ("--size", str(PRIVATE_BYTES), "--tmpfs", name)
        yield from _resolver()
        layers = self._layers(programs(argv, env, hides=self.grant.hides), starts=starts)
        for path in sorted(layers, key=lambda path: path.parts):
            yield from layers[path]
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")

    def _layers(self, shown: Sequence[Path], *, starts: bool) -> dict[Path, tuple[str, ...]]:
        """The mounts, in order; a grant takes precedence over hiding the same place. `starts`: our starter runs."""
        readable, writable = (_absolute(paths) for paths in (self.grant.readable, self.grant.writable))
        ours = _interpreter() if starts else ()
        layers: dict[Path, tuple[str, ...]] = {
            path: ("--ro-bind-try", str(path), str(path)) for path in (*shown, *ours)
        }
        for path in (*_runtime(), *_absolute(self.grant.hidden)):
            if inside(path, (*SYSTEM, *shown, *readable, *writable)) and path.exists():
                layers[path] = ("--tmpfs", str(path)) if path.is_dir() else _nothing(path)
        layers |= {path: ("--ro-bind-try", str(path), str(path)) for path in readable}
        layers |= {path: ("--bind", str(path), str(path)) for path in writable}
        layers |= {place: ("--ro-bind-try", str(path), str(place)) for path, place in self.grant.linked}
        read_only = {place: Path(layer[1]) for place, layer in layers.items() if layer[0] == "--ro-bind-try"}
        apart = layers.keys() - read_only.keys()
        return {path: _nothing(path) for path in sockets_in(self.grant.looks, read_only, apart, SYSTEM)} | layers


def _nothing(path: Path) -> tuple[str, ...]:
    return ("--ro-bind", "/dev/null", str(path))


def _runtime() -> tuple[Path, ...]:
    """The folder in which a person's programs keep their sockets, usually below /run."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return (Path(folder),) if folder.startswith("/") else ()


def _own_network(allowed: "Allowed") -> "Loopback | None":
    """A network for one program, with its proxy's socket; None where bubblewrap has to make it."""
    if not can_be_made():
        return None
    try:
        return SPARES.taken((0, *allowed.doors))
    except OSError:
        return None


def _proxied(network: "Loopback") -> dict[str, str]:
    """The variables by which programs find the proxy."""
    variables = proxy_variables(network.proxy_port or 0)
    return {name.decode(): value.decode() for name, value in variables.items()}


def _variables(env: Mapping[str, str]) -> bytes:
    """Arguments that set these variables for the program alone. Other users see a command line, but not a file."""
    words = (word for name, value in env.items() for word in ("--setenv", name, value))
    return b"".join(os.fsencode(word) + b"\0" for word in words)


@cache
def _starter() -> bytes:
    """The starter, as the interpreter keeps compiled code: so that it need not be compiled for every command."""
    source = Path(__file__).with_name("inside.py")
    code = compile(source.read_bytes(), source.name, "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


@cache
def _interpreter() -> tuple[Path, ...]:
    """Returns the folders that the starter needs and the system's folders do not have."""
    base = Path(sys.base_prefix).resolve()
    return () if inside(base, SYSTEM) else (base,)


def _absolute(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path.absolute() for path in paths)


@cache
def bubblewrap_works() -> bool:
    """True if bubblewrap is installed and this account may use it."""
    return shutil.which("bwrap") is not None and _works(*_own())


@cache
def _own() -> tuple[str, ...]:
    """The namespaces of every run. Where user namespaces cannot be closed, as before bubblewrap 0.8 or for root in some
    containers, they stay open."""
    closed = (*_OWN, *_NO_NAMESPACES)
    return closed if shutil.which("bwrap") is not None and _works(*closed) else _OWN


def _plain_user() -> tuple[str, ...]:
    """Returns the options that make root another user inside, one in the system's table; none where that is not
    possible."""
    if os.geteuid() != 0 or _NO_NAMESPACES[0] not in _own():
        return ()
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return ()
    return ("--uid", str(nobody.pw_uid), "--gid", str(nobody.pw_gid))


def _works(*options: str) -> bool:
    mounts = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    argv = [_program(), *options, "--unshare-net", *mounts, "true"]
    try:
        return subprocess.run(argv, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _program() -> str:
    return shutil.which("bwrap") or "bwrap"


def _system(folder: Path) -> Iterator[str]:
    if folder.is_symlink():
        yield from ("--symlink", str(folder.readlink()), str(folder))
    elif folder.is_dir():
        yield from ("--ro-bind", str(folder), str(folder))


def _resolver() -> Iterator[str]:
    """The file that configures name resolution is often below /run."""
    target = Path("/etc/resolv.conf").resolve()
    if inside(target, [Path(name) for name in PRIVATE]):
        yield from ("--ro-bind-try", str(target), str(target))
