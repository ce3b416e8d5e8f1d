"""Claims of this machine that end with the process that made them: ports, and folders that are deleted if it is killed.

A claim is a lock on a file. The system lets go of it however the process ends, so nothing has to be cleaned up first.
"""

import contextlib
import fcntl
import os
import random
import re
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from adapters.processes.process_table import below, look_up, process_table
from adapters.processes.sweep import kill

_PORTS: Final = range(20_101, 32_000)
"""Below the ports that systems give out by themselves."""
_PREFIX: Final = "hansard-service-"
_LOCK: Final = ".lock"
_NOTE: Final = re.compile(r"(?P<pid>[1-9][0-9]{0,9}) (?P<started>[1-9][0-9]{0,18}) (?P<numbering>\S+)")


class Possession:
    """Something that is held until it is closed, or until this process ends."""

    def __init__(self, number: int, path: Path) -> None:
        self._number, self.path = number, path

    def write(self, words: str) -> None:
        """Note something in the file."""
        os.ftruncate(self._number, 0)
        os.pwrite(self._number, words.encode(), 0)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._number)


def _claimed(path: Path) -> Possession | None:
    """The claim on the file; None if somebody else has it, or if this is no file of ours."""
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return Possession(number, path)


# -- ports of the machine ----------------------------------------------------------------------------------------------


def free_ports(names: Sequence[str]) -> tuple[dict[str, int], list[Possession]]:
    """A free port of the machine for each name, which no other session of this account gets meanwhile. Blocks. Raises
    OSError if there are not enough."""
    folder = Path(tempfile.gettempdir()) / f"hansard-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} is not ours")
    ports, claims = dict[str, int](), list[Possession]()
    candidates = iter(random.sample(_PORTS, len(_PORTS)))  # sessions begin at different places
    for name in names:
        for port in candidates:
            claim = _claimed(folder / str(port))
            if claim is None:
                continue
            if _is_free(port):
                ports[name] = port
                claims.append(claim)
                break
            claim.close()
        else:
            for claim in claims:
                claim.close()
            raise OSError("no free port is left")
    return ports, claims


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what has just ended does not count
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104 - a service may listen on any of the machine's addresses
        except OSError:
            return False
    return True


# -- folders -----------------------------------------------------------------------------------------------------------


def own_folder() -> tuple[Path, Possession]:
    """A new folder with a short path, and the claim on it. Folders of processes that were killed are deleted. Blocks.
    Raises OSError."""
    end_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    claim = _claimed(folder / _LOCK)
    if claim is None:
        raise OSError(f"{folder} cannot be used")
    return folder, claim


def note_leader(claim: Possession, pid: int) -> None:
    """Note which process the folder is for, so that it can be found if this process is killed: some databases write
    over the variables in which our mark is."""
    process = look_up(pid)
    claim.write(f"{pid} {process.started if process else 0} {_numbering()}")


def end_abandoned() -> None:
    """End what processes that were killed have left of their services, and delete the folders. Blocks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _delete_abandoned(folder)


def delete(folder: Path, claim: Possession) -> None:
    """Delete the folder and let go of it."""
    shutil.rmtree(folder, ignore_errors=True)
    claim.close()


def _delete_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid() or not (folder / _LOCK).is_file():
            return
        claim = _claimed(folder / _LOCK)
        if claim is not None:
            _end_session((folder / _LOCK).read_text())
            delete(folder, claim)


def _numbering() -> str:
    """The namespace in which numbers of processes mean what they say; empty where there is none."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _end_session(noted: str) -> None:
    """Kill what is left of the session that the noted process began. Its number is free again once nobody has it."""
    match = _NOTE.fullmatch(noted)
    if match is None or match["numbering"] != _numbering():  # it was noted in another container
        return
    leader, started = int(match["pid"]), int(match["started"])
    table = process_table()
    if leader in table and table[leader].started != started:
        return  # another program has the number now
    roots = {pid for pid, process in table.items() if process.session == leader and process.started >= started}
    kill(roots | below(roots, table), table)
