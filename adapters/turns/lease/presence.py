"""The workers of a machine that are alive. Each holds a lock on a file with its name, which is released with its
process."""

import fcntl
import hashlib
import os
import secrets
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Protocol

_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def this_machine() -> str:
    """This machine since its start: its id and that of its boot. A host name is not enough: other machines may have the
    same one, and containers share a machine id or have none. The address of a network card counts only where nothing
    else is known: that of a container changes when it is started again."""
    boot = _content(_BOOT_ID)
    machine = next(filter(None, map(_content, _MACHINE_IDS)), "") or ("" if boot else str(uuid.getnode()))
    return hashlib.sha256(f"{machine}\n{boot}".encode()).hexdigest()[:12]


def _content(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""


def present(folder: Path) -> tuple[str, ...]:
    """The workers of this machine that are alive and use this folder."""
    if not folder.is_dir():
        return ()
    return tuple(sorted(path.name for path in folder.iterdir() if path.name[:1] != "." and not _is_free(path)))


def announced(folder: Path, name: str) -> str:
    """Returns what that worker announces of its agents; empty where it announces nothing."""
    with suppress(OSError, ValueError):
        return (folder / name).read_text(encoding="utf-8")
    return ""


class Peers(Protocol):
    """This worker's name, and what it knows of other workers."""

    @property
    def name(self) -> str: ...
    def others(self) -> tuple[str, ...]: ...
    def gone(self, name: str) -> bool: ...
    def forget(self, name: str) -> None: ...
    def leave(self) -> None: ...


class Presence:
    """This process's own name and lock, and what is known of other workers."""

    def __init__(self, folder: Path, *, machine: str | None = None, agents: str = "") -> None:
        """`agents`: what this process announces of its agents."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._machine = folder, machine or this_machine()
        self.name = f"{os.uname().nodename}.{self._machine}.{os.getpid()}.{secrets.token_hex(4)}"
        self._file = self._locked(agents)
        self._tidy()

    def _locked(self, agents: str) -> IO[str]:
        """The file is locked before it gets its name, so that no live worker looks dead."""
        draft = self._folder / f".{self.name}"
        file = draft.open("w", encoding="utf-8")
        file.write(agents)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(self._folder / self.name)
        return file

    def _tidy(self) -> None:
        """Remove files from before the last boot: they mean nothing any more."""
        for name in self.others():
            if not self._is_ours(name) and self._is_free(name):
                self.forget(name)

    def leave(self) -> None:
        self.forget(self.name)
        self._file.close()

    def others(self) -> tuple[str, ...]:
        """Workers that have not left, alive or dead."""
        names = (path.name for path in self._folder.iterdir())
        return tuple(name for name in names if name != self.name and not name.startswith("."))

    def gone(self, name: str) -> bool:
        """True if that worker has certainly ended: it has a file here, on this machine, and its lock is free. Without a
        file, it may be alive with another data folder; then its leases expire by themselves."""
        return self._is_ours(name) and self._is_free(name)

    def _is_ours(self, name: str) -> bool:
        return "/" not in name and name.rsplit(".", 3)[1:2] == [self._machine]

    def _is_free(self, name: str) -> bool:
        return _is_free(self._folder / name)

    def forget(self, name: str) -> None:
        """Everything that this worker left has been cleaned up."""
        (self._folder / name).unlink(missing_ok=True)


def _is_free(file: Path) -> bool:
    """True if the file exists and its lock is free; files of other accounts are not checked."""
    with suppress(OSError, ValueError), file.open("r+") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
